/** The mocks of `node:test`: functions and methods that record their calls. */
import { invalidArgType, invalidArgValue, unavailable, validateFunction } from './errors.js';

class MockFunctionContext {
  #calls = [];
  #mock;

  constructor(mock) {
    this.#mock = mock;
  }

  get calls() {
    return [...this.#calls];
  }

  callCount() {
    return this.#calls.length;
  }

  mockImplementation(implementation) {
    validateFunction(implementation, 'implementation');
    this.#mock.implementation = implementation;
  }

  mockImplementationOnce(implementation, onCall = this.#calls.length) {
    validateFunction(implementation, 'implementation');
    this.#mock.once.set(onCall, implementation);
  }

  resetCalls() {
    this.#calls = [];
  }

  restore() {
    this.#mock.restore();
  }

  /** Calls the function of this call and records it. */
  _call(self, args, target) {
    const { once, implementation, original, times } = this.#mock;
    const index = this.#calls.length;
    const implement = once.get(index) ?? (index < times ? implementation : original);
    once.delete(index);
    const call = {
      arguments: args,
      error: undefined,
      result: undefined,
      stack: new Error(),
      target,
      this: self,
    };
    try {
      call.result =
        target === undefined
          ? Reflect.apply(implement, self, args)
          : Reflect.construct(implement, args, target);
      if (target !== undefined) call.this = call.result;
      return call.result;
    } catch (error) {
      call.error = error;
      throw error;
    } finally {
      this.#calls.push(call);
    }
  }
}

function createMock(original, implementation, { times = Infinity } = {}) {
  if (times !== Infinity && (!Number.isSafeInteger(times) || times < 1))
    throw invalidArgValue('options.times', times, 'must be a positive integer');
  const mock = { original, implementation, times, once: new Map(), restore: () => {} };
  const context = new MockFunctionContext(mock);
  const restoreFunction = () => {
    mock.implementation = original;
    mock.once.clear();
  };
  mock.restore = restoreFunction;
  const replacement = new Proxy(original, {
    apply: (_, self, args) => context._call(self, args, undefined),
    construct: (target, args, newTarget) =>
      context._call(undefined, args, newTarget === replacement ? target : newTarget),
    get: (target, key) => (key === 'mock' ? context : target[key]),
  });
  return { mock, context, replacement, restoreFunction };
}

function findDescriptor(object, name) {
  for (let one = object; one !== null && one !== undefined; one = Object.getPrototypeOf(one)) {
    const descriptor = Object.getOwnPropertyDescriptor(one, name);
    if (descriptor !== undefined) return descriptor;
  }
  return undefined;
}

export class MockTracker {
  #mocks = [];

  get timers() {
    throw unavailable(
      "mock.timers is not available in the sandbox. Replace single functions, such as mock.method(Date, 'now', () => 0) and mock.method(globalThis, 'setTimeout', (callback) => callback()).",
    );
  }

  fn(original = () => {}, implementation = original, options = {}) {
    if (original !== null && typeof original === 'object') return this.fn(undefined, undefined, original);
    if (implementation !== null && typeof implementation === 'object')
      return this.fn(original, original, implementation);
    validateFunction(original, 'original');
    validateFunction(implementation, 'implementation');
    const { mock, replacement } = createMock(original, implementation, options);
    this.#mocks.push(mock);
    return replacement;
  }

  method(object, name, implementation = undefined, options = {}) {
    if (implementation !== null && typeof implementation === 'object')
      return this.method(object, name, undefined, implementation);
    if (object === null || (typeof object !== 'object' && typeof object !== 'function'))
      throw invalidArgType('object', 'object', object);
    const { getter = false, setter = false } = options;
    const kind = getter ? 'get' : setter ? 'set' : 'value';
    const descriptor = findDescriptor(object, name);
    const original = descriptor?.[kind];
    if (typeof original !== 'function') throw invalidArgValue('methodName', original, 'must be a method');
    const isOwn = Object.hasOwn(object, name);
    const { mock, replacement, restoreFunction } = createMock(original, implementation ?? original, options);
    mock.restore = () => {
      restoreFunction();
      if (isOwn) Object.defineProperty(object, name, descriptor);
      else delete object[name];
    };
    Object.defineProperty(object, name, { ...descriptor, configurable: true, [kind]: replacement });
    this.#mocks.push(mock);
    return replacement;
  }

  getter(object, name, implementation = undefined, options = {}) {
    return this.method(object, name, implementation, { ...options, getter: true });
  }

  setter(object, name, implementation = undefined, options = {}) {
    return this.method(object, name, implementation, { ...options, setter: true });
  }

  restoreAll() {
    for (const mock of this.#mocks) mock.restore();
  }

  reset() {
    this.restoreAll();
    this.#mocks = [];
  }
}
