/** Compares a value with a pattern and describes the first difference. */
import { formatItems } from '@llm-wasm-sandbox/core/internal';
import type { Pattern } from './attack.ts';

const MAX_SHOWN = 300;

/** Returns undefined if the value matches, otherwise a description of the first difference. */
export function mismatch(value: unknown, pattern: Pattern, path = ''): string | undefined {
  if (pattern instanceof RegExp) {
    if (typeof value === 'string' && pattern.test(value)) return undefined;
    return `${path || 'the value'} is ${show(value)}, expected ${pattern}`;
  }
  if (Array.isArray(pattern)) {
    if (!Array.isArray(value)) return `${path || 'the value'} is ${show(value)}, expected an array`;
    if (value.length !== pattern.length)
      return `${path || 'the value'} has ${formatItems(value.length, 'element')}, expected ${pattern.length}: ${show(value)}`;
    return firstOf(pattern.map((item, i) => mismatch(value[i], item, `${path}[${i}]`)));
  }
  if (typeof pattern === 'object' && pattern !== null) {
    if (typeof value !== 'object' || value === null)
      return `${path || 'the value'} is ${show(value)}, expected an object`;
    const entries = Object.entries(pattern);
    return firstOf(
      entries.map(([key, item]) =>
        mismatch((value as Record<string, unknown>)[key], item, path === '' ? key : `${path}.${key}`),
      ),
    );
  }
  if (Object.is(value, pattern)) return undefined;
  return `${path || 'the value'} is ${show(value)}, expected ${show(pattern)}`;
}

const firstOf = (found: readonly (string | undefined)[]) => found.find((text) => text !== undefined);

/** A value as text for a message, shortened. */
export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}
