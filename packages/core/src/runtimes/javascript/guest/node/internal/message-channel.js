/** MessageChannel: two ports of one program. Messages are cloned and delivered in later turns of the event loop. */
import { structuredClone } from '../../structured-clone.js';
import { setImmediate } from '../../timers.js';
import { Event, EventTarget } from './abort.js';

class MessageEvent extends Event {
  constructor(type, { data = null } = {}) {
    super(type);
    Object.defineProperty(this, 'data', { value: data, enumerable: true });
  }
}

let connect;

class MessagePort extends EventTarget {
  #other;
  #queue = [];
  #isStarted = false;
  #isClosed = false;
  #handler = null;

  static {
    connect = (a, b) => {
      a.#other = b;
      b.#other = a;
    };
  }
  postMessage(message) {
    const data = structuredClone(message);
    const other = this.#other;
    if (this.#isClosed || other === undefined) return;
    other.#queue.push(data);
    other.#deliver();
  }
  #deliver() {
    if (!this.#isStarted || this.#isClosed || this.#queue.length === 0) return;
    setImmediate(() => {
      if (this.#isClosed || this.#queue.length === 0) return;
      this.dispatchEvent(new MessageEvent('message', { data: this.#queue.shift() }));
    });
  }
  start() {
    if (this.#isStarted) return;
    this.#isStarted = true;
    for (const _ of this.#queue) this.#deliver();
  }
  close() {
    this.#isClosed = true;
    const other = this.#other;
    this.#other = undefined;
    if (other !== undefined) other.#other = undefined;
  }
  ref() {}
  unref() {}
  on(type, listener) {
    this.addEventListener(type, (event) => listener(event.data));
    if (type === 'message') this.start();
    return this;
  }
  once(type, listener) {
    this.addEventListener(type, (event) => listener(event.data), { once: true });
    if (type === 'message') this.start();
    return this;
  }
  get onmessage() {
    return this.#handler;
  }
  set onmessage(handler) {
    if (this.#handler !== null) this.removeEventListener('message', this.#handler);
    this.#handler = typeof handler === 'function' ? handler : null;
    if (this.#handler === null) return;
    this.addEventListener('message', this.#handler);
    this.start();
  }
}

class MessageChannel {
  constructor() {
    this.port1 = new MessagePort();
    this.port2 = new MessagePort();
    connect(this.port1, this.port2);
  }
}

export { MessageChannel, MessageEvent, MessagePort };
