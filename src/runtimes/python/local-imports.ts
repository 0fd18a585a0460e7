/**
 * The modules that the import statements of a Python source name. Found without a parser. Text in strings and comments is
 * left out, because it is not imported. A name that is not a module yields a path that does not exist.
 */
import { posix } from 'node:path';

const IDENTIFIER = /^[^\W\d]\w*$/u;
/** What can begin or end a string or a comment. */
const MARKS = /'''|"""|['"#\n]|\\[\s\S]/g;
/** Imported names that are considered per statement. */
const MAX_NAMES = 100;
/** Bounds of the search for modules of packages. */
const MAX_SOURCE_CHARACTERS = 65_536;
const MAX_MODULES = 1000;

/** Paths relative to the folder of the program. `path` is that of the source. */
export function localImports(code: string, path: string): string[] {
  const found = new Set<string>();
  const lines = withoutText(code).split(/[\n;]/);
  lines.forEach((line, index) => {
    const [keyword, ...rest] = line.trim().split(/\s+/, 500);
    if (keyword === 'import')
      for (const part of rest.join(' ').split(',').slice(0, MAX_NAMES))
        addModule(found, '', part.trim().split(' ', 1)[0]!);
    if (keyword !== 'from' || rest[0] === undefined) return;
    const [, dots, module] = /^(\.{0,20})(.*)$/s.exec(rest[0])!;
    const base = dots === '' ? '' : posix.join(posix.dirname(path), ...Array(dots!.length - 1).fill('..'));
    if (base.startsWith('..')) return;
    addModule(found, base, module!);
    for (const name of importedNames(rest.slice(2).join(' '), lines, index))
      addModule(found, base, module === '' ? name : `${module}.${name}`);
  });
  return [...found];
}

/** The source without the contents of strings and comments. */
function withoutText(code: string): string {
  let kept = '';
  let end = 0;
  let opened: string | undefined;
  for (const { 0: mark, index } of code.matchAll(MARKS)) {
    const endsLine = mark === '\n' || (opened === '#' && mark === '\\\n');
    if (opened === undefined && /^['"#]/.test(mark)) {
      kept += code.slice(end, index);
      opened = mark;
    } else if (opened !== undefined && (mark === opened || (endsLine && opened.length === 1))) {
      opened = undefined;
      end = index + (endsLine ? mark.length - 1 : mark.length);
    }
  }
  return opened === undefined ? kept + code.slice(end) : kept;
}

/** The names after `import`, which may continue on the following lines in parentheses. */
function importedNames(text: string, lines: readonly string[], index: number): string[] {
  let names = text;
  if (names.startsWith('('))
    for (let next = index + 1; next < index + MAX_NAMES && !names.includes(')'); next++)
      names += ` ${(lines[next] ?? ')').slice(0, 500)}`;
  return names
    .split(/[(),]/)
    .slice(0, MAX_NAMES)
    .map((part) => part.trim().split(' ', 1)[0]!);
}

/** Adds the files of a module and of the packages it is in. */
function addModule(found: Set<string>, base: string, module: string): void {
  const parts = module === '' ? [] : module.split('.');
  if (parts.length > 20 || !parts.every((part) => IDENTIFIER.test(part))) return;
  let folder = base === '.' ? '' : base;
  for (const part of parts) {
    const path = posix.join(folder, part);
    found.add(`${path}.py`);
    found.add(`${path}/__init__.py`);
    folder = path;
  }
}

/** Absolute names of modules. A name that is not a module does no harm. */
export function importedModules(code: string): string[] {
  const found = new Set<string>();
  for (const path of localImports(code.slice(0, MAX_SOURCE_CHARACTERS), 'main.py'))
    if (path.endsWith('.py')) found.add(path.replace(/(\/__init__)?\.py$/, '').replaceAll('/', '.'));
  return [...found].slice(0, MAX_MODULES);
}
