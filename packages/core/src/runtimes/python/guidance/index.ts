/** How Python reports failures, and the rules for its exceptions. */
import type { LanguageGuidance } from '../../../analysis/analysed-language.ts';
import { ruleTable } from '../../../analysis/rule-table.ts';
import type { GuestError } from '../../../schema.ts';
import { dataRules } from './data-rules.ts';
import { exceptionRules } from './exception-rules.ts';
import { importRules, isMissingProgram } from './import-rules.ts';
import { parseTraceback } from './traceback.ts';

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
