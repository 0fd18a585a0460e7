/** The functions of WASI preview 1 that guests import. They return an errno and write results through pointers. */
import { FDSTAT, FILE_TYPE } from './abi.ts';
import { argumentBytes } from './argument-text.ts';
import type { GuestMemory } from './guest-memory.ts';
import { isSyscallError, syscallError } from './syscall-error.ts';
import { guard, type HostFunctions } from './syscall-guard.ts';
import type { Kernel } from './syscalls.ts';

const NS_PER_MS = 1_000_000;

/** The environment as NUL-terminated "KEY=value" strings. */
function environment(kernel: Kernel): Uint8Array[] {
  return Object.entries(kernel.env).map(([key, value]) => argumentBytes(`${key}=${value}\0`));
}

/** Buffers that one write joins. */
const MAX_JOINED_BYTES = 65_536;

/** The buffers of a write. The C library passes a short text and the end of its line as two, which readers get together. */
function inOnePiece(buffers: readonly Uint8Array[]): readonly Uint8Array[] {
  const length = buffers.reduce((sum, buffer) => sum + buffer.length, 0);
  return buffers.length > 1 && length <= MAX_JOINED_BYTES ? [Buffer.concat(buffers)] : buffers;
}

export function wasiFunctions(
  kernel: Kernel,
  memory: GuestMemory,
  exit: (code: number) => never,
): HostFunctions {
  const transfer = (
    transferOne: (buffer: Uint8Array, transferred: number) => number,
    buffers: readonly Uint8Array[],
    out: number,
  ) => {
    let transferred = 0;
    for (const buffer of buffers) {
      let step: number;
      try {
        step = transferOne(buffer, transferred);
      } catch (cause) {
        // Report the bytes transferred before the error; the guest's next call fails. Traps are rethrown.
        if (transferred > 0 && isSyscallError(cause)) break;
        throw cause;
      }
      transferred += step;
      if (step < buffer.length) break;
    }
    memory.setU32(out, transferred);
    return 0;
  };
  return {
    proc_exit: exit,
    ...guard(
      kernel.host,
      {
        environ_sizes_get: (count: number, size: number) => {
          const block = environment(kernel);
          memory.setU32(count, block.length);
          memory.setU32(
            size,
            block.reduce((sum, entry) => sum + entry.length, 0),
          );
          return 0;
        },
        environ_get: (pointers: number, buffer: number) => {
          let at = buffer >>> 0;
          environment(kernel).forEach((entry, i) => {
            memory.setU32((pointers >>> 0) + i * 4, at);
            memory.bytes(at, entry.length).set(entry);
            at += entry.length;
          });
          return 0;
        },
        fd_close: (fd: number) => kernel.close(fd),
        fd_read: (fd: number, iovs: number, count: number, out: number) =>
          transfer((buffer) => kernel.read(fd, buffer), memory.iovecs(iovs, count), out),
        fd_write: (fd: number, iovs: number, count: number, out: number) =>
          transfer((buffer) => kernel.write(fd, buffer), inOnePiece(memory.iovecs(iovs, count)), out),
        fd_pread: (fd: number, iovs: number, count: number, offset: bigint, out: number) =>
          transfer(
            (buffer, transferred) => kernel.read(fd, buffer, position(offset) + transferred),
            memory.iovecs(iovs, count),
            out,
          ),
        fd_pwrite: (fd: number, iovs: number, count: number, offset: bigint, out: number) =>
          transfer(
            (buffer, transferred) => kernel.write(fd, buffer, position(offset) + transferred),
            memory.iovecs(iovs, count),
            out,
          ),
        fd_seek: (fd: number, offset: bigint, whence: number, out: number) => {
          memory.setI64(out, kernel.seek(fd, Number(offset), whence));
          return 0;
        },
        fd_sync: (fd: number) => {
          kernel.fds.get(fd);
          return 0;
        },
        fd_fdstat_get: (fd: number, out: number) => {
          const { kind } = kernel.fstat(fd);
          memory.bytes(out, FDSTAT.size).fill(0);
          memory.setU8(out + FDSTAT.at.filetype, FILE_TYPE[kind].wasi);
          return 0;
        },
        clock_res_get: (_clock: number, out: number) => {
          memory.setI64(out, 1000);
          return 0;
        },
        clock_time_get: (clock: number, _precision: bigint, out: number) => {
          kernel.chargeHostTime(1);
          const milliseconds = clock === 0 ? kernel.host.now() : kernel.host.monotonic();
          memory.setI64(out, BigInt(Math.round(milliseconds * 1000)) * BigInt(NS_PER_MS / 1000));
          return 0;
        },
        random_get: (pointer: number, length: number) => {
          kernel.random(memory.bytes(pointer, length));
          return 0;
        },
      },
      1,
    ),
  };
}

function position(offset: bigint): number {
  const at = Number(offset);
  if (at < 0 || !Number.isSafeInteger(at)) throw syscallError('EINVAL');
  return at;
}
