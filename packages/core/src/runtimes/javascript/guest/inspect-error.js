/** How util.inspect prints errors. */
import { headline } from './error-stack.js';
import { prefixOf } from './inspect.js';

/** The stack of a DOMException has no first line. */
function fullStack(error) {
  const stack = error.stack ? String(error.stack).trimEnd() : '';
  return stack.startsWith('    at ') || stack === '' ? `${headline(error)}\n${stack}`.trimEnd() : stack;
}

/** Replaces the name at the start of the stack with the name of the class, if they differ. */
function withClassName(stack, constructor, name, tag) {
  const isNamed =
    name.endsWith('Error') &&
    stack.startsWith(name) &&
    (stack.length === name.length || ':\n'.includes(stack[name.length]));
  if (constructor !== null && !isNamed) return stack;
  let length = name.length;
  let fallback = 'Error';
  if (constructor === null) {
    const start =
      /^([A-Z][a-z_ A-Z0-9[\]()-]+)(?::|\n\s+at)/.exec(stack) ?? /^([a-z_A-Z0-9-]*Error)$/.exec(stack);
    fallback = start?.[1] ?? '';
    length = fallback.length;
    fallback ||= 'Error';
  }
  const prefix = prefixOf(constructor, tag, fallback).slice(0, -1);
  if (name === prefix) return stack;
  if (!prefix.includes(name)) return `${prefix} [${name}]${stack.slice(length)}`;
  return length === 0 ? `${prefix}: ${stack}` : `${prefix}${stack.slice(length)}`;
}

/** The text of an error. Removes the keys that it already contains from `keys`, and adds hidden ones that are shown. */
export function formatError(ctx, error, constructor, tag, keys) {
  const name = error.name === undefined || error.name === null ? 'Error' : String(error.name);
  const raw = fullStack(error);
  if (!ctx.showHidden) {
    for (const key of ['name', 'message', 'stack']) {
      const index = keys.indexOf(key);
      if (index >= 0 && (typeof error[key] !== 'string' || raw.includes(error[key]))) keys.splice(index, 1);
    }
  }
  if ('cause' in error && !keys.includes('cause')) keys.push('cause');
  if (Array.isArray(error.errors) && !keys.includes('errors')) keys.push('errors');
  let stack = withClassName(raw, constructor, name, tag);
  const message = typeof error.message === 'string' ? error.message : '';
  const from = message === '' ? -1 : stack.indexOf(message);
  if (stack.indexOf('\n    at', from < 0 ? 0 : from + message.length) < 0) stack = `[${stack}]`;
  return ctx.indentationLvl === 0 ? stack : stack.replaceAll('\n', `\n${' '.repeat(ctx.indentationLvl)}`);
}
