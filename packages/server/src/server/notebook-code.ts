/** Cells of notebooks as programs. Line numbers stay the same. The guest runs commands such as `!ls` and `%cd`. */

import { PACKAGE_RUNTIME, type RuntimeName } from '@llm-wasm-sandbox/core/internal';

/** A cell can be indented as a whole, by the indentation of its first line. */
export function cellProgram(code: string, runtime: RuntimeName): string {
  const indent = runtime === PACKAGE_RUNTIME ? /^(?:[ \t]*\r?\n)*([ \t]+)\S/.exec(code)?.[1] : undefined;
  if (indent === undefined) return code;
  const lines = code.split('\n');
  return lines.map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line)).join('\n');
}
