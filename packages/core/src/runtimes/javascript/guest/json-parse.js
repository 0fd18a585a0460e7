/**
 * JSON.parse that records where the last text failed, for the report of an uncaught error: the engine's error contains
 * neither the text nor, for most mistakes, the position. Results and errors are those of the engine.
 */

const { parse: parseNative } = JSON;
const NEAR_CHARACTERS = 30;

/** The last error of JSON.parse, and the text around its position. */
export const failedParse = { error: undefined, near: '', position: 0, length: 0 };

/** The frame of the function below. */
const OWN_FRAME = /^ *at parse \(sandbox:[^\n]*\n?/m;
const LOCATION = /^ *at <input>:(\d+):(\d+)/m;

/** The position of the error in the text. The engine names it in the message, or its line and column in the stack. */
function positionOf(error, text) {
  const stated = / at position (\d+)/.exec(error.message);
  if (stated !== null) return Number(stated[1]);
  const [, line, column] = LOCATION.exec(error.stack) ?? [];
  let start = 0;
  for (let i = 1; i < line; i++) start = text.indexOf('\n', start) + 1;
  return start + Number(column ?? 1) - 1;
}

function record(error, text) {
  error.stack = error.stack.replace(OWN_FRAME, '');
  const position = positionOf(error, text);
  const near = text.slice(Math.max(0, position - NEAR_CHARACTERS), position + NEAR_CHARACTERS);
  Object.assign(failedParse, { error, near, position, length: text.length });
}

export const { parse } = {
  parse(text, reviver) {
    const source = typeof text === 'string' ? text : `${text}`;
    try {
      return parseNative(source, reviver);
    } catch (error) {
      // A reviver can throw anything.
      if (error instanceof SyntaxError && LOCATION.test(error.stack)) record(error, source);
      throw error;
    }
  },
};

export function defineParse() {
  Object.defineProperty(JSON, 'parse', {
    value: parse,
    writable: true,
    configurable: true,
    enumerable: false,
  });
}
