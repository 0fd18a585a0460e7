/** The module `util/types`. */
import { classOf } from '../../value-types.js';

const is =
  (...kinds) =>
  (value) =>
    kinds.includes(classOf(value));
const TYPED = [
  ...[
    'Int8Array',
    'Uint8Array',
    'Uint8ClampedArray',
    'Int16Array',
    'Uint16Array',
    'Int32Array',
    'Uint32Array',
  ],
  ...['Float16Array', 'Float32Array', 'Float64Array', 'BigInt64Array', 'BigUint64Array'],
];

const types = {
  isExternal: () => false,
  isDate: is('Date'),
  isArgumentsObject: is('Arguments', 'MappedArguments'),
  isBigIntObject: is('BigInt'),
  isBooleanObject: is('Boolean'),
  isNumberObject: is('Number'),
  isStringObject: is('String'),
  isSymbolObject: is('Symbol'),
  isBoxedPrimitive: is('BigInt', 'Boolean', 'Number', 'String', 'Symbol'),
  isNativeError: is('Error'),
  isRegExp: is('RegExp'),
  isAsyncFunction: is('AsyncFunction', 'AsyncGeneratorFunction'),
  isGeneratorFunction: is('GeneratorFunction', 'AsyncGeneratorFunction'),
  isGeneratorObject: is('Generator', 'AsyncGenerator'),
  isPromise: is('Promise'),
  isMap: is('Map'),
  isSet: is('Set'),
  isMapIterator: is('Map Iterator'),
  isSetIterator: is('Set Iterator'),
  isWeakMap: is('WeakMap'),
  isWeakSet: is('WeakSet'),
  isArrayBuffer: is('ArrayBuffer'),
  isDataView: is('DataView'),
  isSharedArrayBuffer: is('SharedArrayBuffer'),
  isProxy: is('Proxy'),
  isModuleNamespaceObject: is('Module'),
  isAnyArrayBuffer: is('ArrayBuffer', 'SharedArrayBuffer'),
  isCryptoKey: () => false,
  isKeyObject: () => false,
  isArrayBufferView: (value) => ArrayBuffer.isView(value),
  isTypedArray: is(...TYPED),
};
for (const name of TYPED) types[`is${name}`] = is(name);

export default types;
