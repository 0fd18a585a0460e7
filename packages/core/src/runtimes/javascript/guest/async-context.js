/**
 * The asynchronous context of running code, which `AsyncLocalStorage` reads. A context belongs to one turn: the host counts
 * a turn for every promise job, timer and round of process.nextTick, so that a context never outlives its turn. A promise
 * job starts in the context in which the engine added it to its queue, which the host remembers by number.
 */
import { host } from './host-calls.js';

/** Memory that the host shares: the number of the current turn, and the number of the context in which it started. */
export const turnCounter = new ArrayBuffer(8);
const turn = new Uint32Array(turnCounter);

let context;
let contextTurn = -1;

/** Contexts by number, as long as a promise job may have them. */
const numbered = new Map();
let lastNumber = 0;
/** Size of `numbered` at which the contexts that no job has are removed. */
let removalSize = 64;

function removeUnused() {
  const numbers = new Uint32Array(numbered.keys());
  const list = numbers.slice();
  host.usedContexts(list.buffer, list.byteLength);
  for (let i = 0; i < numbers.length; i++) if (list[i] === 0) numbered.delete(numbers[i]);
  removalSize = 64 + 2 * numbered.size;
}

/** The number of a context for the host. Contexts are maps; those that programs do not use have no number. */
function numberOf(value) {
  if (value === undefined) return 0;
  if (numbered.size >= removalSize) removeUnused();
  value.number ??= ++lastNumber;
  numbered.set(value.number, value);
  return value.number;
}

/** The current context: a map of stores, or undefined. */
export const currentContext = () => (contextTurn === turn[0] ? context : numbered.get(turn[1]));

export function setContext(value) {
  context = value;
  contextTurn = turn[0];
  host.setContext(numberOf(value));
}

/** Sets the context of the turn that follows this one. */
export function setNextContext(value) {
  host.setNextContext(numberOf(value));
}

/** Calls a function in a context. */
export function runInContext(value, call, self, args) {
  const previous = currentContext();
  setContext(value);
  try {
    return Reflect.apply(call, self, args);
  } finally {
    setContext(previous);
  }
}

/** Whether contexts are captured. True once `async_hooks` is loaded. */
export const capture = { isEnabled: false };

/** A function that calls `callback` in the current context. */
export function bindContext(callback) {
  if (!capture.isEnabled) return callback;
  const captured = currentContext();
  return function bound(...args) {
    return runInContext(captured, callback, this, args);
  };
}
