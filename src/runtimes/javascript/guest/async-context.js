/**
 * The asynchronous context of running code, which `AsyncLocalStorage` reads. A context belongs to one turn: the host counts
 * a turn for every promise job, timer and round of process.nextTick, so that a context never outlives its turn.
 */

/** Memory that the host shares: the number of the current turn. */
export const turnCounter = new ArrayBuffer(4);
const turn = new Uint32Array(turnCounter);

let context;
let contextTurn = -1;

/** The current context: a map of stores, or undefined. */
export const currentContext = () => (contextTurn === turn[0] ? context : undefined);

export function setContext(value) {
  context = value;
  contextTurn = turn[0];
}

/** Sets the context of the turn that follows this one. */
export function setNextContext(value) {
  context = value;
  contextTurn = (turn[0] + 1) >>> 0;
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
