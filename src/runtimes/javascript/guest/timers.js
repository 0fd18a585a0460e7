/**
 * Timers of the event loop. The loop has its own clock, which stands still while code runs and jumps to the time of the
 * next timer, so that the order of timers does not depend on the speed of the machine. The real clock only determines how
 * long the loop sleeps.
 */
import { host } from './host-calls.js';

const MAX_DELAY_MS = 2 ** 31 - 1;

let now = 0;
let realStart = 0;
let nextId = 1;
/** Min-heap of timers by time, then by order of creation. */
const heap = [];
const active = new Map();

const isBefore = (a, b) => a.at < b.at || (a.at === b.at && a.order < b.order);

function push(timer) {
  let i = heap.length;
  heap.push(timer);
  while (i > 0) {
    const parent = (i - 1) >> 1;
    if (!isBefore(timer, heap[parent])) break;
    heap[i] = heap[parent];
    i = parent;
  }
  heap[i] = timer;
}

function pop() {
  const top = heap[0];
  const last = heap.pop();
  if (heap.length === 0) return top;
  let i = 0;
  for (;;) {
    let child = 2 * i + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && isBefore(heap[child + 1], heap[child])) child++;
    if (!isBefore(heap[child], last)) break;
    heap[i] = heap[child];
    i = child;
  }
  heap[i] = last;
  return top;
}

let nextOrder = 0;

function schedule(callback, delay, args, repeats, minDelay) {
  if (typeof callback !== 'function') throw new TypeError('The "callback" argument must be of type function');
  const requested = Number(delay);
  const wait = requested >= minDelay && requested <= MAX_DELAY_MS ? requested : minDelay;
  // Bound instead of wrapped, so that stack traces contain no frame of this file.
  const call = args.length > 0 ? callback.bind(undefined, ...args) : callback;
  const timer = {
    id: nextId++,
    at: now + wait,
    order: nextOrder++,
    call,
    period: repeats ? wait : undefined,
  };
  active.set(timer.id, timer);
  push(timer);
  return timer.id;
}

export const setTimeout = (callback, delay = 0, ...args) => schedule(callback, delay, args, false, 1);
export const setInterval = (callback, delay = 0, ...args) => schedule(callback, delay, args, true, 1);
export const setImmediate = (callback, ...args) => schedule(callback, 0, args, false, 0);
export function clearTimeout(id) {
  active.delete(id);
}

/** Starts the clock for a new program and removes the timers that a failed program left. */
export function startClock() {
  heap.length = 0;
  active.clear();
  realStart = host.monotonic() - now;
}

/** Sleeps until the next timer is due and returns its callback, or undefined if there is none. */
export function nextTimer() {
  while (heap.length > 0) {
    const timer = pop();
    if (active.get(timer.id) !== timer) continue;
    now = Math.max(now, timer.at);
    host.sleep(realStart + now - host.monotonic());
    if (timer.period === undefined) active.delete(timer.id);
    else push(Object.assign(timer, { at: now + timer.period, order: nextOrder++ }));
    return timer.call;
  }
  return undefined;
}
