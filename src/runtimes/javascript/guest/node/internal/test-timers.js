/** `mock.timers` of node:test: timers and dates that advance only when a test says so. */
import { load } from '../../node-modules.js';
import { codedError, invalidArgValue, validateFunction } from './errors.js';

const APIS = ['setInterval', 'setTimeout', 'setImmediate', 'Date'];
const CLEAR = { setInterval: 'clearInterval', setTimeout: 'clearTimeout', setImmediate: 'clearImmediate' };
/** Immediates run before timers. */
const IMMEDIATE = -1;
const RealDate = Date;

const invalidState = (message) => codedError(Error, 'ERR_INVALID_STATE', `Invalid state: ${message}`);

function validateTime(time) {
  if (typeof time !== 'number' || !(time >= 0)) throw invalidArgValue('time', 'positive integer', `${time}`);
}

class Timeout {
  constructor(values) {
    Object.assign(this, values);
  }
  hasRef() {
    return true;
  }
  ref() {
    return this;
  }
  unref() {
    return this;
  }
  refresh() {
    return this;
  }
  [Symbol.toPrimitive]() {
    return this.id;
  }
}

export class MockTimers {
  #isEnabled = false;
  #now = 0;
  #nextId = 1;
  #timers = [];
  #restorers = [];

  enable(options = {}) {
    if (this.#isEnabled) throw invalidState('MockTimers is already enabled!');
    const { apis = APIS, now = 0 } = options;
    for (const api of apis) {
      if (!APIS.includes(api)) throw invalidArgValue('options.apis', api, `option ${api} is not supported`);
    }
    this.#now = now instanceof RealDate ? now.getTime() : now;
    validateTime(this.#now);
    this.#isEnabled = true;
    for (const api of apis) this.#replaceApi(api);
  }

  tick(time = 1) {
    this.#check();
    validateTime(time);
    this.#now += time;
    for (;;) {
      const timer = this.#earliest();
      if (timer === undefined || timer.runAt > this.#now) return;
      if (timer.interval === undefined) this.#remove(timer);
      else timer.runAt += timer.interval;
      Reflect.apply(timer.callback, undefined, timer.args);
    }
  }

  runAll() {
    this.#check();
    if (this.#timers.length === 0) return;
    this.tick(Math.max(0, Math.max(...this.#timers.map(({ runAt }) => runAt)) - this.#now));
  }

  setTime(time = 0) {
    this.#check();
    validateTime(time);
    this.#now = time;
  }

  reset() {
    for (const restore of this.#restorers) restore();
    this.#restorers = [];
    this.#timers = [];
    this.#isEnabled = false;
    this.#now = 0;
  }

  [Symbol.dispose ?? Symbol('dispose')]() {
    this.reset();
  }

  #check() {
    if (!this.#isEnabled)
      throw invalidState('You should enable MockTimers first by calling the .enable function');
  }

  #earliest() {
    let found;
    for (const timer of this.#timers) if (found === undefined || timer.runAt < found.runAt) found = timer;
    return found;
  }

  #remove(timer) {
    const id = typeof timer === 'object' ? timer?.id : Number(timer);
    this.#timers = this.#timers.filter((one) => one.id !== id);
  }

  #add(callback, delay, args, repeats) {
    validateFunction(callback, 'callback');
    const wait = Math.max(1, Math.trunc(Number(delay)) || 1);
    const timer = new Timeout({
      id: this.#nextId++,
      callback,
      runAt: delay === IMMEDIATE ? IMMEDIATE : this.#now + wait,
      interval: repeats ? wait : undefined,
      args,
    });
    this.#timers.push(timer);
    return timer;
  }

  #replace(object, name, value) {
    const descriptor = Object.getOwnPropertyDescriptor(object, name);
    Object.defineProperty(object, name, { ...descriptor, value });
    this.#restorers.push(() => Object.defineProperty(object, name, descriptor));
  }

  #replaceApi(api) {
    if (api === 'Date') {
      this.#replace(globalThis, 'Date', this.#mockDate());
      return;
    }
    const set = {
      setTimeout: (callback, delay, ...args) => this.#add(callback, delay, args, false),
      setInterval: (callback, delay, ...args) => this.#add(callback, delay, args, true),
      setImmediate: (callback, ...args) => this.#add(callback, IMMEDIATE, args, false),
    }[api];
    const clear = (timer) => this.#remove(timer);
    for (const object of [globalThis, load('node:timers')]) {
      this.#replace(object, api, set);
      this.#replace(object, CLEAR[api], clear);
    }
    const wait = {
      setTimeout: (delay, value) => new Promise((resolve) => set(() => resolve(value), delay)),
      setImmediate: (value) => new Promise((resolve) => set(() => resolve(value))),
      setInterval() {
        throw codedError(
          Error,
          'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM',
          'setInterval of timers/promises is not available while its timers are mocked. Use setInterval of timers.',
        );
      },
    }[api];
    this.#replace(load('node:timers/promises'), api, wait);
  }

  #mockDate() {
    const now = () => this.#now;
    function MockDate(...args) {
      if (new.target === undefined) return new RealDate(now()).toString();
      const target = new.target === MockDate ? RealDate : new.target;
      return Reflect.construct(RealDate, args.length === 0 ? [now()] : args, target);
    }
    const { UTC, parse, prototype } = RealDate;
    Object.defineProperty(MockDate, 'name', { value: 'Date', configurable: true });
    Object.defineProperty(MockDate, 'length', { value: 7, configurable: true });
    Object.defineProperty(MockDate, 'prototype', { value: prototype, writable: false });
    for (const [name, value] of Object.entries({ UTC, parse, now, isMock: true }))
      Object.defineProperty(MockDate, name, { value, writable: true, configurable: true, enumerable: false });
    return MockDate;
  }
}
