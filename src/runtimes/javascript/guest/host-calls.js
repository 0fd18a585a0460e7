/**
 * The only way out of the guest: an object with one function for each system call, which the host passes when it
 * boots the runtime. It is reachable from here alone; programs see what std, os and console make of it.
 */
// The parameter of the function that the bundle is wrapped in.
export const door = __door;

/** Where `stat` and `fstat` leave their five numbers: mode, ino, nlink, size, mtime. */
export const statusBuffer = new ArrayBuffer(40);
export const status = new Float64Array(statusBuffer);

/** Bytes one `text` call takes at most. */
export const TEXT_CHUNK = 1 << 20;
