/** Removes the types from TypeScript. The host does so, because an interpreter takes a hundred times longer. */
import { host } from '../../host-calls.js';

/** An error in the source, at a position in it. */
function syntaxError({ message, place: [line, column], unsupported }, file) {
  const error = new SyntaxError(message);
  Object.defineProperty(error, 'stack', {
    value: `SyntaxError: ${message}\n    at ${file}:${line}:${column}`,
    writable: true,
    configurable: true,
  });
  if (unsupported)
    Object.defineProperty(error, 'code', { value: 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX', configurable: true });
  return Object.defineProperty(error, 'place', { value: [line, column], configurable: true });
}

/**
 * The program without types. `valueNames` are the names that it uses as values: imports of other names may be types.
 * With `keepImports`, imports that are not used stay, because later programs of a session may use them.
 */
export function stripTypes(code, file, keepImports = false) {
  const answer = host.stripTypes(code, keepImports ? 1 : 0);
  if (typeof answer === 'number') throw new RangeError('The TypeScript program is too long');
  const { error, valueNames, ...stripped } = JSON.parse(answer);
  if (error !== undefined) throw syntaxError(error, file);
  return { ...stripped, valueNames: new Set(valueNames) };
}

/** Line and column of the first frame of a syntax error. */
const placeOf = (error) => /:(\d+):(\d+)/.exec(error.stack)?.slice(1).map(Number) ?? [0, 0];

/**
 * Like `stripTypes`, for a program that the compiler rejected with `error`, which is thrown if there are no types. If the first error of the TypeScript
 * parser is at a later place, everything before it is valid TypeScript, so it is the error to report.
 */
export function stripRejected(code, file, error) {
  let stripped;
  try {
    stripped = stripTypes(code, file, true);
  } catch (found) {
    if (!(found instanceof SyntaxError)) throw error;
    const [line, column] = placeOf(error);
    const isLater = found.place[0] > line || (found.place[0] === line && found.place[1] > column);
    throw isLater || found.code !== undefined ? found : error;
  }
  if (stripped.code === code) throw error;
  return stripped;
}
