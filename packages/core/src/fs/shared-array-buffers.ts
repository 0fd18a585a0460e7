/**
 * Bytes in shared memory, which threads exchange without copying. V8 does not count shared buffers when it decides
 * whether to collect garbage, so every thread pairs the buffers it creates or receives with ordinary ones of the same
 * length, which V8 does count. They are never written to and therefore take address space but no memory.
 */

/** Smaller buffers share one counterpart of about this length. */
const MIN_COUNTERPART_BYTES = 64 * 1024;

/** Contents of files of at least this length are in shared memory. */
export const MIN_SHARED_BYTES = 16 * 1024;

/** Maximum number of small buffers that share a counterpart. */
const MAX_SMALL = 4096;

const counterparts = new WeakMap<SharedArrayBuffer, ArrayBuffer>();
/** Small buffers that do not have a counterpart yet. */
let small: SharedArrayBuffer[] = [];
let smallBytes = 0;

// The TypeScript library of this ECMAScript version does not declare resizable buffers.
const ResizableArrayBuffer = ArrayBuffer as new (
  byteLength: number,
  options: { maxByteLength: number },
) => ArrayBuffer;

function addCounterpart(buffers: readonly SharedArrayBuffer[], byteLength: number): void {
  try {
    // A resizable buffer is mapped on its own, so none of its pages exist until they are written.
    const counterpart = new ResizableArrayBuffer(byteLength, { maxByteLength: byteLength });
    for (const buffer of buffers) counterparts.set(buffer, counterpart);
  } catch {
    // There is no address space left. The buffers are then freed later than they could be.
  }
}

/** Counts buffers that are new to this thread, so that they are freed soon after their last use. */
export function countShared(buffers: Iterable<SharedArrayBuffer>): void {
  for (const buffer of buffers) {
    if (buffer.byteLength >= MIN_COUNTERPART_BYTES) {
      if (!counterparts.has(buffer)) addCounterpart([buffer], buffer.byteLength);
      continue;
    }
    small.push(buffer);
    smallBytes += buffer.byteLength;
    if (smallBytes < MIN_COUNTERPART_BYTES && small.length < MAX_SMALL) continue;
    addCounterpart(small, smallBytes);
    small = [];
    smallBytes = 0;
  }
}

/** Allocates bytes in shared memory. */
export function allocateShared(length: number): Uint8Array<SharedArrayBuffer> {
  const buffer = new SharedArrayBuffer(length);
  countShared([buffer]);
  return new Uint8Array(buffer);
}

/** Whether bytes are an entire shared buffer. */
export function isShared(bytes: Uint8Array): bytes is Uint8Array<SharedArrayBuffer> {
  return bytes.buffer instanceof SharedArrayBuffer && bytes.byteLength === bytes.buffer.byteLength;
}

/** Copies bytes to shared memory, unless they are there already, so that they can be sent without copying. */
export function toShared(bytes: Uint8Array): Uint8Array<SharedArrayBuffer> {
  if (isShared(bytes)) return bytes;
  const shared = allocateShared(bytes.length);
  shared.set(bytes);
  return shared;
}

/**
 * The contents of a file as they are kept: shared if they are large, so that threads need no copies. Otherwise they are in a
 * buffer of their own, because a message with many shared buffers is slow.
 */
export function toContent(bytes: Uint8Array): Uint8Array {
  if (bytes.length >= MIN_SHARED_BYTES) return toShared(bytes);
  const { buffer } = bytes;
  const isWhole = buffer.byteLength === bytes.length && buffer instanceof ArrayBuffer;
  return isWhole && bytes.constructor === Uint8Array ? bytes : new Uint8Array(bytes);
}

/** The shared buffers that contain the given bytes. */
export function* sharedBuffers(contents: Iterable<Uint8Array | undefined>): Generator<SharedArrayBuffer> {
  for (const bytes of contents) if (bytes?.buffer instanceof SharedArrayBuffer) yield bytes.buffer;
}
