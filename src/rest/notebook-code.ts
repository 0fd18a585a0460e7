/** Cells of notebooks as programs: commands of IPython that cells often contain. Line numbers stay the same. */
import { PACKAGE_RUNTIME } from '../runtimes/program-files.ts';
import type { RuntimeName } from '../schema.ts';

/** `%matplotlib inline`: figures are always shown. */
const INLINE = /^%matplotlib\b[^\n]{0,100}$/gm;

/** A cell can be indented as a whole, by the indentation of its first line. */
function withoutIndent(code: string): string {
  const indent = /^(?:[ \t]*\r?\n)*([ \t]+)\S/.exec(code)?.[1];
  if (indent === undefined) return code;
  const lines = code.split('\n');
  return lines.map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line)).join('\n');
}

/** The guest runs the other commands, such as `!pip install x` and `!ls`. */
export function cellProgram(code: string, runtime: RuntimeName): string {
  return runtime === PACKAGE_RUNTIME ? withoutIndent(code).replaceAll(INLINE, 'pass') : code;
}
