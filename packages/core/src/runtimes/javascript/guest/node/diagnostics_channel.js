/** The module `diagnostics_channel`, without stores and traces. */
import { invalidArgType, unavailable, validateFunction } from './internal/errors.js';

const channels = new Map();

/** A function that throws. */
const refused = (name, instead) => () => {
  const message = `${name} is not available in the sandbox. Use ${instead}.`;
  throw unavailable(message);
};

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
    if (index >= 0) this.#subscribers = this.#subscribers.toSpliced(index, 1);
    return index >= 0;
  }

  publish(message) {
    for (const subscriber of this.#subscribers) {
      try {
        subscriber(message, this.name);
      } catch (error) {
        globalThis.process.nextTick(() => {
          throw error;
        });
      }
    }
  }
}
for (const name of ['bindStore', 'unbindStore', 'runStores'])
  Channel.prototype[name] = refused(`Channel.${name}`, 'AsyncLocalStorage.run');

export function channel(name) {
  if (typeof name !== 'string' && typeof name !== 'symbol')
    throw invalidArgType('channel', ['string', 'symbol'], name);
  if (!channels.has(name)) channels.set(name, new Channel(name));
  return channels.get(name);
}

export const subscribe = (name, callback) => channel(name).subscribe(callback);
export const unsubscribe = (name, callback) => channel(name).unsubscribe(callback);
export const hasSubscribers = (name) => channels.get(name)?.hasSubscribers ?? false;
export const tracingChannel = refused('tracingChannel', 'channel(name).publish(message)');
