/**
 * The files that the import statements of a Python source may name. Found without a parser: a name that is not a module,
 * or a statement in a string, yields a path that does not exist.
 */
import { posix } from 'node:path';

const IDENTIFIER = /^[^\W\d]\w*$/u;
/** Imported names that are considered per statement. */
const MAX_NAMES = 100;
/** Bounds of the search for modules of packages. */
const MAX_SOURCE_CHARACTERS = 1_000_000;
const MAX_MODULES = 1000;

/** Paths relative to the folder of the program. `path` is that of the source. */
export function localImports(code: string, path: string): string[] {
  const found = new Set<string>();
  const lines = code.split(/[\n;]/);
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
