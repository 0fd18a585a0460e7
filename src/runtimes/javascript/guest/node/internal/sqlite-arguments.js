/** Constants, errors and the checks of arguments of node:sqlite. The messages are those of Node.js. */

const names = (first, text) => text.split(' ').map((name, i) => [`SQLITE_${name}`, first + i]);

const ACTIONS =
  'CREATE_INDEX CREATE_TABLE CREATE_TEMP_INDEX CREATE_TEMP_TABLE CREATE_TEMP_TRIGGER CREATE_TEMP_VIEW CREATE_TRIGGER ' +
  'CREATE_VIEW DELETE DROP_INDEX DROP_TABLE DROP_TEMP_INDEX DROP_TEMP_TABLE DROP_TEMP_TRIGGER DROP_TEMP_VIEW ' +
  'DROP_TRIGGER DROP_VIEW INSERT PRAGMA READ SELECT TRANSACTION UPDATE ATTACH DETACH ALTER_TABLE REINDEX ANALYZE ' +
  'CREATE_VTABLE DROP_VTABLE FUNCTION SAVEPOINT';
export const constants = Object.fromEntries([
  ...names(0, 'CHANGESET_OMIT CHANGESET_REPLACE CHANGESET_ABORT'),
  ...names(
    1,
    'CHANGESET_DATA CHANGESET_NOTFOUND CHANGESET_CONFLICT CHANGESET_CONSTRAINT CHANGESET_FOREIGN_KEY',
  ),
  ...names(0, 'OK DENY IGNORE'),
  ...names(1, ACTIONS),
  ['SQLITE_COPY', 0],
  ['SQLITE_RECURSIVE', 33],
]);

function withCode(error, code) {
  error.code = code;
  return error;
}
export const typeError = (message) => withCode(new TypeError(message), 'ERR_INVALID_ARG_TYPE');
export const valueError = (message) => withCode(new TypeError(message), 'ERR_INVALID_ARG_VALUE');
export const rangeError = (message) => withCode(new RangeError(message), 'ERR_OUT_OF_RANGE');
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

/** The numbers of SQLite's limits by name. */
export const LIMITS = {
  length: 0,
  sqlLength: 1,
  column: 2,
  exprDepth: 3,
  compoundSelect: 4,
  vdbeOp: 5,
  functionArg: 6,
  attach: 7,
  likePatternLength: 8,
  variableNumber: 9,
  triggerDepth: 10,
};
export const MAX_LIMIT = 2 ** 31 - 1;

export function readLimits(limits) {
  if (limits === undefined) return [];
  if (!isObject(limits)) throw typeError('The "options.limits" argument must be an object.');
  return Object.entries(LIMITS).flatMap(([name, limit]) => {
    const value = limits[name];
    if (value === undefined) return [];
    checkType(value, 'integer', `options.limits.${name}`);
    if (value < 0) throw rangeError(`The "options.limits.${name}" argument must be non-negative.`);
    return [[limit, Math.min(value, MAX_LIMIT)]];
  });
}

/** The number that a program assigns to a limit. */
export function limitValue(value) {
  if (value === Number.POSITIVE_INFINITY) return MAX_LIMIT;
  if (!Number.isInteger(value)) throw typeError('Limit value must be a non-negative integer or Infinity.');
  if (value < 0) throw rangeError('Limit value must be non-negative.');
  return Math.min(value, MAX_LIMIT);
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
