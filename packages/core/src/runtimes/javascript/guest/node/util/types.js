/** The module `util/types`. */
import { classOf } from '../../value-types.js';

const is =
  (...kinds) =>
  (value) =>
    kinds.includes(classOf(value));
const TYPED =
  'Int8Array Uint8Array Uint8ClampedArray Int16Array Uint16Array Int32Array Uint32Array Float16Array Float32Array Float64Array BigInt64Array BigUint64Array'.split(
    ' ',
  );
const BOXES = ['BigInt', 'Boolean', 'Number', 'String', 'Symbol'];
/** Classes with a test of their own. */
const CLASSES = [
  ...['Date', 'RegExp', 'Promise', 'Map', 'Set', 'Map Iterator', 'Set Iterator', 'WeakMap', 'WeakSet'],
  ...['ArrayBuffer', 'SharedArrayBuffer', 'DataView', 'Proxy', ...TYPED],
];

const types = {
  isExternal: () => false,
  isArgumentsObject: is('Arguments', 'MappedArguments'),
  isBoxedPrimitive: is(...BOXES),
  isNativeError: is('Error'),
  isAsyncFunction: is('AsyncFunction', 'AsyncGeneratorFunction'),
  isGeneratorFunction: is('GeneratorFunction', 'AsyncGeneratorFunction'),
  isGeneratorObject: is('Generator', 'AsyncGenerator'),
  isModuleNamespaceObject: is('Module'),
  isAnyArrayBuffer: is('ArrayBuffer', 'SharedArrayBuffer'),
  isCryptoKey: () => false,
  isKeyObject: () => false,
  isArrayBufferView: (value) => ArrayBuffer.isView(value),
  isTypedArray: is(...TYPED),
};
for (const name of BOXES) types[`is${name}Object`] = is(name);
for (const name of CLASSES) types[`is${name.replace(' ', '')}`] = is(name);

export default types;
