/**
 * Nested data by path, such as 'user.address.city' or 'users[0].name', and a check against a small part of JSON
 * Schema; for the whole of it there is ajv.
 */

/** A path as its steps; an array of steps is taken as it is. */
function stepsOf(path) {
  if (Array.isArray(path)) return path.map(String);
  return `${path}`
    .replace(/\[(\d+)\]/g, '.$1')
    .split('.')
    .filter((step) => step !== '');
}

const isObject = (value) => typeof value === 'object' && value !== null;

/** Own properties only: a path leads through data, not through what objects inherit. */
function step(value, key) {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** The value at a path, or `fallback` where there is none. */
export function get(data, path, fallback = undefined) {
  const found = stepsOf(path).reduce(step, data);
  return found === undefined ? fallback : found;
}

export function has(data, path) {
  const steps = stepsOf(path);
  const last = steps.pop();
  const parent = steps.reduce(step, data);
  return last !== undefined && isObject(parent) && Object.hasOwn(parent, last);
}

/** Puts a value at a path, making the objects, and before a number the arrays, that lead there. Returns the data. */
export function set(data, path, value) {
  const steps = stepsOf(path);
  if (!isObject(data) || steps.length === 0)
    throw new TypeError('json-utils: set needs an object and a path');
  let at = data;
  steps.forEach((key, i) => {
    // Defined, not assigned, so that no name, "__proto__" included, reaches what objects inherit.
    const isLast = i === steps.length - 1;
    const next = isLast ? value : step(at, key);
    const child = isLast || isObject(next) ? next : /^\d+$/.test(steps[i + 1]) ? [] : {};
    Object.defineProperty(at, key, { value: child, writable: true, enumerable: true, configurable: true });
    at = child;
  });
  return data;
}

/** A deep copy of data. */
export const clone = (data) => structuredClone(data);

function typeOf(value) {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function isOfType(value, type) {
  return type === 'integer' ? Number.isInteger(value) : typeOf(value) === type;
}

/** Everything that is wrong with a value, in words that begin with where it is. */
function faults(value, schema, at) {
  const { type, required = [], properties = {}, items, enum: allowed } = schema;
  const types = type === undefined ? [] : [type].flat();
  if (types.length > 0 && !types.some((one) => isOfType(value, one)))
    return [`${at}: expected ${types.join(' or ')}, got ${typeOf(value)}`];
  const found = [];
  if (allowed !== undefined && !allowed.includes(value)) found.push(`${at}: not one of the allowed values`);
  if (Array.isArray(value) && items !== undefined)
    value.forEach((item, i) => {
      found.push(...faults(item, items, `${at}[${i}]`));
    });
  if (typeOf(value) !== 'object') return found;
  // Both ways of saying it are in use: a list of names, and a flag in the property itself.
  const flagged = Object.keys(properties).filter((name) => properties[name].required === true);
  for (const name of new Set([...(Array.isArray(required) ? required : []), ...flagged])) {
    if (!Object.hasOwn(value, name)) found.push(`${at}.${name}: required, and missing`);
  }
  for (const [name, inner] of Object.entries(properties)) {
    if (Object.hasOwn(value, name)) found.push(...faults(value[name], inner, `${at}.${name}`));
  }
  return found;
}

/** Knows type, required, properties, items and enum; `errors` has a line for each fault. */
export function validate(data, schema) {
  const errors = faults(data, schema, '$');
  return { valid: errors.length === 0, errors };
}

export default { get, set, has, clone, validate };
