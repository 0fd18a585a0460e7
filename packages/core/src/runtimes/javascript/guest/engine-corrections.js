/**
 * Corrections to the engine. A WeakRef keeps its target alive until the current job ends, as the specification
 * requires; the engine alone would free it with its last reference. The error of Promise.any has a message, as in
 * Node.js.
 */
import { defineHidden } from './define.js';

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

const nativeAny = Promise.any;

/** The error of the engine with the message of Node.js, which its stack begins with. */
const withMessage = (error) =>
  error instanceof AggregateError && error.message === ''
    ? new AggregateError(error.errors, 'All promises were rejected')
    : error;

const promiseMethods = {
  any(iterable) {
    const type = this;
    if (typeof type !== 'function') return apply(nativeAny, type, [iterable]);
    function Capability(executor) {
      return new type((resolve, reject) => executor(resolve, (error) => reject(withMessage(error))));
    }
    Object.defineProperty(Capability, 'resolve', {
      get() {
        const { resolve } = type;
        return typeof resolve === 'function' ? (value) => apply(resolve, type, [value]) : resolve;
      },
    });
    return apply(nativeAny, Capability, [iterable]);
  },
};

export function correctEngine() {
  // The bundler renames the function.
  Object.defineProperty(WeakRef, 'name', { value: 'WeakRef', configurable: true });
  Object.defineProperty(WeakRef, 'prototype', { value: EngineWeakRef.prototype, writable: false });
  defineHidden(EngineWeakRef.prototype, { constructor: WeakRef, ...weakRefMethods });
  defineHidden(globalThis, { WeakRef });
  defineHidden(Promise, promiseMethods);
}
