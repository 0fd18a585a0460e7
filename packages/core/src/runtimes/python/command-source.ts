/** The text of the program that a command line of Python runs, as processes.py reads the command line. */
import { posix } from 'node:path';
import type { CommandFiles, CommandSource } from '../runtime.ts';

/** The folder of the commands. Those that are scripts need only the standard library. */
const COMMANDS = /^\/(?:usr\/)?bin\//;
const PIP = /^(?:pip3?|uv)$/;

/** Undefined if the program needs no packages. */
export function commandSource(argv: readonly string[], files: CommandFiles): CommandSource | undefined {
  const [name = 'python3', ...words] = argv;
  const from = (code: string, folder: string): CommandSource => ({
    code,
    names: files.names(folder),
    listsPackages: false,
  });
  const pip: CommandSource = { code: '', names: [], listsPackages: true };
  if (PIP.test(posix.basename(name))) return pip;
  const { option, value, rest } = programOf(words);
  if (option === 'c') return from(value, '.');
  if (option === 'm') return value === 'pip' ? pip : from(moduleSource(value, files), '.');
  const [file = '-'] = rest;
  if (file === '-') return from(files.input(), '.');
  return COMMANDS.test(file) ? undefined : from(files.read(file), posix.dirname(file));
}

/** A module of the working directory, or the import of another one. */
const moduleSource = (name: string, files: CommandFiles) =>
  files.read(`${name.replaceAll('.', '/')}.py`) || `import ${name}`;

/** The option that names the program, and the words after the options. */
function programOf(words: readonly string[]) {
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!;
    if (word.length < 2 || !word.startsWith('-')) return { option: '', value: '', rest: words.slice(i) };
    const [, flag, attached = ''] = /^-[^-cmWX]*([cmWX])(.*)$/s.exec(word) ?? [];
    if (flag === undefined) continue;
    const value = attached === '' ? (words[++i] ?? '') : attached;
    if (flag === 'c' || flag === 'm') return { option: flag, value, rest: [] };
  }
  return { option: '', value: '', rest: [] };
}
