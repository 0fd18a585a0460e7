/** The module `diagnostics_channel`. */
import { codedError, invalidArgType, validateFunction } from './internal/errors.js';

const channels = new Map();

function reportLater(error) {
  globalThis.process.nextTick(() => {
    throw error;
  });
}

/** Methods that throw. */
function refuse(type, name, instead) {
  type.prototype[name] = () => {
    const message = `${type.name}.${name} is not available in the sandbox. Use ${instead}.`;
    throw codedError(Error, 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM', message);
  };
}

export class Channel {
  #subscribers = [];

  constructor(name) {
    this.name = name;
  }

  get hasSubscribers() {
    return this.#subscribers.length > 0;
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

  publish(message) {
    for (const subscriber of this.#subscribers) {
      try {
        subscriber(message, this.name);
      } catch (error) {
        reportLater(error);
      }
    }
  }
}
for (const name of ['bindStore', 'unbindStore', 'runStores']) refuse(Channel, name, 'AsyncLocalStorage.run');

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
}
for (const name of ['traceSync', 'tracePromise', 'traceCallback'])
  refuse(TracingChannel, name, 'start.publish(context) and end.publish(context)');

export const tracingChannel = (nameOrChannels) => new TracingChannel(nameOrChannels);
