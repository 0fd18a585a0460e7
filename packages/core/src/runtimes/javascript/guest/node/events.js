/** The module `events`. */
import { inspect } from '../inspect.js';
import { load } from '../node-modules.js';
import { addTick } from '../program-events.js';
import {
  AbortError,
  codedError,
  invalidArgType,
  outOfRange,
  validateAbortSignal,
  validateFunction,
  validateNumber,
} from './internal/errors.js';

const captureSymbol = Symbol('kCapture');
/** Node.js shows this property when it prints an emitter. */
const shapeSymbol = Symbol('shapeMode');
export const captureRejectionSymbol = Symbol.for('nodejs.rejection');
export const errorMonitor = Symbol('events.errorMonitor');
let defaultMaxListeners = 10;
let defaultCapture = false;

function checkListener(listener) {
  if (typeof listener !== 'function') throw invalidArgType('listener', 'function', listener);
}

/** `EventEmitter` is also called without `new`, with the object of a constructor that inherits from it. */
export function EventEmitter(options) {
  EventEmitter.init.call(this, options);
}
EventEmitter.prototype._events = undefined;
EventEmitter.prototype._eventsCount = 0;
EventEmitter.prototype._maxListeners = undefined;

EventEmitter.init = function init(options) {
  if (this._events === undefined || this._events === Object.getPrototypeOf(this)._events) {
    this._events = { __proto__: null };
    this._eventsCount = 0;
    this[shapeSymbol] = false;
  } else this[shapeSymbol] = true;
  this._maxListeners ??= undefined;
  const capture = options?.captureRejections ?? defaultCapture;
  if (options?.captureRejections !== undefined && typeof capture !== 'boolean')
    throw invalidArgType('options.captureRejections', 'boolean', capture);
  this[captureSymbol] = capture;
};

const list = (value) => (value === undefined ? [] : typeof value === 'function' ? [value] : value);
const unwrap = (listener) => listener.listener ?? listener;

function add(emitter, type, listener, isFirst) {
  checkListener(listener);
  if (emitter._events === undefined) EventEmitter.init.call(emitter);
  if (emitter._events.newListener !== undefined)
    emitter.emit('newListener', type, listener.listener ?? listener);
  const existing = emitter._events[type];
  if (existing === undefined) {
    emitter._events[type] = listener;
    emitter._eventsCount++;
  } else if (typeof existing === 'function')
    emitter._events[type] = isFirst ? [listener, existing] : [existing, listener];
  else if (isFirst) existing.unshift(listener);
  else existing.push(listener);
  warnAboutLeak(emitter, type);
  return emitter;
}

function warnAboutLeak(emitter, type) {
  const listeners = emitter._events[type];
  const max = methods.getMaxListeners.call(emitter);
  if (typeof listeners === 'function' || max <= 0 || listeners.length <= max || listeners.warned) return;
  listeners.warned = true;
  const name = emitter.constructor?.name ?? 'EventEmitter';
  const warning = new Error(
    `Possible EventEmitter memory leak detected. ${listeners.length} ${String(type)} listeners added to [${name}]. MaxListeners is ${max}. Use emitter.setMaxListeners() to increase limit`,
  );
  warning.name = 'MaxListenersExceededWarning';
  Object.assign(warning, { emitter, type, count: listeners.length });
  globalThis.process.emitWarning(warning);
}

function wrapOnce(emitter, type, listener) {
  checkListener(listener);
  let isFired = false;
  function onceWrapper(...args) {
    if (isFired) return undefined;
    isFired = true;
    emitter.removeListener(type, onceWrapper);
    return listener.apply(emitter, args);
  }
  onceWrapper.listener = listener;
  return onceWrapper;
}

function throwUnhandled(error) {
  if (error instanceof Error) throw error;
  let text;
  try {
    text = inspect(error);
  } catch {
    text = String(error);
  }
  const failure = codedError(Error, 'ERR_UNHANDLED_ERROR', `Unhandled error. (${text})`);
  failure.context = error;
  throw failure;
}

function capture(emitter, result, type, args) {
  if (!emitter[captureSymbol] || typeof result?.then !== 'function') return;
  result.then(undefined, (error) =>
    addTick(() => {
      if (typeof emitter[captureRejectionSymbol] === 'function')
        emitter[captureRejectionSymbol](error, type, ...args);
      else emitter.emit('error', error);
    }),
  );
}

function checkLimit(name, count) {
  validateNumber(count, name);
  if (count < 0 || Number.isNaN(count)) throw outOfRange(name, 'a non-negative number', count);
}

const methods = {
  setMaxListeners(count) {
    checkLimit('setMaxListeners', count);
    this._maxListeners = count;
    return this;
  },
  getMaxListeners() {
    return this._maxListeners ?? defaultMaxListeners;
  },
  emit(type, ...args) {
    const events = this._events;
    if (type === 'error') {
      if (events?.[errorMonitor] !== undefined) this.emit(errorMonitor, ...args);
      if (events?.error === undefined) throwUnhandled(args[0]);
    }
    const found = events?.[type];
    if (found === undefined) return false;
    for (const listener of typeof found === 'function' ? [found] : [...found]) {
      capture(this, listener.apply(this, args), type, args);
    }
    return true;
  },
  addListener(type, listener) {
    return add(this, type, listener, false);
  },
  prependListener(type, listener) {
    return add(this, type, listener, true);
  },
  once(type, listener) {
    // Streams override these methods.
    return this.on(type, wrapOnce(this, type, listener));
  },
  prependOnceListener(type, listener) {
    return this.prependListener(type, wrapOnce(this, type, listener));
  },
  removeListener(type, listener) {
    checkListener(listener);
    const found = this._events?.[type];
    if (found === undefined) return this;
    const listeners = list(found);
    const index = listeners.findLastIndex((one) => one === listener || one.listener === listener);
    if (index < 0) return this;
    const [removed] = typeof found === 'function' ? [found] : found.splice(index, 1);
    if (typeof found === 'function' || found.length === 0) {
      delete this._events[type];
      this._eventsCount--;
    } else if (found.length === 1) this._events[type] = found[0];
    if (this._events.removeListener !== undefined) this.emit('removeListener', type, unwrap(removed));
    return this;
  },
  removeAllListeners(...types) {
    if (this._events === undefined) return this;
    if (this._events.removeListener === undefined) {
      if (types.length === 0) {
        this._events = { __proto__: null };
        this._eventsCount = 0;
      } else if (this._events[types[0]] !== undefined) {
        delete this._events[types[0]];
        this._eventsCount--;
      }
      return this;
    }
    if (types.length === 0) {
      for (const type of Reflect.ownKeys(this._events))
        if (type !== 'removeListener') this.removeAllListeners(type);
      return this.removeAllListeners('removeListener');
    }
    for (const listener of [...list(this._events[types[0]])].reverse())
      this.removeListener(types[0], listener);
    return this;
  },
  listeners(type) {
    return list(this._events?.[type]).map(unwrap);
  },
  rawListeners(type) {
    return [...list(this._events?.[type])];
  },
  listenerCount(type, listener = undefined) {
    const found = list(this._events?.[type]);
    return listener === undefined
      ? found.length
      : found.filter((one) => one === listener || one.listener === listener).length;
  },
  eventNames() {
    return this._eventsCount > 0 ? Reflect.ownKeys(this._events) : [];
  },
};
methods.on = methods.addListener;
methods.off = methods.removeListener;
Object.assign(EventEmitter.prototype, methods);

const isTarget = (emitter) =>
  typeof emitter.addEventListener === 'function' && typeof emitter.on !== 'function';

/** A promise for the arguments of the next event. */
export function once(emitter, name, options = {}) {
  const { signal } = options;
  validateAbortSignal(signal);
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(new AbortError(undefined, { cause: signal.reason }));
      return;
    }
    if (isTarget(emitter)) {
      emitter.addEventListener(name, (...args) => resolve(args), { once: true });
      return;
    }
    const clean = () => {
      emitter.removeListener(name, onEvent);
      emitter.removeListener('error', onError);
      signal?.removeEventListener('abort', onAbort);
    };
    const onError = (error) => {
      clean();
      reject(error);
    };
    const onEvent = (...args) => {
      clean();
      resolve(args);
    };
    const onAbort = () => onError(new AbortError(undefined, { cause: signal.reason }));
    emitter.once(name, onEvent);
    if (name !== 'error') emitter.once('error', onError);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** An asynchronous iterator over the arguments of all following events. */
export function on(emitter, name, options = {}) {
  const { signal } = options;
  validateAbortSignal(signal);
  if (signal?.aborted) throw new AbortError(undefined, { cause: signal.reason });
  const values = [];
  const waiting = [];
  let failure;
  let isDone = false;
  const onEvent = (...args) => {
    const next = waiting.shift();
    if (next === undefined) values.push(args);
    else next.resolve({ value: args, done: false });
  };
  const onError = (error) => {
    const next = waiting.shift();
    if (next === undefined) failure = { error };
    else next.reject(error);
    iterator.return();
  };
  const onAbort = () => onError(new AbortError(undefined, { cause: signal.reason }));
  const onClose = () => iterator.return();
  const iterator = {
    next() {
      if (values.length > 0) return Promise.resolve({ value: values.shift(), done: false });
      if (failure !== undefined) {
        const { error } = failure;
        failure = undefined;
        return Promise.reject(error);
      }
      if (isDone) return Promise.resolve({ value: undefined, done: true });
      return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
    },
    return() {
      isDone = true;
      if (isTarget(emitter)) emitter.removeEventListener(name, onEvent);
      else {
        emitter.off(name, onEvent);
        emitter.off('error', onError);
        for (const close of options.close ?? []) emitter.off(close, onClose);
      }
      signal?.removeEventListener('abort', onAbort);
      for (const next of waiting.splice(0)) next.resolve({ value: undefined, done: true });
      return Promise.resolve({ value: undefined, done: true });
    },
    throw(error) {
      onError(error);
      return Promise.resolve({ value: undefined, done: true });
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
  if (isTarget(emitter)) emitter.addEventListener(name, onEvent);
  else {
    emitter.on(name, onEvent);
    if (name !== 'error') emitter.on('error', onError);
    for (const close of options.close ?? []) emitter.on(close, onClose);
  }
  signal?.addEventListener('abort', onAbort, { once: true });
  return iterator;
}

export function addAbortListener(signal, listener) {
  validateFunction(listener, 'listener');
  if (signal.aborted) queueMicrotask(() => listener());
  else signal.addEventListener('abort', listener, { once: true });
  return { [Symbol.dispose]: () => signal.removeEventListener('abort', listener) };
}

export const listenerCount = (emitter, type) => emitter.listenerCount(type);
const targetLimits = new WeakMap();

Object.assign(EventEmitter, {
  once,
  on,
  EventEmitter,
  errorMonitor,
  captureRejectionSymbol,
  addAbortListener,
  listenerCount,
  usingDomains: false,
  getEventListeners: (emitter, type) =>
    isTarget(emitter)
      ? (load('node:internal/abort').listenersOf(emitter, type) ?? [])
      : emitter.listeners(type),
  getMaxListeners: (emitter) =>
    isTarget(emitter) ? (targetLimits.get(emitter) ?? defaultMaxListeners) : emitter.getMaxListeners(),
  setMaxListeners(count = defaultMaxListeners, ...emitters) {
    checkLimit('setMaxListeners', count);
    if (emitters.length === 0) defaultMaxListeners = count;
    for (const emitter of emitters) {
      if (isTarget(emitter)) targetLimits.set(emitter, count);
      else if (typeof emitter?.setMaxListeners === 'function') emitter.setMaxListeners(count);
      else throw invalidArgType('eventTargets', ['EventEmitter', 'EventTarget'], emitter);
    }
  },
  EventEmitterAsyncResource: class EventEmitterAsyncResource extends EventEmitter {},
});
Object.defineProperties(EventEmitter, {
  defaultMaxListeners: {
    get: () => defaultMaxListeners,
    set(count) {
      checkLimit('defaultMaxListeners', count);
      defaultMaxListeners = count;
    },
    enumerable: true,
  },
  captureRejections: {
    get: () => defaultCapture,
    set(value) {
      defaultCapture = value;
    },
    enumerable: true,
  },
});

export default EventEmitter;
