/** The command `node` in a child process: which program a command line stands for. `curl` is a module of the runtime. */
import type { Guest } from '../../engine/guest.ts';
import { isSyscallError } from '../../kernel/syscall-error.ts';
import type { Kernel } from '../../kernel/syscalls.ts';
import type { LanguageName } from '../../schema.ts';
import type { CommandRequest, Handles } from '../runtime.ts';
import { type PreparedProgram, prepare, runPrepared } from './run-program.ts';

/** Largest program that the command reads. The host holds several copies of it before it runs. */
const MAX_PROGRAM_BYTES = 4 * 1024 * 1024;
const TOO_LARGE =
  'a program is at most 4 MiB. Move its parts or its data to other files, which it can load with require or read with fs.';
const READ_BYTES = 65_536;
const OPTIONS_WITH_VALUE = ['-r', '--require', '--import', '--loader', '--env-file', '-C', '--conditions'];
const SUFFIXES = ['', '.js', '.json', '/index.js'];
const VERSION_PROGRAM = 'console.log(process.version)';
const USAGE = 'Usage: node [options] [ script.js | -e code | - ] [arguments]\n';

/** Commands that are modules of the runtime. */
export const MODULE_COMMANDS = ['curl'];

interface CommandProgram {
  readonly code: string;
  readonly file: string;
  readonly args: readonly string[];
  readonly is_file?: true;
}

/** What the command prints instead of running a program. */
interface CommandMessage {
  readonly stream: 1 | 2;
  readonly text: string;
  readonly exitCode: number;
}

/** Undefined if the text is too large. */
function readAll(kernel: Kernel, fd: number): string | undefined {
  const chunks: Uint8Array[] = [];
  const chunk = new Uint8Array(READ_BYTES);
  let size = 0;
  for (let count = kernel.read(fd, chunk); count > 0; count = kernel.read(fd, chunk)) {
    size += count;
    if (size > MAX_PROGRAM_BYTES) return undefined;
    chunks.push(chunk.slice(0, count));
  }
  return Buffer.concat(chunks).toString();
}

/** The path and text of a program file, found as Node.js finds it; undefined if there is none. */
function readProgram(kernel: Kernel, name: string): { file: string; code: string | undefined } | undefined {
  for (const suffix of SUFFIXES) {
    try {
      const fd = kernel.open(kernel.cwd, name + suffix, 0, 0);
      try {
        return { file: kernel.realpath(name + suffix), code: readAll(kernel, fd) };
      } finally {
        kernel.close(fd);
      }
    } catch (cause) {
      if (!isSyscallError(cause)) throw cause;
    }
  }
  return undefined;
}

const directoryOf = (kernel: Kernel) => (typeof kernel.cwd === 'string' ? kernel.cwd : kernel.volume.home);

function programFrom({
  code,
  ...rest
}: Omit<CommandProgram, 'code'> & { readonly code: string | undefined }): CommandProgram | CommandMessage {
  if (code !== undefined) return { ...rest, code };
  return { stream: 2, text: `node: ${rest.file}: ${TOO_LARGE}\n`, exitCode: 1 };
}

function plan(kernel: Kernel, words: readonly string[]): CommandProgram | CommandMessage {
  let isModule = false;
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!;
    const rest = words.slice(i + 2);
    const file = `${directoryOf(kernel)}/[eval]${isModule ? '.mjs' : ''}`;
    if (word === '-v' || word === '--version') return { code: VERSION_PROGRAM, file, args: [] };
    if (word === '-h' || word === '--help') return { stream: 1, text: USAGE, exitCode: 0 };
    if (/^(?:-e|--eval|-p|--print|-pe)$/.test(word)) {
      const code = words[i + 1];
      if (code === undefined) return { stream: 2, text: `node: ${word} requires an argument\n`, exitCode: 9 };
      const isPrinted = word.includes('p');
      return { code: isPrinted ? `console.log((0, eval)(${JSON.stringify(code)}))` : code, file, args: rest };
    }
    if (word === '--input-type=module') isModule = true;
    else if (OPTIONS_WITH_VALUE.includes(word)) i++;
    else if (word === '-') return programFrom({ code: readAll(kernel, 0), file, args: words.slice(i + 1) });
    else if (!word.startsWith('-')) return scriptAt(kernel, word, words.slice(i + 1));
  }
  return programFrom({ code: readAll(kernel, 0), file: `${directoryOf(kernel)}/[stdin]`, args: [] });
}

/** The program of a command that is a module; undefined for `node`. */
function moduleCommand([path = '', ...args]: readonly string[]): CommandProgram | undefined {
  const name = path.slice(path.lastIndexOf('/') + 1);
  if (!MODULE_COMMANDS.includes(name)) return undefined;
  const code = `require('node:internal/commands/${name}').main(process.argv.slice(2))`;
  return { code, file: `/usr/bin/${name}`, args };
}

function scriptAt(kernel: Kernel, name: string, args: readonly string[]): CommandProgram | CommandMessage {
  const found = readProgram(kernel, name);
  if (found !== undefined) return programFrom({ ...found, args, is_file: true });
  const path = name.startsWith('/') ? name : `${directoryOf(kernel)}/${name}`;
  return { stream: 2, text: `Error: Cannot find module '${path}'\n`, exitCode: 1 };
}

const languageOf = (file: string): LanguageName => (/\.[cm]?ts$/.test(file) ? 'typescript' : 'javascript');

/** The program of a command line, or the exit code of a command that has none. */
function prepareCommand(
  guest: Guest,
  handles: Handles,
  { argv, env, pid: _, others: __, ...common }: CommandRequest,
): PreparedProgram | number {
  const { kernel } = guest;
  const program = moduleCommand(argv) ?? plan(kernel, argv.slice(1));
  if ('stream' in program) {
    kernel.write(program.stream, new TextEncoder().encode(program.text));
    return program.exitCode;
  }
  return prepare(guest, handles, {
    ...common,
    ...program,
    argv0: argv[0] ?? '',
    code: program.code.replace(/^#!.*/, ''),
    language: languageOf(program.file),
    env: Object.fromEntries(
      env.map((entry) => [entry.split('=', 1)[0]!, entry.slice(entry.indexOf('=') + 1)]),
    ),
    call: 1,
    keep: false,
  });
}

/** The functions that hold the text of the program have returned before it runs. */
export function runNodeCommand(guest: Guest, handles: Handles, request: CommandRequest): string {
  const prepared = prepareCommand(guest, handles, request);
  return typeof prepared === 'number'
    ? JSON.stringify({ exit_code: prepared })
    : runPrepared(guest, prepared);
}
