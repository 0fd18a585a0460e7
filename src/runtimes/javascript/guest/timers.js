/**
 * Timers and the turn of the event loop. Time in here is the loop's own: it stands still while code runs and jumps to
 * the next timer when one is due, so the order of timers never depends on how fast the machine is. The real clock only
 * decides how long the loop sleeps.
 */
import { door } from './host-calls.js';

const MAX_DELAY_MS = 2 ** 31 - 1;

let now = 0;
let realStart = 0;
let nextId = 1;
/** A heap by time, then by age. */
const heap = [];
const live = new Map();

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

let orders = 0;

function schedule(callback, delay, args, repeats, least) {
  if (typeof callback !== 'function') throw new TypeError('The "callback" argument must be of type function');
  const asked = Number(delay);
  const wait = asked >= least && asked <= MAX_DELAY_MS ? asked : least;
  // Bound, not wrapped: a stack trace of the callback has no frame of this file.
  const call = args.length > 0 ? callback.bind(undefined, ...args) : callback;
  const timer = { id: nextId++, at: now + wait, order: orders++, call, period: repeats ? wait : undefined };
  live.set(timer.id, timer);
  push(timer);
  return timer.id;
}

export const setTimeout = (callback, delay = 0, ...args) => schedule(callback, delay, args, false, 1);
export const setInterval = (callback, delay = 0, ...args) => schedule(callback, delay, args, true, 1);
export const setImmediate = (callback, ...args) => schedule(callback, 0, args, false, 0);
export function clearTimeout(id) {
  live.delete(id);
}

/** For a new program: its time starts now, and timers that a failed one before it left do not fire. */
export function startClock() {
  heap.length = 0;
  live.clear();
  realStart = door.monotonic() - now;
}

/** Sleeps until the next timer is due and returns its function; undefined when there is none. */
export function nextTimer() {
  while (heap.length > 0) {
    const timer = pop();
    if (live.get(timer.id) !== timer) continue;
    now = Math.max(now, timer.at);
    door.sleep(realStart + now - door.monotonic());
    if (timer.period === undefined) live.delete(timer.id);
    else push(Object.assign(timer, { at: now + timer.period, order: orders++ }));
    return timer.call;
  }
  return undefined;
}
