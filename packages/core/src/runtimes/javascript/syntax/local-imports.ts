/**
 * The modules that a JavaScript source imports or requires by a relative path: `import`, `export … from`, and `import()` and
 * `require()` of a literal. A path in another place, or of a file that is not a module, is not found, because it may be private.
 */
import { posix } from 'node:path';
import { type Token, tokenize } from './tokenizer.ts';

const EXTENSIONS = ['.js', '.mjs', '.cjs', '.json', '.ts', '.mts', '.cts'];
/** How Node.js and bundlers complete a path. */
const ENDINGS = [...EXTENSIONS, '/package.json', '/index.js', '/index.ts'];
/** Sources that import each other as the file they are compiled to. */
const SOURCES: Readonly<Record<string, string>> = { '.js': '.ts', '.mjs': '.mts', '.cjs': '.cts' };
/** The longest source to search. */
const MAX_LENGTH = 10 * 2 ** 20;

/** Paths relative to the folder of the program. `path` is that of the source. */
export function localImports(code: string, path: string): string[] {
  const found = new Set<string>();
  for (const specifier of specifiersIn(code, path)) {
    const target = posix.join(posix.dirname(path), specifier);
    if (target.startsWith('..')) continue;
    const extension = posix.extname(target);
    const source = SOURCES[extension];
    if (EXTENSIONS.includes(extension)) found.add(target);
    if (source !== undefined) found.add(target.slice(0, -extension.length) + source);
    for (const ending of ENDINGS) found.add(target + ending);
  }
  return [...found];
}

function specifiersIn(code: string, path: string): string[] {
  if (posix.basename(path) === 'package.json') return mainOf(code);
  if (path.endsWith('.json')) return [];
  const tokens = tokenize(code, { maxLength: MAX_LENGTH }) ?? [];
  return tokens
    .filter((_, i) => isSpecifier(tokens, i))
    .map((token) => literal(token, code))
    .filter((text) => text !== undefined && /^\.{1,2}\//.test(text)) as string[];
}

/** The module that a folder with a package.json stands for. */
function mainOf(json: string): string[] {
  try {
    const { main } = JSON.parse(json) as { main?: unknown };
    return typeof main === 'string' ? [main] : [];
  } catch {
    return [];
  }
}

/** Whether the token follows `from`, `import`, `import(` or `require(`. */
function isSpecifier(tokens: readonly Token[], i: number): boolean {
  const isCall = tokens[i - 1]?.text === '(';
  const at = isCall ? i - 2 : i - 1;
  const word = tokens[at];
  if (word?.kind !== 'word' || tokens[at - 1]?.text === '.') return false;
  if (!isCall) return word.text === 'from' || word.text === 'import';
  const next = tokens[i + 1]?.text;
  return (word.text === 'import' || word.text === 'require') && (next === ')' || next === ',');
}

/** The text of a string, or of a template without expressions. Escapes are not supported. */
function literal({ kind, text, start }: Token, code: string): string | undefined {
  if (text.includes('\\')) return undefined;
  if (kind === 'string') return text.slice(1, -1);
  return kind === 'template' && code[start - 1] === '`' ? text.slice(0, -1) : undefined;
}
