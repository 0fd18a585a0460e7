/** How Python reports failures, and the rules for its exceptions. */
import type { LanguageGuidance } from '../../../analysis/analysed-language.ts';
import { ruleTable } from '../../../analysis/rule-table.ts';
import type { GuestError } from '../../../schema.ts';
import { dataRules } from './data-rules.ts';
import { exceptionRules } from './exception-rules.ts';
import { importRules, isMissingProgram } from './import-rules.ts';

/** Built-in classes of system errors. On other exceptions `errno` is an attribute that the program set. */
const SYSTEM_ERRORS =
  /^(OSError|FileNotFoundError|PermissionError|FileExistsError|IsADirectoryError|NotADirectoryError|BlockingIOError|ConnectionError|TimeoutError)$/;
const IMPORT = /^[ \t]*(?:from[ \t]+([\w.]+)|import[ \t]+([\w., \t]+))/;

const isBuiltin = (error: GuestError, type: string) => error.module === 'builtins' && error.type === type;

export const pythonGuidance: LanguageGuidance = {
  typicalSource: /^[ \t]*(def |import \w+$|from \w+ import|print\()/m,
  regexCall: /\.(?:match|fullmatch|search|findall|finditer|sub|subn|split)\(/,
  memoization: 'functools.cache',
  abortCauses: 'os.abort(), memory corruption through ctypes, hand-written bytecode',
  isSystemError: ({ kind }) => kind === undefined || SYSTEM_ERRORS.test(kind),
  isOutOfMemory: (error) => isBuiltin(error, 'MemoryError'),
  isStackOverflow: (error) => isBuiltin(error, 'RecursionError'),
  parseTraceback,
  importedModules(line) {
    const [, from, list] = IMPORT.exec(line) ?? [];
    return (from ?? list ?? '').split(',').map((name) => name.trim().split(/\s/)[0]!);
  },
  packageOfModule: (module) => module.split('.')[0]!,
  definitionOf: (name) =>
    new RegExp(
      `^(?:(?:async )?def |class )${name}\\b|^(?:[\\w, ]+, ?)?${name}(?: ?,[\\w, ]+)? ?(?::[^=]+)?=[^=]|^(?:from .* )?import .*\\b${name}\\b`,
    ),
  isMissingProgram,
  createFolder: (path) => `import os; os.makedirs('${path}', exist_ok=True)`,
};

export const pythonRules = ruleTable([...importRules, ...dataRules, ...exceptionRules]);

const HEADER = 'Traceback (most recent call last):';
const EXCEPTION = /^([A-Za-z_][\w.]{0,100})(?:: ([^\n]{0,2000}))?$/;
const FRAME = /^ {2}File "[^"\n]*", line (\d+)$/;
const SYNTAX_ERRORS = new Set(['SyntaxError', 'IndentationError', 'TabError']);
const QUALIFIED_CLASS = /^(\w+(?:\.\w+)*)\.(\w+)$/;
const SYSTEM_ERROR = /^\[Errno (\d+)\] [^:]*(?:: '([^'\n]*)')?/;
const MISSING_NAME = /^No module named '([^'\n]+)'|^name '([^'\n]+)' is not defined/;

/** The exception in the form in which the boot script reports one. */
export function parseTraceback(stderr: string): GuestError | undefined {
  const lines = stderr.split('\n');
  if (lines.at(-1) === '') lines.pop();
  const [, name, message = ''] = EXCEPTION.exec(lines.pop() ?? '') ?? [];
  if (name === undefined) return undefined;
  // The indented lines before the exception.
  let start = lines.length;
  while (start > 0 && /^[ \t]/.test(lines[start - 1]!)) start--;
  const indented = lines.slice(start);
  if (SYNTAX_ERRORS.has(name)) {
    const frames = indented.slice(0, -1).map((line) => FRAME.exec(line)?.[1]);
    const line = frames.find((number) => number !== undefined);
    if (line !== undefined)
      return { type: name, module: 'builtins', kind: 'SyntaxError', message, line: Number(line) };
  }
  if (indented.length === 0 || lines[start - 1] !== HEADER) return undefined;
  const qualified = QUALIFIED_CLASS.exec(name);
  const system = SYSTEM_ERROR.exec(message);
  const [, module, variable] = MISSING_NAME.exec(message) ?? [];
  const missing = module ?? variable;
  const frames = [...stderr.matchAll(/File "\/app\/main\.py", line (\d+)/g)];
  return {
    type: qualified?.[2] ?? name,
    module: qualified?.[1] ?? 'builtins',
    message,
    line: frames.length > 0 ? Number(frames.at(-1)![1]) : null,
    ...(system !== null && { errno: Number(system[1]), path: system[2] ?? null }),
    ...(missing !== undefined && { name: missing }),
  };
}
