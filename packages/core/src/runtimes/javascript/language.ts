/** JavaScript as the code above `runtimes/` sees it. */
import type { SandboxResult } from '../../schema/result.ts';
import { type Language, MAX_VARIABLES } from '../language.ts';
import { javascriptExtensions } from './file-extensions.ts';
import { javascriptGuidance, javascriptRules } from './guidance/index.ts';
import { completionProgram, descriptionProgram } from './introspection.ts';
import { LINUX_ERRNO } from './linux-errno.ts';
import { localImports } from './syntax/local-imports.ts';

const ENGINE = 'QuickJS-NG';
const VERSION = 'ES2023';

/** A package name as an identifier: `date-fns` becomes `dateFns`. */
function camelCase(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9]+(.)?/g, (_, letter?: string) => letter?.toUpperCase() ?? '');
}

/** Syntax errors that are reported where a token starts although the source ends inside it. */
const UNTERMINATED: readonly string[] = ['Unterminated template', 'Unterminated comment'];

/** How messages about a missing or unexpected token start. Other errors can also be reported at the end of a source. */
const UNEXPECTED_TOKEN = /^(?:unexpected|expect|invalid property name)/i;

/** The parser reports a source that ends too early at its end. The first line of the parsed program is not part of the source. */
function isIncomplete({ metadata: { error } }: SandboxResult, code: string): boolean {
  if (error?.type !== 'SyntaxError' || error.line == null) return false;
  if (UNTERMINATED.includes(error.message)) return true;
  if (!UNEXPECTED_TOKEN.test(error.message)) return false;
  const lines = code.trimEnd().split('\n');
  const line = error.line - 1;
  return line > lines.length || (line === lines.length && (error.column ?? 0) > [...lines.at(-1)!].length);
}

export const javascriptLanguage: Language = {
  ...javascriptExtensions,
  name: 'javascript',
  title: 'JavaScript',
  engine: ENGINE,
  version: VERSION,
  level:
    'ECMAScript 2023 and TypeScript (types are removed, not checked) with ES modules, CommonJS and Node.js modules; no DOM',
  entryFiles: ['index.js', 'index.mjs', 'index.cjs', 'main.js', 'main.mjs', 'index.ts', 'main.ts'],
  apiNotes: ({ network }) => [
    "os.readdir, os.stat and similar functions return [result, error]: const [files, err] = os.readdir('/app'). os.remove, os.mkdir and others return a number.",
    `std and os are globals; require("fs"), import, process, Buffer and timers work as in Node.js; child_process runs node, python3 and commands such as grep and awk; ${network ? 'fetch and http send requests to permitted URLs only' : 'there is no network'}.`,
    'TypeScript: pass language "typescript", or run it as JavaScript; types are not checked.',
    'Packages: import them by name, or call requireVendor(name).',
    'The value of a trailing expression is returned as result.',
  ],
  helpers: [
    ...['readJson', 'writeJson', 'readText', 'writeText', 'appendText', 'readLines', 'writeLines'],
    ...['fileExists', 'fileSize', 'listFiles', 'copyFile', 'removeFile'],
  ],
  pitfalls: [
    `"TypeError: value is not iterable" (JavaScript): os.readdir returns [result, error]. Use const [files, err] = os.readdir('/app').`,
  ],
  unavailable: undefined,
  packagesByPurpose: {
    CSV: ['papaparse'],
    Excel: ['xlsx'],
    PDF: ['pdfkit', 'pdf-lib'],
    'data frames': ['arquero'],
    mathematics: ['mathjs'],
    dates: ['date-fns'],
    HTML: ['cheerio'],
    validation: ['zod'],
    collections: ['lodash'],
  },
  speedProgram: `
function work() {
  const counts = new Map();
  for (let i = 0; i < 2_000; i++) {
    const key = i % 97;
    counts.set(key, (counts.get(key) ?? 0) + i * i);
  }
  const words = [...counts.values()].map(String).sort();
  return words.join(' ').split(' ').map((word) => word.padStart(20));
}
for (;;) work();`,
  checkProgram: 'console.log(6 * 7)',
  documentation: 'docs/JAVASCRIPT_CAPABILITIES.md',
  errno: LINUX_ERRNO,
  guidance: javascriptGuidance,
  rules: javascriptRules,
  summary: (packages) =>
    `${VERSION} and TypeScript on ${ENGINE}, Node.js modules, std, os, readJson/writeJson, requireVendor, ${packages}`,
  importStatement: (module) => `import ${camelCase(module)} from '${module}'`,
  localImports,
  // Packages cannot be added.
  importedModules: () => [],
  variablesProgram: (declared) =>
    `globalThis[Symbol.for('sandbox.variables')](${JSON.stringify(declared)}, ${MAX_VARIABLES})`,
  notebook: { kernel: 'javascript', mimeType: 'text/javascript' },
  completionProgram,
  descriptionProgram,
  // Syntax errors are found before the first statement runs.
  unsetVariable: (name) => `delete process.env.${name};`,
  parseProgram: (code) => `throw 0;\n${code}`,
  isIncomplete,
};
