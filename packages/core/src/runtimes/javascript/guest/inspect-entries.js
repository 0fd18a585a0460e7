/** The entries of arrays, collections and other objects whose contents are not properties, for util.inspect. */
import { ARRAY, formatProperty, formatValue, INDEX, isWithinLimit } from './inspect.js';
import { formatPrimitive, joinEntries, moreItems, style } from './inspect-text.js';
import { iteratorRest, promiseResult, promiseState } from './value-types.js';

const { getOwnPropertyDescriptor, hasOwn, keys: enumerableKeys } = Object;

export function formatArray(ctx, value, recurseTimes) {
  const count = Math.min(Math.max(0, ctx.maxArrayLength), value.length);
  const output = [];
  for (let i = 0; i < count && isWithinLimit(ctx); i++) {
    if (!hasOwn(value, i)) return formatSparse(ctx, value, recurseTimes, count, output, i);
    output.push(formatProperty(ctx, value, recurseTimes, i, ARRAY));
  }
  if (value.length > output.length) output.push(moreItems(value.length - output.length));
  return output;
}

function formatSparse(ctx, value, recurseTimes, limit, output, start) {
  const keys = enumerableKeys(value);
  const empty = (count) => style(ctx, `<${count} empty item${count > 1 ? 's' : ''}>`, 'undefined');
  let index = start;
  for (let i = start; i < keys.length && output.length < limit; i++) {
    const key = keys[i];
    if (!INDEX.test(key) || key > 2 ** 32 - 2) break;
    if (`${index}` !== key) {
      output.push(empty(key - index));
      index = Number(key);
      if (output.length === limit) break;
    }
    output.push(formatProperty(ctx, value, recurseTimes, key, ARRAY));
    index++;
  }
  const rest = value.length - index;
  if (rest > 0) output.push(output.length === limit ? moreItems(rest) : empty(rest));
  return output;
}

export function formatTypedArray(ctx, value, recurseTimes) {
  const count = Math.min(Math.max(0, ctx.maxArrayLength), value.length);
  const output = [];
  for (let i = 0; i < count; i++) output.push(formatPrimitive(ctx, value[i]));
  if (value.length > count) output.push(moreItems(value.length - count));
  if (ctx.showHidden) {
    ctx.indentationLvl += 2;
    for (const key of ['BYTES_PER_ELEMENT', 'length', 'byteLength', 'byteOffset', 'buffer']) {
      output.push(`[${key}]: ${formatValue(ctx, value[key], recurseTimes, true)}`);
    }
    ctx.indentationLvl -= 2;
  }
  return output;
}

function formatCollection(ctx, items, size, format) {
  const count = Math.min(Math.max(0, ctx.maxArrayLength), size);
  const output = [];
  ctx.indentationLvl += 2;
  for (const item of items) {
    if (output.length >= count || !isWithinLimit(ctx)) break;
    output.push(format(item));
  }
  if (size > output.length) output.push(moreItems(size - output.length));
  ctx.indentationLvl -= 2;
  return output;
}

export const formatSet = (ctx, value, recurseTimes) =>
  formatCollection(ctx, Set.prototype.values.call(value), sizeOf(value, Set), (item) =>
    formatValue(ctx, item, recurseTimes),
  );
export const formatMap = (ctx, value, recurseTimes) =>
  formatCollection(
    ctx,
    Map.prototype.entries.call(value),
    sizeOf(value, Map),
    ([key, item]) => `${formatValue(ctx, key, recurseTimes)} => ${formatValue(ctx, item, recurseTimes)}`,
  );

/** The remaining values of an iterator of a map or set, and its label. */
export function formatIterator(value, kind) {
  const { hasEntries, count, items } = iteratorRest(value);
  const format = (ctx, _, recurseTimes) =>
    formatCollection(ctx, items, count, (item) => {
      if (!hasEntries) return formatValue(ctx, item, recurseTimes);
      const pair = item.map((one) => formatValue(ctx, one, recurseTimes));
      return joinEntries(ctx, pair, '', ['[', ']'], true, recurseTimes);
    });
  return { label: hasEntries ? `${kind.slice(0, 3)} Entries` : kind, format };
}

export const sizeOf = (value, type) => getOwnPropertyDescriptor(type.prototype, 'size').get.call(value);

export function formatBytes(ctx, value) {
  const shown = new Uint8Array(value).subarray(0, Math.max(0, ctx.maxArrayLength));
  let hex = Array.from(shown, (byte) => byte.toString(16).padStart(2, '0')).join(' ');
  if (value.byteLength > shown.length) hex += ` ${moreItems(value.byteLength - shown.length, 'byte')}`;
  return [`${style(ctx, '[Uint8Contents]', 'special')}: <${hex}>`];
}

export function formatPromise(ctx, value, recurseTimes) {
  const state = promiseState(value);
  if (state === 'pending') return [style(ctx, '<pending>', 'special')];
  ctx.indentationLvl += 2;
  const text = formatValue(ctx, promiseResult(value), recurseTimes);
  ctx.indentationLvl -= 2;
  return [state === 'rejected' ? `${style(ctx, '<rejected>', 'special')} ${text}` : text];
}

export const formatWeak = (ctx) => [style(ctx, '<items unknown>', 'special')];
export const formatNothing = () => [];
