/** The module `diagnostics_channel`. */
import { codedError, invalidArgType, validateFunction } from './internal/errors.js';

const channels = new Map();

function reportLater(error) {
  globalThis.process.nextTick(() => {
    throw error;
  });
}

export class Channel {
  #subscribers = [];
  #stores = new Map();

  constructor(name) {
    this.name = name;
  }

  get hasSubscribers() {
    return this.#subscribers.length > 0 || this.#stores.size > 0;
  }

  subscribe(callback) {
    validateFunction(callback, 'subscription');
    this.#subscribers = [...this.#subscribers, callback];
  }

  unsubscribe(callback) {
    const index = this.#subscribers.indexOf(callback);
    if (index < 0) return false;
    this.#subscribers = this.#subscribers.toSpliced(index, 1);
    return true;
  }

  bindStore(store, transform) {
    this.#stores.set(store, transform);
  }

  unbindStore(store) {
    return this.#stores.delete(store);
  }

  publish(message) {
    for (const subscriber of this.#subscribers) {
      try {
        subscriber(message, this.name);
      } catch (error) {
        reportLater(error);
      }
    }
  }

  runStores(message, callback, self, ...args) {
    let run = () => {
      this.publish(message);
      return Reflect.apply(callback, self, args);
    };
    for (const [store, transform] of this.#stores) {
      const next = run;
      run = () => store.run(transform === undefined ? message : transform(message), next);
    }
    return run();
  }
}

export function channel(name) {
  if (typeof name !== 'string' && typeof name !== 'symbol')
    throw invalidArgType('channel', ['string', 'symbol'], name);
  if (!channels.has(name)) channels.set(name, new Channel(name));
  return channels.get(name);
}

export const subscribe = (name, callback) => channel(name).subscribe(callback);
export const unsubscribe = (name, callback) => channel(name).unsubscribe(callback);
export const hasSubscribers = (name) => channels.get(name)?.hasSubscribers ?? false;

const EVENTS = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'];

class TracingChannel {
  constructor(nameOrChannels) {
    for (const event of EVENTS) {
      this[event] =
        typeof nameOrChannels === 'string'
          ? channel(`tracing:${nameOrChannels}:${event}`)
          : nameOrChannels[event];
    }
  }

  get hasSubscribers() {
    return EVENTS.some((event) => this[event]?.hasSubscribers);
  }

  subscribe(handlers) {
    for (const event of EVENTS) if (handlers[event] !== undefined) this[event].subscribe(handlers[event]);
  }

  unsubscribe(handlers) {
    let isDone = true;
    for (const event of EVENTS)
      if (handlers[event] !== undefined && !this[event].unsubscribe(handlers[event])) isDone = false;
    return isDone;
  }

  /** Calls `run` between the events `start` and `end`, and publishes what it throws. */
  #trace(context, run) {
    return this.start.runStores(context, () => {
      try {
        return run();
      } catch (error) {
        context.error = error;
        this.error.publish(context);
        throw error;
      } finally {
        this.end.publish(context);
      }
    });
  }

  traceSync(callback, context = {}, self = undefined, ...args) {
    return this.#trace(context, () => {
      context.result = Reflect.apply(callback, self, args);
      return context.result;
    });
  }

  tracePromise(callback, context = {}, self = undefined, ...args) {
    const settle = (key, value) => {
      context[key] = value;
      if (key === 'error') this.error.publish(context);
      this.asyncStart.publish(context);
      this.asyncEnd.publish(context);
    };
    return this.#trace(context, () =>
      Promise.resolve(Reflect.apply(callback, self, args)).then(
        (result) => {
          settle('result', result);
          return result;
        },
        (error) => {
          settle('error', error);
          throw error;
        },
      ),
    );
  }

  traceCallback() {
    throw codedError(
      Error,
      'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM',
      'TracingChannel.traceCallback is not available in the sandbox. Use traceSync or tracePromise.',
    );
  }
}

export const tracingChannel = (nameOrChannels) => new TracingChannel(nameOrChannels);
