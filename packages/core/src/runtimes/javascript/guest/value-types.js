/** Types of values as the engine sees them. Programs cannot change the answers by changing prototypes. */
import { host } from './host-calls.js';

const { getOwnPropertyDescriptor } = Object;
const isObject = (value) => (typeof value === 'object' && value !== null) || typeof value === 'function';

/** The engine's class of an object, such as `Map`, `Proxy` or `Generator`, or undefined for a primitive. */
export const classOf = (value) => (isObject(value) ? host.className(value) : undefined);

export const isProxy = (value) => classOf(value) === 'Proxy';
export const proxyTarget = (value) => host.proxyTarget(value);
export const proxyHandler = (value) => host.proxyHandler(value);

const STATES = ['pending', 'fulfilled', 'rejected'];
export const promiseState = (value) => STATES[host.promiseState(value)];
export const promiseResult = (value) => host.promiseResult(value);

/** The values that an iterator of a map or set has not returned yet. Pairs are entries. */
export function iteratorRest(value) {
  const state = host.iteratorState(value);
  const count = Math.floor(state / 4);
  const kind = ['keys', 'values', 'entries'][state % 4];
  return { hasEntries: kind === 'entries', count, items: count > 0 ? lastItems(value, kind, count) : [] };
}

function* lastItems(iterator, kind, count) {
  const source = host.iteratorSource(iterator);
  const { prototype } = classOf(source) === 'Map' ? Map : Set;
  const skipped = getOwnPropertyDescriptor(prototype, 'size').get.call(source) - count;
  let index = 0;
  for (const item of prototype[kind].call(source)) if (index++ >= skipped) yield item;
}

/** The target of a proxy, through any number of proxies; null for a revoked proxy. */
export function withoutProxy(value) {
  let target = value;
  while (isProxy(target)) target = proxyTarget(target);
  return target;
}
