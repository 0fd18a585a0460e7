/**
 * The last resort: reading a traceback from standard error, for a run whose own report could not be had. Only what
 * stands at the end is read, only in the exact form the interpreters write, and only within the first 10 KB.
 */
import type { GuestError, RuntimeName } from '../schema.ts';

export const STDERR_SCAN_CHARS = 10_240;

const PYTHON =
  /(?:^|\n)Traceback \(most recent call last\):\n(?:[ \t][^\n]*\n)+([A-Za-z_][\w.]{0,100})(?:: ([^\n]{0,2000}))?\n?$/;
const PYTHON_SYNTAX =
  /(?:^|\n) {2}File "[^"\n]*", line (\d+)\n(?:[ \t][^\n]*\n)+((?:Syntax|Indentation|Tab)Error): ([^\n]{0,2000})\n?$/;
const JAVASCRIPT =
  /(?:^|\n)Uncaught (?:\(in promise\) )?(\w{1,60}Error): ([^\n]{0,2000})(?:\n\s+at [^\n]*)*\n?$/;
const SYSTEM = /^\[Errno (\d+)\] [^:]*(?:: '([^'\n]*)')?/;

const CLASSES = /^(\w+(?:\.\w+)*)\.(\w+)$/;

/** The uncaught exception that a standard error ends with, in the form the runtime reports one. */
export function readTraceback(runtime: RuntimeName, stderr: string): GuestError | undefined {
  // A longer one was either cut or is mostly something else; its end is out of reach.
  if (stderr.length > STDERR_SCAN_CHARS) return undefined;
  if (runtime === 'javascript') {
    const found = JAVASCRIPT.exec(stderr);
    return found === null ? undefined : { type: found[1]!, message: found[2]! };
  }
  const syntax = PYTHON_SYNTAX.exec(stderr);
  if (syntax !== null) {
    return {
      type: syntax[2]!,
      module: 'builtins',
      kind: 'SyntaxError',
      message: syntax[3]!,
      line: Number(syntax[1]),
    };
  }
  const found = PYTHON.exec(stderr);
  if (found === null) return undefined;
  const [, name, message = ''] = found;
  const own = CLASSES.exec(name!);
  const system = SYSTEM.exec(message);
  const missing =
    /^No module named '([^'\n]+)'/.exec(message)?.[1] ??
    /^name '([^'\n]+)' is not defined/.exec(message)?.[1];
  const lines = [...stderr.matchAll(/File "\/app\/main\.py", line (\d+)/g)];
  return {
    type: own?.[2] ?? name!,
    module: own?.[1] ?? 'builtins',
    message,
    line: lines.length > 0 ? Number(lines.at(-1)![1]) : null,
    ...(system !== null && { errno: Number(system[1]), path: system[2] ?? null }),
    ...(missing !== undefined && { name: missing }),
  };
}
