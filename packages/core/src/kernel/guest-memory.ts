/**
 * Checked access to guest memory. An access beyond the current size fails with EFAULT, so that no pointer or length
 * from a guest causes a host exception. Callers must not store views, because growing the memory detaches them.
 */
import { type SyscallError, syscallError } from './syscall-error.ts';

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

const EFAULT: SyscallError = syscallError('EFAULT');

/** Maximum length of a path in bytes, including its terminator. */
const PATH_MAX = 4096;
/** Maximum number of buffers of a vectored read or write, as on Linux. */
const IOV_MAX = 1024;

export class GuestMemory {
  readonly #memory: WebAssembly.Memory;
  #bytes: Uint8Array;
  #view: DataView;

  constructor(memory: WebAssembly.Memory) {
    this.#memory = memory;
    this.#bytes = new Uint8Array(memory.buffer);
    this.#view = new DataView(memory.buffer);
  }

  /** The whole memory at its current size. */
  get all(): Uint8Array {
    // Growing the memory detaches the old buffer, whose length becomes 0.
    if (this.#bytes.length === 0) {
      this.#bytes = new Uint8Array(this.#memory.buffer);
      this.#view = new DataView(this.#memory.buffer);
    }
    return this.#bytes;
  }

  /** A view of memory after checking that `length` bytes exist at `pointer`. */
  #viewAt(pointer: number, length: number): DataView {
    if (pointer + length > this.all.length) throw EFAULT;
    return this.#view;
  }

  /** A view of `length` bytes at `pointer`. Both are interpreted as unsigned. */
  bytes(pointer: number, length: number): Uint8Array {
    const start = pointer >>> 0;
    const end = start + (length >>> 0);
    if (end > this.all.length) throw EFAULT;
    return this.#bytes.subarray(start, end);
  }

  /** Reads a NUL-terminated path or name. Invalid UTF-8 fails with EILSEQ, because names in the file tree are text. */
  path(pointer: number): string {
    const start = pointer >>> 0;
    const all = this.all;
    if (start >= all.length) throw EFAULT;
    const limit = Math.min(start + PATH_MAX, all.length);
    let end = start;
    while (end < limit && all[end] !== 0) end++;
    if (end === limit) throw limit === all.length ? EFAULT : syscallError('ENAMETOOLONG');
    try {
      return decoder.decode(all.subarray(start, end));
    } catch {
      throw syscallError('EILSEQ');
    }
  }

  /** The bytes before the next NUL. Fails with E2BIG if there are more than `maxBytes`. */
  untilNul(pointer: number, maxBytes: number): Uint8Array {
    const found = this.all.subarray(pointer >>> 0, (pointer >>> 0) + Math.max(0, maxBytes) + 1);
    const length = found.indexOf(0);
    if (length < 0) throw found.length > maxBytes ? syscallError('E2BIG') : EFAULT;
    return found.subarray(0, length);
  }

  /** Writes as much of `text` as fits, with a NUL if `terminate` is true. Returns the number of bytes needed. */
  writeText(pointer: number, size: number, text: string, terminate: boolean): number {
    const encoded = encoder.encode(text);
    const needed = encoded.length + (terminate ? 1 : 0);
    const target = this.bytes(pointer, size);
    target.set(encoded.subarray(0, target.length));
    if (terminate && needed <= target.length) target[encoded.length] = 0;
    return needed;
  }

  u8(pointer: number): number {
    const at = pointer >>> 0;
    return this.#viewAt(at, 1).getUint8(at);
  }

  u32(pointer: number): number {
    const at = pointer >>> 0;
    return this.#viewAt(at, 4).getUint32(at, true);
  }

  i32(pointer: number): number {
    return this.u32(pointer) | 0;
  }

  u16(pointer: number): number {
    const at = pointer >>> 0;
    return this.#viewAt(at, 2).getUint16(at, true);
  }

  /** Reads a 64-bit integer as a number. Used for times and sizes, which stay below 2^53. */
  i64(pointer: number): number {
    const at = pointer >>> 0;
    return Number(this.#viewAt(at, 8).getBigInt64(at, true));
  }

  setU8(pointer: number, value: number): void {
    const at = pointer >>> 0;
    this.#viewAt(at, 1).setUint8(at, value);
  }

  setU16(pointer: number, value: number): void {
    const at = pointer >>> 0;
    this.#viewAt(at, 2).setUint16(at, value, true);
  }

  setU32(pointer: number, value: number): void {
    const at = pointer >>> 0;
    this.#viewAt(at, 4).setUint32(at, value, true);
  }

  setI64(pointer: number, value: number | bigint): void {
    const at = pointer >>> 0;
    this.#viewAt(at, 8).setBigInt64(at, BigInt(value), true);
  }

  /** The non-empty buffers of a vectored call. They may overlap, which affects only the guest itself. */
  iovecs(pointer: number, count: number): Uint8Array[] {
    const length = count >>> 0;
    if (length > IOV_MAX) throw syscallError('EINVAL');
    this.bytes(pointer, length * 8);
    const buffers: Uint8Array[] = [];
    for (let i = 0; i < length; i++) {
      const entry = (pointer >>> 0) + i * 8;
      const bytes = this.u32(entry + 4);
      if (bytes > 0) buffers.push(this.bytes(this.u32(entry), bytes));
    }
    return buffers;
  }
}
