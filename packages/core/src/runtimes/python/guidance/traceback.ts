/** Parses a traceback at the end of standard error, exactly as the interpreter writes it. */
import type { GuestError } from '../../../schema.ts';

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
