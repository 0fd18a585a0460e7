/** Errors and the checks of arguments of node:sqlite. The messages are those of Node.js. */

function withCode(error, code) {
  error.code = code;
  return error;
}
export const typeError = (message) => withCode(new TypeError(message), 'ERR_INVALID_ARG_TYPE');
export const valueError = (message) => withCode(new TypeError(message), 'ERR_INVALID_ARG_VALUE');
export const stateError = (message) => withCode(new Error(message), 'ERR_INVALID_STATE');
export const constructError = (message, code) => withCode(new TypeError(message), code);
export const unavailable = (what, remedy) =>
  withCode(
    new Error(`sqlite.${what} is not available in the sandbox. ${remedy}`),
    'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM',
  );

const isObject = (value) => (typeof value === 'object' && value !== null) || typeof value === 'function';
const article = (type) => (/^[aeiou]/.test(type) ? 'an' : 'a');

/** Throws unless the argument has the type. */
export function checkType(value, type, name) {
  const isValid = type === 'integer' ? Number.isInteger(value) : typeof value === type;
  if (!isValid) throw typeError(`The "${name}" argument must be ${article(type)} ${type}.`);
  return value;
}

/** Throws unless the argument is undefined or an object; returns the object. */
export function checkOptions(options) {
  if (options === undefined) return {};
  if (!isObject(options)) throw typeError('The "options" argument must be an object.');
  return options;
}

/** The value of an option, which must have the type if it is given. */
export function option(options, name, type, fallback) {
  const value = options[name];
  return value === undefined ? fallback : checkType(value, type, `options.${name}`);
}

/** The path of a database as text: a path or the address of a file. */
export function databasePath(path, name = 'path') {
  let text;
  if (typeof path === 'string') text = path;
  else if (path instanceof Uint8Array) text = new TextDecoder().decode(path);
  else if (isObject(path) && typeof path.href === 'string' && typeof path.protocol === 'string') {
    if (path.protocol !== 'file:')
      throw withCode(new TypeError('The URL must be of scheme file:'), 'ERR_INVALID_URL_SCHEME');
    text = path.href;
  }
  if (text === undefined || text.includes('\0') || (text === path.href && /%00/.test(text)))
    throw typeError(`The "${name}" argument must be a string, Uint8Array, or URL without null bytes.`);
  return text;
}
