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

/** A call of a function that has the name of an assertion without comparison. */
const ASSERTION = /(?:[\w$]+\s*\.\s*)*\b(?:assert|ok|strict)(?:\s*\.\s*(?:assert|ok|strict))*\s*\(/g;
const ANY_CALL = /[\w$]+\s*\(/y;

/**
 * Start and end of the call that failed. The engine reports the position of its last argument that contains a call, or else
 * of its name: the innermost assertion around that position failed, or a call there of a function with another name.
 */
function failedCall(code, position) {
  const from = Math.max(0, position - MAX_LENGTH);
  let found;
  for (const match of code.slice(from, position + 100).matchAll(ASSERTION)) {
    const start = from + match.index;
    if (start > position) break;
    const end = closing(code, start + match[0].length - 1);
    if (end !== undefined && position < end) found = { start, end };
  }
  if (found !== undefined) return found;
  ANY_CALL.lastIndex = position;
  const call = ANY_CALL.exec(code);
  const end = call === null ? undefined : closing(code, position + call[0].length - 1);
  return end === undefined ? undefined : { start: position, end };
}

/** The message for the first frame of the program, or undefined if its source is not found. */
export function callText() {
  const frame = /\((\/[^()\n]*):(\d+):(\d+)\)/.exec(new Error().stack);
  const code = frame === null ? undefined : sourceOf(frame[1]);
  if (code === undefined) return undefined;
  const before = code.split('\n', Number(frame[2]) - 1).reduce((sum, one) => sum + one.length + 1, 0);
  const call = failedCall(code, before + Number(frame[3]) - 1);
  if (call === undefined) return undefined;
  const column = call.start - (code.lastIndexOf('\n', call.start - 1) + 1);
  const expression = code
    .slice(call.start, call.end)
    .split('\n')
    .map((one, i) => (i === 0 ? one : one.replace(new RegExp(`^ {0,${column}}`), '')))
    .join('\n  ');
  return `The expression evaluated to a falsy value:\n\n  ${expression}\n`;
}
