/**
 * The files that a JavaScript source may import or require: every string that is a relative path. A string that is not a
 * specifier yields a path that does not exist, or one that does no harm.
 */
import { posix } from 'node:path';

const RELATIVE_PATH = /(["'`])(\.{1,2}\/[^"'`\n\\]{1,300})\1/g;
/** How Node.js and bundlers complete a path. */
const ENDINGS = [
  '',
  '.js',
  '.mjs',
  '.cjs',
  '.json',
  '.ts',
  '.mts',
  '.cts',
  '/package.json',
  '/index.js',
  '/index.ts',
];
/** Sources that import each other as the file they are compiled to. */
const SOURCES: Readonly<Record<string, string>> = { '.js': '.ts', '.mjs': '.mts', '.cjs': '.cts' };

/** Paths relative to the folder of the program. `path` is that of the source. */
export function localImports(code: string, path: string): string[] {
  const found = new Set<string>();
  for (const [, , specifier] of code.matchAll(RELATIVE_PATH)) {
    const target = posix.join(posix.dirname(path), specifier!);
    if (target.startsWith('..')) continue;
    for (const ending of ENDINGS) found.add(target + ending);
    const extension = posix.extname(target);
    const source = SOURCES[extension];
    if (source !== undefined) found.add(target.slice(0, -extension.length) + source);
  }
  return [...found];
}
