/** How util.inspect prints functions, classes and boxed primitives. */
import { formatPrimitive, style } from './inspect-text.js';
import { classOf } from './value-types.js';

const { getPrototypeOf, hasOwn } = Object;
const functionSource = Function.prototype.toString;

/** Whether Node.js prints a function with this source as a class: not if a call precedes its body. */
function isClassSource(source) {
  if (!/^class[\s{]/.test(source) || !source.endsWith('}')) return false;
  const head = source.slice(0, source.indexOf('{'));
  return !head.replace(/\/\/.*|\/\*[\s\S]*?\*\//g, '').includes('(');
}

export function functionBase(value, constructor, tag) {
  const source = functionSource.call(value);
  if (isClassSource(source)) return classBase(value, constructor, tag);
  const kind = classOf(value) ?? 'Function';
  const type = /^(?:Async)?(?:Generator)?Function$/.test(kind) ? kind : 'Function';
  let base = `[${type}${constructor === null ? ' (null prototype)' : ''}`;
  base += value.name === '' ? ' (anonymous)]' : `: ${String(value.name)}]`;
  if (constructor !== type && constructor !== null && constructor !== 'Function') base += ` ${constructor}`;
  return tag !== '' && constructor !== tag ? `${base} [${tag}]` : base;
}

function classBase(value, constructor, tag) {
  let base = `class ${(hasOwn(value, 'name') && String(value.name)) || '(anonymous)'}`;
  if (constructor !== 'Function' && constructor !== null) base += ` [${constructor}]`;
  if (tag !== '' && constructor !== tag) base += ` [${tag}]`;
  const parent = constructor === null ? 'null' : getPrototypeOf(value).name;
  return `[${base}${parent ? ` extends ${parent}` : ''}]`;
}

export const BOXES = { Number, String, Boolean, BigInt, Symbol };

export function boxedBase(ctx, value, kind, keys, constructor, tag) {
  if (kind === 'String') keys.splice(0, value.length);
  const content = formatPrimitive({ ...ctx, colors: false }, BOXES[kind].prototype.valueOf.call(value));
  const owner = kind === constructor ? '' : constructor === null ? ' (null prototype)' : ` (${constructor})`;
  const base = `[${kind}${owner}: ${content}]`;
  return style(ctx, tag !== '' && tag !== constructor ? `${base} [${tag}]` : base, kind.toLowerCase());
}
