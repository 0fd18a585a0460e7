/**
 * Accesses nested data by path, such as 'user.address.city' or 'users[0].name', and validates data against a small subset
 * of JSON Schema. ajv supports all of it.
 */

/** Splits a path into keys. */
function keysOf(path) {
  if (Array.isArray(path)) return path.map(String);
  return `${path}`
    .replace(/\[(\d+)\]/g, '.$1')
    .split('.')
    .filter((key) => key !== '');
}

const isObject = (value) => typeof value === 'object' && value !== null;

/** Reads an own property; inherited properties are not data. */
function readKey(value, key) {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** Returns the value at a path, or `fallback` if there is none. */
export function get(data, path, fallback = undefined) {
  const found = keysOf(path).reduce(readKey, data);
  return found === undefined ? fallback : found;
}

export function has(data, path) {
  const keys = keysOf(path);
  const last = keys.pop();
  const parent = keys.reduce(readKey, data);
  return last !== undefined && isObject(parent) && Object.hasOwn(parent, last);
}

/** Sets the value at a path. Creates missing objects, or arrays before a number. Returns the data. */
export function set(data, path, value) {
  const keys = keysOf(path);
  if (!isObject(data) || keys.length === 0)
    throw new TypeError('json-utils: set requires an object and a non-empty path');
  let at = data;
  keys.forEach((key, i) => {
    // Defined instead of assigned, so that names such as "__proto__" do not change prototypes.
    const isLast = i === keys.length - 1;
    const next = isLast ? value : readKey(at, key);
    const child = isLast || isObject(next) ? next : /^\d+$/.test(keys[i + 1]) ? [] : {};
    Object.defineProperty(at, key, { value: child, writable: true, enumerable: true, configurable: true });
    at = child;
  });
  return data;
}

/** Returns a deep copy. */
export const clone = (data) => structuredClone(data);

function typeOf(value) {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function isOfType(value, type) {
  return type === 'integer' ? Number.isInteger(value) : typeOf(value) === type;
}

/** Lists the violations in a value. Each message starts with the location. */
function violations(value, schema, at) {
  const { type, required = [], properties = {}, items, enum: allowed } = schema;
  const types = type === undefined ? [] : [type].flat();
  if (types.length > 0 && !types.some((one) => isOfType(value, one)))
    return [`${at}: expected ${types.join(' or ')}, got ${typeOf(value)}`];
  const found = [];
  if (allowed !== undefined && !allowed.includes(value)) found.push(`${at}: not one of the allowed values`);
  if (Array.isArray(value) && items !== undefined)
    value.forEach((item, i) => {
      found.push(...violations(item, items, `${at}[${i}]`));
    });
  if (typeOf(value) !== 'object') return found;
  // `required` can be a list of names or a flag of a property.
  const flagged = Object.keys(properties).filter((name) => properties[name].required === true);
  for (const name of new Set([...(Array.isArray(required) ? required : []), ...flagged])) {
    if (!Object.hasOwn(value, name)) found.push(`${at}.${name}: required but missing`);
  }
  for (const [name, inner] of Object.entries(properties)) {
    if (Object.hasOwn(value, name)) found.push(...violations(value[name], inner, `${at}.${name}`));
  }
  return found;
}

/** Supports type, required, properties, items and enum. `errors` contains a message for each violation. */
export function validate(data, schema) {
  const errors = violations(data, schema, '$');
  return { valid: errors.length === 0, errors };
}

export default { get, set, has, clone, validate };
