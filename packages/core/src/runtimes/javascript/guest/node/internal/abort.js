/** Event, EventTarget, AbortController and AbortSignal. */
import { customInspect, inspect } from '../../inspect.js';
import { addTick } from '../../program-events.js';
import { interpreterClock, setTimeout } from '../../timers.js';
import { codedError, invalidArgType } from './errors.js';

const stopped = new WeakMap();

let setTarget;
let optionsOf;

export class Event {
  #type;
  #options;
  #time = interpreterClock.now();
  #isPrevented = false;
  #target = null;

  constructor(...args) {
    const [type, options] = args;
    if (args.length === 0)
      throw codedError(TypeError, 'ERR_MISSING_ARGS', 'The "type" argument must be specified');
    if (options !== undefined && options !== null && typeof options !== 'object')
      throw invalidArgType('options', 'Object', options);
    this.#type = `${type}`;
    this.#options = {
      bubbles: Boolean(options?.bubbles),
      cancelable: Boolean(options?.cancelable),
      composed: Boolean(options?.composed),
    };
  }
  static {
    setTarget = (event, target) => {
      event.#target = target;
    };
    optionsOf = (event) => event.#options;
  }
  get type() {
    return this.#type;
  }
  get target() {
    return this.#target;
  }
  get cancelable() {
    return this.#options.cancelable;
  }
  get defaultPrevented() {
    return this.cancelable && this.#isPrevented;
  }
  get eventPhase() {
    return this.#target === null ? Event.NONE : Event.AT_TARGET;
  }
  get timeStamp() {
    return this.#time;
  }
  composedPath() {
    return this.#target === null ? [] : [this.#target];
  }
  preventDefault() {
    this.#isPrevented = true;
  }
  stopPropagation() {
    if (!stopped.has(this)) stopped.set(this, false);
  }
  stopImmediatePropagation() {
    stopped.set(this, true);
  }
  get [Symbol.toStringTag]() {
    return 'Event';
  }
  [customInspect](depth, options) {
    const name = this.constructor.name;
    if (depth < 0) return name;
    const { type, defaultPrevented, cancelable, timeStamp } = this;
    return `${name} ${inspect({ type, defaultPrevented, cancelable, timeStamp }, { ...options, depth: Number.isInteger(depth) ? depth - 1 : depth })}`;
  }
}
/** Properties that programs rarely use. */
for (const [name, read] of Object.entries({
  currentTarget: (event) => event.target,
  srcElement: (event) => event.target,
  bubbles: (event) => optionsOf(event).bubbles,
  composed: (event) => optionsOf(event).composed,
  returnValue: (event) => !event.defaultPrevented,
  isTrusted: () => false,
  cancelBubble: (event) => stopped.has(event),
})) {
  const get = function () {
    return read(this);
  };
  Object.defineProperty(Event.prototype, name, { get, configurable: true });
}
for (const [name, value] of Object.entries({
  NONE: 0,
  CAPTURING_PHASE: 1,
  AT_TARGET: 2,
  BUBBLING_PHASE: 3,
}))
  for (const owner of [Event, Event.prototype])
    Object.defineProperty(owner, name, { value, enumerable: true });

export class CustomEvent extends Event {
  #detail;
  constructor(type, options = undefined) {
    super(type, options);
    this.#detail = options?.detail ?? null;
  }
  get detail() {
    return this.#detail;
  }
  get [Symbol.toStringTag]() {
    return 'CustomEvent';
  }
}

/** The listeners of an EventTarget, or undefined if it is none. */
export let listenersOf;

export class EventTarget {
  #listeners = new Map();

  static {
    listenersOf = (target, type) =>
      #listeners in target
        ? (target.#listeners.get(`${type}`) ?? []).map(({ listener }) => listener)
        : undefined;
  }

  addEventListener(type, listener, options = undefined) {
    if (listener === null || listener === undefined) return;
    if (typeof listener !== 'function' && typeof listener !== 'object')
      throw invalidArgType('listener', 'EventListener', listener);
    const settings = typeof options === 'boolean' ? { capture: options } : (options ?? {});
    if (settings.signal?.aborted) return;
    const list = this.#listeners.get(`${type}`) ?? [];
    const capture = Boolean(settings.capture);
    if (list.some((one) => one.listener === listener && one.capture === capture)) return;
    list.push({ listener, capture, once: Boolean(settings.once), passive: Boolean(settings.passive) });
    this.#listeners.set(`${type}`, list);
    settings.signal?.addEventListener('abort', () => this.removeEventListener(type, listener, options), {
      once: true,
    });
  }
  removeEventListener(type, listener, options = undefined) {
    const capture = Boolean(typeof options === 'boolean' ? options : options?.capture);
    const list = this.#listeners.get(`${type}`) ?? [];
    const index = list.findIndex((one) => one.listener === listener && one.capture === capture);
    if (index < 0) return;
    list[index].isRemoved = true;
    this.#listeners.set(`${type}`, list.toSpliced(index, 1));
  }
  dispatchEvent(event) {
    if (!(event instanceof Event)) throw invalidArgType('event', 'Event', event);
    if (event.target !== null && event.eventPhase === Event.AT_TARGET && dispatching.has(event))
      throw codedError(Error, 'ERR_EVENT_RECURSION', `The event "${event.type}" is already being dispatched`);
    setTarget(event, this);
    dispatching.add(event);
    for (const entry of [...(this.#listeners.get(event.type) ?? [])]) {
      if (entry.isRemoved) continue;
      if (entry.once) this.removeEventListener(event.type, entry.listener, entry.capture);
      try {
        if (typeof entry.listener === 'function') entry.listener.call(this, event);
        else entry.listener.handleEvent?.(event);
      } catch (error) {
        // As in Node.js, the error of a listener is an uncaught exception and does not stop the others.
        addTick(() => {
          throw error;
        });
      }
      if (stopped.get(event) === true) break;
    }
    dispatching.delete(event);
    return !event.defaultPrevented;
  }
  get [Symbol.toStringTag]() {
    return 'EventTarget';
  }
  [customInspect](depth, options) {
    const name = this.constructor.name;
    return depth < 0 ? name : `${name} ${inspect({}, options)}`;
  }
}
const dispatching = new WeakSet();

/** Defines a property `onNAME` whose function is a listener. */
export function defineHandler(type, name) {
  const handlers = new WeakMap();
  Object.defineProperty(type.prototype, `on${name}`, {
    get() {
      return handlers.get(this) ?? null;
    },
    set(handler) {
      const before = handlers.get(this);
      if (before !== undefined) this.removeEventListener(name, before);
      handlers.set(this, handler);
      if (typeof handler === 'function') this.addEventListener(name, handler);
    },
    configurable: true,
    enumerable: true,
  });
}

const CREATE = Symbol('create');
const abortReason = () => new DOMException('This operation was aborted', 'AbortError');

/** Aborts a signal. Programs cannot reach it. */
let abort;

export class AbortSignal extends EventTarget {
  #isAborted = false;
  #reason = undefined;

  constructor(key = undefined) {
    if (key !== CREATE) throw codedError(TypeError, 'ERR_ILLEGAL_CONSTRUCTOR', 'Illegal constructor');
    super();
  }
  static {
    abort = (signal, reason) => {
      if (signal.#isAborted) return;
      signal.#isAborted = true;
      signal.#reason = reason === undefined ? abortReason() : reason;
      signal.dispatchEvent(new Event('abort'));
    };
  }
  static abort(reason = undefined) {
    const signal = new AbortSignal(CREATE);
    signal.#isAborted = true;
    signal.#reason = reason === undefined ? abortReason() : reason;
    return signal;
  }
  static timeout(delay) {
    const signal = new AbortSignal(CREATE);
    setTimeout(
      () => abort(signal, new DOMException('The operation was aborted due to timeout', 'TimeoutError')),
      delay,
    ).unref();
    return signal;
  }
  static any(signals) {
    const list = [...signals];
    const done = list.find((one) => one.aborted);
    if (done !== undefined) return AbortSignal.abort(done.reason);
    const signal = new AbortSignal(CREATE);
    for (const one of list) one.addEventListener('abort', () => abort(signal, one.reason), { once: true });
    return signal;
  }
  get aborted() {
    return this.#isAborted;
  }
  get reason() {
    return this.#reason;
  }
  throwIfAborted() {
    if (this.#isAborted) throw this.#reason;
  }
  get [Symbol.toStringTag]() {
    return 'AbortSignal';
  }
  [customInspect](depth, options) {
    return depth < 0 ? 'AbortSignal' : `AbortSignal ${inspect({ aborted: this.aborted }, options)}`;
  }
}
defineHandler(AbortSignal, 'abort');

export class AbortController {
  #signal = new AbortSignal(CREATE);
  get signal() {
    return this.#signal;
  }
  abort(reason = undefined) {
    abort(this.#signal, reason);
  }
  get [Symbol.toStringTag]() {
    return 'AbortController';
  }
  [customInspect](depth, options) {
    return depth < 0 ? 'AbortController' : `AbortController ${inspect({ signal: this.signal }, options)}`;
  }
}
