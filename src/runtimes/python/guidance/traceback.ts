/** Parses a traceback at the end of standard error, exactly as the interpreter writes it. */
import type { GuestError } from '../../../schema.ts';

const TRACEBACK =
  /(?:^|\n)Traceback \(most recent call last\):\n(?:[ \t][^\n]*\n)+([A-Za-z_][\w.]{0,100})(?:: ([^\n]{0,2000}))?\n?$/;
const SYNTAX_ERROR =
  /(?:^|\n) {2}File "[^"\n]*", line (\d+)\n(?:[ \t][^\n]*\n)+((?:Syntax|Indentation|Tab)Error): ([^\n]{0,2000})\n?$/;
const QUALIFIED_CLASS = /^(\w+(?:\.\w+)*)\.(\w+)$/;
const SYSTEM_ERROR = /^\[Errno (\d+)\] [^:]*(?:: '([^'\n]*)')?/;
const MISSING_NAME = /^No module named '([^'\n]+)'|^name '([^'\n]+)' is not defined/;

/** The exception in the form in which the boot script reports one. */
export function parseTraceback(stderr: string): GuestError | undefined {
  const syntax = SYNTAX_ERROR.exec(stderr);
  if (syntax !== null) {
    return {
      type: syntax[2]!,
      module: 'builtins',
      kind: 'SyntaxError',
      message: syntax[3]!,
      line: Number(syntax[1]),
    };
  }
  const found = TRACEBACK.exec(stderr);
  if (found === null) return undefined;
  const [, name, message = ''] = found;
  const qualified = QUALIFIED_CLASS.exec(name!);
  const system = SYSTEM_ERROR.exec(message);
  const [, module, variable] = MISSING_NAME.exec(message) ?? [];
  const missing = module ?? variable;
  const lines = [...stderr.matchAll(/File "\/app\/main\.py", line (\d+)/g)];
  return {
    type: qualified?.[2] ?? name!,
    module: qualified?.[1] ?? 'builtins',
    message,
    line: lines.length > 0 ? Number(lines.at(-1)![1]) : null,
    ...(system !== null && { errno: Number(system[1]), path: system[2] ?? null }),
    ...(missing !== undefined && { name: missing }),
  };
}
