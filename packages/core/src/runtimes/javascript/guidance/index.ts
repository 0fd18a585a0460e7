/** How JavaScript reports failures, and the rules for its errors. */

import type { LanguageGuidance } from '../../../analysis/analysed-language.ts';
import { failedStatement } from '../../../analysis/quote-guest-text.ts';
import { ruleTable } from '../../../analysis/rule-table.ts';
import { CLASS_CALLED, NOT_ITERABLE, parseUncaughtError } from './engine-error.ts';
import { errorRules } from './error-rules.ts';
import { importRules } from './import-rules.ts';
import { failedIteration } from './value-origin.ts';

const STACK_OVERFLOWS = ['stack overflow', 'Maximum call stack size exceeded'];
const IMPORTS = [
  /requireVendor\(\s*['"]([^'"]{1,100})['"]/,
  /^\s*import\b[^'"]{0,200}['"]([^'"]{1,100})['"]/,
];

/** The line of the second frame of a stack, if both frames are in the program. */
function callerLine(stack: string): number | undefined {
  const [called, caller] = stack
    .split('\n', 2)
    .map((frame) => /\((\/app\/[^:()]{1,200}):(\d{1,9})(?::\d{1,9})?\)$/.exec(frame));
  return called && caller && called[1] === caller[1] ? Number(caller[2]) : undefined;
}

export const javascriptGuidance: LanguageGuidance = {
  typicalSource: /^[ \t]*(const|let|var) [\w[{]|^[ \t]*function\b|^[ \t]*console\.log\(|=> ?\{|^[ \t]*\/\//m,
  regexCall: /\.(?:test|exec|match|matchAll|replace|replaceAll|search|split)\(/,
  memoization: 'a Map',
  isSystemError: () => true,
  isOutOfMemory: ({ type, message }) =>
    (type === 'InternalError' && message === 'out of memory') || type === 'null',
  isStackOverflow: ({ type, message }) =>
    (type === 'RangeError' || type === 'InternalError') && STACK_OVERFLOWS.includes(message),
  refineError({ source, error }) {
    // Programs can throw errors of every built-in type: an error of the engine is not on a line that throws.
    const statement = failedStatement({ source, error });
    const raised = error.raised === true || (!error.thrower && /\bthrow\b/.test(statement));
    const isShifted = !raised && NOT_ITERABLE.test(error.message);
    const isConstructor = CLASS_CALLED.test(error.message);
    const line =
      (isShifted ? failedIteration({ source, error })?.line : undefined) ??
      // QuickJS reports the position of the class; the call is the next frame.
      (isConstructor ? callerLine(error.stack ?? '') : undefined) ??
      error.line;
    // Standard error has the list of packages already.
    const message = error.message.replace(/: available packages: [\s\S]*$/, '');
    return { ...error, message, raised, line };
  },
  parseTraceback: parseUncaughtError,
  importedModules: (line) => IMPORTS.flatMap((pattern) => pattern.exec(line)?.[1] ?? []),
  packageOfModule: (module) => module,
  definitionOf: (name) =>
    new RegExp(
      `^(?:export )?(?:const|let|var|(?:async )?function\\*?|class)\\s+(?:[[{][^=]*)?${name}(?![\\w$])`,
    ),
  createFolder: (path, source) =>
    /\bfs\b/.test(source) ? `fs.mkdirSync('${path}', { recursive: true })` : `os.mkdir('${path}')`,
  endlessTimer: (source) =>
    /\bsetInterval\s*\(/.test(source) && !/\bclearInterval\s*\(/.test(source)
      ? 'The program was waiting: a setInterval timer keeps it running. Stop it with clearInterval(timer) when the work is done, or call process.exit()'
      : undefined,
};

export const javascriptRules = ruleTable([...importRules, ...errorRules]);
