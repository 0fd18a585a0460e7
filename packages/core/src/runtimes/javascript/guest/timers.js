/**
 * Timers of the event loop. The loop has its own clock, which does not advance while code runs and is set to the time of the
 * next timer, so that the order of timers does not depend on the speed of the machine. The real clock only determines how
 * long the loop sleeps: a timer never runs before its delay has passed. As in Node.js, due timers run first, then the
 * immediates that were set before.
 */
import { bindContext } from './async-context.js';
import { host } from './host-calls.js';
import { load } from './node-modules.js';

const MAX_DELAY_MS = 2 ** 31 - 1;

/** The time since the interpreter started. The `performance` of the engine counts from when the image was built. */
export const interpreterClock = {
  now: () => host.monotonic(),
  get timeOrigin() {
    return host.now() - host.monotonic();
  },
};

let now = 0;
let isStarting = true;
let nextId = 1;
let nextOrder = 0;
/** Min-heap of timers by time, then by order of creation. */
const heap = [];
const active = new Map();
/** Timers and immediates that keep the program running. */
let references = 0;
/** Immediates of the next round, and of the current round with the position in it. */
let immediates = [];
let round = [];
let position = 0;

const isBefore = (a, b) => a.at < b.at || (a.at === b.at && a.order < b.order);

/** When a timer that starts now is due: on the clock of the loop, and on the real clock. */
const deadline = (wait) => ({ at: now + wait, order: nextOrder++, dueAt: host.monotonic() + wait });

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

/** The state of a timer, which programs cannot reach. */
const entries = new WeakMap();

class Handle {
  ref() {
    return setReference(this, true);
  }
  unref() {
    return setReference(this, false);
  }
  hasRef() {
    return entries.get(this).isReferenced;
  }
  /** As in Node.js, where it is not documented but widely used. */
  get _destroyed() {
    return !entries.get(this).isActive;
  }
}

function setReference(handle, isReferenced) {
  const entry = entries.get(handle);
  if (entry.isActive && entry.isReferenced !== isReferenced) references += isReferenced ? 1 : -1;
  entry.isReferenced = isReferenced;
  return handle;
}

function deactivate(entry) {
  if (!entry.isActive) return;
  entry.isActive = false;
  active.delete(entry.id);
  if (entry.isReferenced) references--;
}

export class Timeout extends Handle {
  close() {
    clearTimeout(this);
    return this;
  }
  /** Starts a timer again, even from its own callback, unless it was cleared. */
  refresh() {
    const entry = entries.get(this);
    if (entry.isCleared) return this;
    const copy = { ...entry, ...deadline(entry.wait), isActive: true };
    if (!entry.isActive && entry.isReferenced) references++;
    entries.set(this, copy);
    active.set(copy.id, copy);
    entry.isActive = false;
    push(copy);
    return this;
  }
  [Symbol.toPrimitive]() {
    return entries.get(this).id;
  }
  [Symbol.dispose]() {
    clearTimeout(this);
  }
}

export class Immediate extends Handle {
  [Symbol.dispose]() {
    clearTimeout(this);
  }
}

function callbackOf(callback, handle, args) {
  if (typeof callback !== 'function')
    throw load('node:internal/errors').invalidArgType('callback', 'function', callback);
  // Bound instead of wrapped, so that stack traces contain no frame of this file.
  return bindContext(callback.bind(handle, ...args));
}

function activate(handle, entry) {
  active.set(entry.id, entry);
  references++;
  entries.set(handle, entry);
  return handle;
}

function schedule(callback, delay, args, repeats) {
  const handle = new Timeout();
  const call = callbackOf(callback, handle, args);
  const requested = Number(delay);
  const wait = requested >= 1 && requested <= MAX_DELAY_MS ? Math.trunc(requested) : 1;
  const entry = {
    id: nextId++,
    ...deadline(wait),
    call,
    wait,
    repeats,
    isActive: true,
    isReferenced: true,
  };
  push(entry);
  return activate(handle, entry);
}

export const setTimeout = (callback, delay = 1, ...args) => schedule(callback, delay, args, false);
export const setInterval = (callback, delay = 1, ...args) => schedule(callback, delay, args, true);
export function setImmediate(callback, ...args) {
  const handle = new Immediate();
  const call = callbackOf(callback, handle, args);
  const entry = { id: nextId++, call, isActive: true, isReferenced: true };
  immediates.push(entry);
  return activate(handle, entry);
}
export function clearTimeout(timer) {
  const entry = typeof timer === 'object' && timer !== null ? entries.get(timer) : active.get(Number(timer));
  if (entry === undefined) return;
  entry.isCleared = true;
  deactivate(entry);
}

/** Calls back like a completed input or output operation: after the immediates of the current round. */
export function completeLater(callback) {
  setImmediate(() => setImmediate(callback));
}

/** Starts the clock for a new program and removes the timers that a failed program left. */
export function startClock() {
  heap.length = 0;
  active.clear();
  references = 0;
  waitForAnswer = undefined;
  immediates = [];
  round = [];
  position = 0;
  isStarting = true;
}

function takeDueTimer() {
  while (heap.length > 0 && heap[0].at <= now) {
    const timer = pop();
    if (!timer.isActive) continue;
    // Without a condition, so that the fuel does not depend on the time.
    host.sleep(timer.dueAt - host.monotonic());
    if (timer.repeats) {
      Object.assign(timer, deadline(timer.wait));
      push(timer);
    } else deactivate(timer);
    return timer.call;
  }
  return undefined;
}

function takeImmediate() {
  while (position < round.length) {
    const entry = round[position++];
    if (!entry.isActive) continue;
    deactivate(entry);
    return entry.call;
  }
  return undefined;
}

/**
 * Set while tool calls are unanswered. It waits for an answer, at most the given time, and returns a callback, a number if
 * the program is paused or interrupted, or undefined.
 */
let waitForAnswer;

/** Unanswered calls keep the program running, like a timer. */
export function startWaiting(wait) {
  if (waitForAnswer === undefined) references++;
  waitForAnswer = wait;
}

export function endWaiting() {
  if (waitForAnswer !== undefined) references--;
  waitForAnswer = undefined;
}

/** Waits until the next timer is due and returns its callback, or undefined if nothing keeps the program running. */
export function nextTimer() {
  if (isStarting) {
    // Starting a program takes a millisecond of the clock, so that a timeout of 0 precedes an immediate.
    isStarting = false;
    now += 1;
  }
  for (;;) {
    const call = takeImmediate() ?? takeDueTimer();
    if (call !== undefined) return call;
    if (references === 0) return undefined;
    if (immediates.length > 0) {
      round = immediates;
      immediates = [];
      position = 0;
      const answered = waitForAnswer?.(0);
      if (typeof answered === 'function') return answered;
      continue;
    }
    while (heap.length > 0 && !heap[0].isActive) pop();
    if (waitForAnswer !== undefined) {
      const isForever = heap.length === 0;
      const delay = isForever ? Number.POSITIVE_INFINITY : heap[0].dueAt - host.monotonic();
      const answered = waitForAnswer(delay);
      if (answered !== undefined) return answered;
      if (isForever) continue;
    }
    if (heap.length === 0) return undefined;
    now = Math.max(now, heap[0].at);
  }
}
