/** The source text of the call that failed, for the message of `assert(value)`. */
import { programSource } from '../../program-events.js';
import { readText } from './module-loader.js';

const MAX_LENGTH = 2000;

/** The index after the bracket that closes the one at `start`, skipping strings. */
function closing(text, start) {
  let depth = 0;
  for (let i = start; i < Math.min(text.length, start + MAX_LENGTH); i++) {
    const char = text[i];
    if (char === '"' || char === "'" || char === '`') {
      let end = i + 1;
      while (end < text.length && text[end] !== char) end += text[end] === '\\' ? 2 : 1;
      i = end;
    } else if ('([{'.includes(char)) depth++;
    else if (')]}'.includes(char) && --depth === 0) return i + 1;
  }
  return undefined;
}

function sourceOf(file) {
  try {
    return file === programSource.file ? programSource.code : readText(file);
  } catch {
    return undefined;
  }
}

/** The message for the first frame of the program, or undefined if its source is not found. */
export function callText() {
  const frame = /\((\/[^()\n]*):(\d+):(\d+)\)/.exec(new Error().stack);
  const code = frame === null ? undefined : sourceOf(frame[1]);
  if (code === undefined) return undefined;
  const lines = code.split('\n');
  const line = Number(frame[2]) - 1;
  const before = lines.slice(0, line).reduce((sum, one) => sum + one.length + 1, 0);
  const text = lines[line] ?? '';
  const call = /[\w$]*\b(?:assert|ok|strict)\b(?:\.\w+)*\s*\(/g;
  let found;
  for (const match of text.matchAll(call))
    if (found === undefined || match.index <= Number(frame[3]) - 1) found = match;
  if (found === undefined) return undefined;
  const start = before + found.index;
  const end = closing(code, start + found[0].length - 1);
  if (end === undefined) return undefined;
  const column = found.index;
  const expression = code
    .slice(start, end)
    .split('\n')
    .map((one, i) => (i === 0 ? one : one.replace(new RegExp(`^ {0,${column}}`), '')))
    .join('\n  ');
  return `The expression evaluated to a falsy value:\n\n  ${expression}\n`;
}
