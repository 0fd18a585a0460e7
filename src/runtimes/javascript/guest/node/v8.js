/** The module `v8`: serialize and deserialize. The engine is not V8, so everything else throws. */
import { codedError } from './internal/errors.js';
import { createModule } from './internal/unavailable.js';
import { decodeValue, encodeValue } from './internal/v8-format.js';

export default {
  ...createModule('v8'),
  serialize: encodeValue,
  deserialize(buffer) {
    if (!ArrayBuffer.isView(buffer))
      throw codedError(TypeError, 'ERR_INVALID_ARG_TYPE', 'buffer must be a TypedArray or a DataView');
    return decodeValue(new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength));
  },
};
