/**
 * The module `async_hooks`. Contexts follow timers, callbacks of process.nextTick and queueMicrotask, and promises. The
 * engine has no hook for `await`, but reads `constructor` of the promise that it waits for. An accessor registers a
 * reaction at that moment, which the engine runs right before it continues the function. After `await` of another value,
 * the engine continues the function in the context in which it added the promise job; see async-context.js.
 */

import {
  bindContext,
  capture,
  currentContext,
  runInContext,
  setContext,
  setNextContext,
} from '../async-context.js';
import { defineHidden } from '../define.js';
import { codedError, invalidArgType, unavailable, validateFunction } from './internal/errors.js';

const nativeThen = Promise.prototype.then;
/** The engine reads `constructor` for `then` too. */
let isInternal = false;

function thenNatively(promise, onFulfilled, onRejected) {
  const previous = isInternal;
  isInternal = true;
  try {
    return Reflect.apply(nativeThen, promise, [onFulfilled, onRejected]);
  } finally {
    isInternal = previous;
  }
}

function inContext(captured, callback) {
  if (typeof callback !== 'function') return callback;
  return (value) => runInContext(captured, callback, undefined, [value]);
}

function isPromise(value) {
  return value !== Promise.prototype && value instanceof Promise;
}

/** A method that reads `constructor` without waiting for the promise. */
const quiet = (name, native) =>
  ({
    [name](...args) {
      const previous = isInternal;
      isInternal = true;
      try {
        return Reflect.apply(native, this, args);
      } finally {
        isInternal = previous;
      }
    },
  })[name];

function capturePromises() {
  defineHidden(Promise.prototype, {
    // biome-ignore lint/suspicious/noThenProperty: it replaces the method of promises
    then(onFulfilled, onRejected) {
      const captured = currentContext();
      return thenNatively(this, inContext(captured, onFulfilled), inContext(captured, onRejected));
    },
    get constructor() {
      if (!isInternal && isPromise(this)) {
        const captured = currentContext();
        const enter = () => setNextContext(captured);
        thenNatively(this, enter, enter);
      }
      return Promise;
    },
    set constructor(value) {
      Object.defineProperty(this, 'constructor', {
        value,
        writable: true,
        configurable: true,
        enumerable: true,
      });
    },
  });
  for (const name of ['resolve', 'all', 'allSettled', 'any', 'race'])
    defineHidden(Promise, { [name]: quiet(name, Promise[name]) });
  const nativeQueue = globalThis.queueMicrotask;
  globalThis.queueMicrotask = function queueMicrotask(callback) {
    validateFunction(callback, 'callback');
    nativeQueue(bindContext(callback));
  };
}

capture.isEnabled = true;
capturePromises();

export class AsyncLocalStorage {
  static bind(callback) {
    return AsyncResource.bind(callback);
  }

  static snapshot() {
    const captured = currentContext();
    return (callback, ...args) => runInContext(captured, callback, undefined, args);
  }

  getStore() {
    return currentContext()?.get(this);
  }

  run(store, callback, ...args) {
    return runInContext(new Map(currentContext()).set(this, store), callback, undefined, args);
  }

  exit(callback, ...args) {
    return this.run(undefined, callback, ...args);
  }

  enterWith(store) {
    setContext(new Map(currentContext()).set(this, store));
  }

  disable() {
    const next = new Map(currentContext());
    next.delete(this);
    setContext(next);
  }
}

let lastAsyncId = 1;

export class AsyncResource {
  #captured = currentContext();
  #asyncId = ++lastAsyncId;
  #triggerAsyncId;

  constructor(type, options = {}) {
    if (typeof type !== 'string') throw invalidArgType('type', 'string', type);
    const trigger = typeof options === 'number' ? options : (options.triggerAsyncId ?? 1);
    if (!Number.isSafeInteger(trigger) || trigger < -1)
      throw codedError(RangeError, 'ERR_INVALID_ASYNC_ID', `Invalid triggerAsyncId value: ${trigger}`);
    this.#triggerAsyncId = trigger;
  }

  static bind(callback, type = undefined, self = undefined) {
    validateFunction(callback, 'fn');
    return new AsyncResource(type ?? (callback.name || 'bound-anonymous-fn')).bind(callback, self);
  }

  runInAsyncScope(callback, self, ...args) {
    return runInContext(this.#captured, callback, self, args);
  }

  bind(callback, self = undefined) {
    validateFunction(callback, 'fn');
    const resource = this;
    const bound = function (...args) {
      return resource.runInAsyncScope(callback, self === undefined ? this : self, ...args);
    };
    Object.defineProperty(bound, 'length', { value: callback.length, configurable: true });
    return bound;
  }

  emitDestroy() {
    return this;
  }

  asyncId() {
    return this.#asyncId;
  }

  triggerAsyncId() {
    return this.#triggerAsyncId;
  }
}

export const executionAsyncId = () => 1;
export const triggerAsyncId = () => 0;
const topLevelResource = {};
export const executionAsyncResource = () => topLevelResource;
export const asyncWrapProviders = Object.freeze({ __proto__: null, NONE: 0 });

export function createHook() {
  throw unavailable('async_hooks.createHook is not available in the sandbox. Use AsyncLocalStorage.');
}
