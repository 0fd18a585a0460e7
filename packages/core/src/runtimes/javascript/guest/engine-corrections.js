/**
 * Corrections to the engine. A WeakRef keeps its target alive until the current job ends, as the specification
 * requires; the engine alone would free it with its last reference. The error of Promise.any has a message, as in
 * Node.js.
 */

let kept = [];
const release = () => {
  kept = [];
};
const settled = Promise.resolve();
const { then } = Promise.prototype;
const { apply } = Reflect;

function keep(target) {
  if (kept.length === 0) apply(then, settled, [release]);
  kept.push(target);
}

const EngineWeakRef = globalThis.WeakRef;
const { deref } = EngineWeakRef.prototype;

function WeakRef(target) {
  if (new.target === undefined) throw new TypeError("Constructor WeakRef requires 'new'");
  const reference = Reflect.construct(EngineWeakRef, [target], new.target);
  keep(target);
  return reference;
}

const weakRefMethods = {
  deref() {
    const target = apply(deref, this, []);
    if (target !== undefined) keep(target);
    return target;
  },
};

/** The resolving functions of a promise of the class `type`. */
function capabilityOf(type) {
  const found = {};
  found.promise = new type((resolve, reject) => {
    if (found.resolve !== undefined || found.reject !== undefined)
      throw new TypeError('The executor of a promise is called twice');
    found.resolve = resolve;
    found.reject = reject;
  });
  if (typeof found.resolve !== 'function' || typeof found.reject !== 'function')
    throw new TypeError('The resolving functions of a promise are not functions');
  return found;
}

function allRejected(errors) {
  const error = new AggregateError([], 'All promises were rejected');
  Object.defineProperty(error, 'errors', {
    value: errors,
    writable: true,
    enumerable: false,
    configurable: true,
  });
  return error;
}

function anyOf(type, iterable, { resolve, reject }) {
  const errors = [];
  let pending = 1;
  let index = 0;
  const resolveWith = type.resolve;
  if (typeof resolveWith !== 'function')
    throw new TypeError('Promise resolve or reject function is not callable');
  const finish = () => {
    if (--pending === 0) reject(allRejected(errors));
  };
  for (const item of iterable) {
    const at = index++;
    errors[at] = undefined;
    const promise = apply(resolveWith, type, [item]);
    pending++;
    let isCalled = false;
    promise.then(resolve, (error) => {
      if (isCalled) return;
      isCalled = true;
      errors[at] = error;
      finish();
    });
  }
  finish();
}

const promiseMethods = {
  any(iterable) {
    const capability = capabilityOf(this);
    try {
      anyOf(this, iterable, capability);
    } catch (error) {
      capability.reject(error);
    }
    return capability.promise;
  },
};

const replace = (target, name, value) =>
  Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: false });

export function correctEngine() {
  // The bundler renames the function.
  Object.defineProperty(WeakRef, 'name', { value: 'WeakRef', configurable: true });
  Object.defineProperty(WeakRef, 'prototype', { value: EngineWeakRef.prototype, writable: false });
  replace(EngineWeakRef.prototype, 'constructor', WeakRef);
  replace(EngineWeakRef.prototype, 'deref', weakRefMethods.deref);
  replace(globalThis, 'WeakRef', WeakRef);
  replace(Promise, 'any', promiseMethods.any);
}
