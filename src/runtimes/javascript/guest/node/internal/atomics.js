/** The global `Atomics`, which the engine does not have. There is one thread, so ordinary reads and writes are atomic. */
import { host } from '../../host-calls.js';
import { codedError } from './errors.js';

const INTEGERS = [
  Int8Array,
  Uint8Array,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  BigInt64Array,
  BigUint64Array,
];
const WAITABLE = [Int32Array, BigInt64Array];
const BIG = [BigInt64Array, BigUint64Array];

function validate(array, index, types) {
  if (!types.some((type) => array instanceof type))
    throw new TypeError('[object Array] is not an integer typed array.');
  const at = Math.trunc(Number(index)) || 0;
  if (!(at >= 0 && at < array.length)) throw new RangeError('Invalid atomic access index');
  return at;
}

const numberFor = (array, value) =>
  BIG.some((type) => array instanceof type) ? BigInt(value) : Math.trunc(Number(value)) || 0;

/** A method that replaces an element with the result of `combine`, and returns what it was. */
const update = (combine) => (array, index, value) => {
  const at = validate(array, index, INTEGERS);
  const operand = numberFor(array, value);
  const old = array[at];
  array[at] = combine(old, operand);
  return old;
};

const methods = {
  add: update((a, b) => a + b),
  and: update((a, b) => a & b),
  exchange: update((_, b) => b),
  or: update((a, b) => a | b),
  sub: update((a, b) => a - b),
  xor: update((a, b) => a ^ b),
  compareExchange(array, index, expected, replacement) {
    const at = validate(array, index, INTEGERS);
    const wanted = new array.constructor([numberFor(array, expected)])[0];
    const value = numberFor(array, replacement);
    const old = array[at];
    if (old === wanted) array[at] = value;
    return old;
  },
  isLockFree: (size) => [1, 2, 4, 8].includes(Math.trunc(Number(size))),
  load: (array, index) => array[validate(array, index, INTEGERS)],
  notify(array, index) {
    validate(array, index, WAITABLE);
    return 0;
  },
  store(array, index, value) {
    const at = validate(array, index, INTEGERS);
    const stored = numberFor(array, value);
    array[at] = stored;
    return stored;
  },
  /** Nothing can end the wait early: a wait with a timeout lasts until its time is up. */
  wait(array, index, value, timeout = Number.POSITIVE_INFINITY) {
    const at = validate(array, index, WAITABLE);
    if (!(array.buffer instanceof SharedArrayBuffer))
      throw new TypeError('[object Int32Array] is not a shared typed array.');
    if (array[at] !== new array.constructor([numberFor(array, value)])[0]) return 'not-equal';
    const milliseconds = Number.isNaN(Number(timeout))
      ? Number.POSITIVE_INFINITY
      : Math.max(0, Number(timeout));
    if (milliseconds === Number.POSITIVE_INFINITY) {
      throw codedError(
        Error,
        'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM',
        'Atomics.wait without a timeout would never return: the sandbox has one thread. Pass a timeout.',
      );
    }
    host.sleep(milliseconds);
    return 'timed-out';
  },
};

export const Atomics = {};
for (const [name, value] of Object.entries(methods)) {
  Object.defineProperty(value, 'name', { value: name, configurable: true });
  Object.defineProperty(Atomics, name, { value, writable: true, configurable: true, enumerable: false });
}
Object.defineProperty(Atomics, Symbol.toStringTag, { value: 'Atomics', configurable: true });
