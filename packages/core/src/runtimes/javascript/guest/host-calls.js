/**
 * The host calls: an object with one function per system call, which the host passes to the boot script. They are the only
 * way out of the guest. Programs cannot reach the object itself, only std, os, console and the other globals.
 */
// Parameter of the function that wraps the bundle.
export const host = __host;

/** `stat` and `fstat` store five numbers here: mode, ino, nlink, size, mtime. */
export const statusBuffer = new ArrayBuffer(40);
export const status = new Float64Array(statusBuffer);

/** Bytes that one `decodeUtf8` call accepts. */
export const MAX_DECODE_BYTES = 1 << 20;
