/** util.promisify and util.callbackify. */
import { addTick } from '../../program-events.js';
import { codedError, validateFunction } from './errors.js';

const custom = Symbol.for('nodejs.util.promisify.custom');
/** Names of the values that a callback receives, if there are several. */
export const customArgs = Symbol('customPromisifyArgs');

export function promisify(original) {
  validateFunction(original, 'original');
  if (original[custom] !== undefined) {
    const own = original[custom];
    validateFunction(own, 'util.promisify.custom');
    return Object.defineProperty(own, custom, {
      value: own,
      configurable: true,
      enumerable: false,
      writable: false,
    });
  }
  const names = original[customArgs];
  function promisified(...args) {
    return new Promise((resolve, reject) => {
      original.call(this, ...args, (error, ...values) => {
        if (error) reject(error);
        else if (names !== undefined && values.length > 1)
          resolve(Object.fromEntries(names.map((name, i) => [name, values[i]])));
        else resolve(values[0]);
      });
    });
  }
  Object.setPrototypeOf(promisified, Object.getPrototypeOf(original));
  Object.defineProperty(promisified, custom, {
    value: promisified,
    configurable: true,
    enumerable: false,
    writable: false,
  });
  return Object.defineProperties(promisified, Object.getOwnPropertyDescriptors(original));
}
promisify.custom = custom;

export function callbackify(original) {
  validateFunction(original, 'original');
  function callbackified(...args) {
    const callback = args.pop();
    validateFunction(callback, 'last argument');
    original.apply(this, args).then(
      (value) => addTick(() => callback.call(this, null, value)),
      (reason) => {
        let error = reason;
        if (!error) {
          error = codedError(Error, 'ERR_FALSY_VALUE_REJECTION', 'Promise was rejected with falsy value');
          error.reason = reason;
        }
        addTick(() => callback.call(this, error));
      },
    );
  }
  const descriptors = Object.getOwnPropertyDescriptors(original);
  if (typeof descriptors.length?.value === 'number') descriptors.length.value++;
  if (typeof descriptors.name?.value === 'string') descriptors.name.value += 'Callbackified';
  delete descriptors.prototype;
  return Object.defineProperties(callbackified, descriptors);
}
