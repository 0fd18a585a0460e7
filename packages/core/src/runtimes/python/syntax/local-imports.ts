/**
 * The modules that the import statements of a Python source name. Found without a parser. Text in strings and comments is
 * left out, because it is not imported. A name that is not a module yields a path that does not exist.
 */
import { posix } from 'node:path';

const IDENTIFIER = /^[^\W\d]\w*$/u;
/** What can begin or end a string or a comment. */
const MARKS = /'''|"""|['"#\n]|\\[\s\S]/g;
/** Imported names that are considered, and paths that are found. */
const MAX_NAMES = 2000;
const MAX_PATHS = 2 * MAX_NAMES;
/** Lines and characters of a statement. */
const MAX_LINES = 100;
const MAX_CHARACTERS = 2000;
/** Bounds of the search for modules of packages, which takes place on the main thread. */
const MAX_SOURCE_CHARACTERS = 65_536;
const MAX_MODULES = 1000;

/** Paths relative to the folder of the program. `path` is that of the source. */
export function localImports(code: string, path: string): string[] {
  const found = new Set<string>();
  const lines = withoutText(code).split(/[\n;]/);
  let names = 0;
  for (let index = 0; index < lines.length && names < MAX_NAMES && found.size < MAX_PATHS; index++) {
    if (!/^\s*(?:import|from)\s/.test(lines[index]!)) continue;
    const { statement, last } = statementAt(lines, index);
    names += addStatement(found, path, statement, MAX_NAMES - names);
    index = last;
  }
  return [...found];
}

/** Adds the modules of an import statement. Returns the number of names that were considered. */
function addStatement(found: Set<string>, path: string, statement: string, maxNames: number): number {
  const [keyword, ...rest] = statement.trim().split(/\s+/);
  if (keyword === 'import') {
    const names = rest.join(' ').split(',').slice(0, maxNames);
    for (const name of names) addModule(found, '', firstWord(name));
    return names.length;
  }
  const [, dots, module] = /^(\.{0,20})(.*)$/s.exec(rest[0] ?? '')!;
  const base = dots === '' ? '' : posix.join(posix.dirname(path), ...Array(dots!.length - 1).fill('..'));
  if (base.startsWith('..')) return 1;
  addModule(found, base, module!);
  const names = rest.slice(2).join(' ').split(/[(),]/).slice(0, maxNames).map(firstWord);
  for (const name of names) addModule(found, base, module === '' ? name : `${module}.${name}`);
  return 1 + names.length;
}

const firstWord = (text: string) => text.trim().split(' ', 1)[0]!;

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

/** The import statement at a line, which may continue on the following lines in parentheses, and its last line. */
function statementAt(lines: readonly string[], first: number): { statement: string; last: number } {
  const part = (index: number) => lines[index]!.slice(0, MAX_CHARACTERS);
  let statement = part(first);
  let last = first;
  const end = Math.min(lines.length, first + MAX_LINES) - 1;
  if (statement.includes('('))
    while (last < end && statement.length < MAX_CHARACTERS && !part(last).includes(')'))
      statement += ` ${part(++last)}`;
  return { statement, last };
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
