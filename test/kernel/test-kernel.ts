/** A kernel with real memory and a real volume but without a guest, to test host functions in isolation. */
import { readOnlyTree } from '../../packages/core/src/fs/flat-entries.ts';
import { Volume } from '../../packages/core/src/fs/volume.ts';
import { GuestMemory } from '../../packages/core/src/kernel/guest-memory.ts';
import type { Host } from '../../packages/core/src/kernel/host-services.ts';
import type { HostFunctions } from '../../packages/core/src/kernel/syscall-guard.ts';
import { Kernel } from '../../packages/core/src/kernel/syscalls.ts';
import { wasiFunctions } from '../../packages/core/src/kernel/wasi.ts';
import {
  type EmscriptenGuest,
  emscriptenFunctions,
} from '../../packages/core/src/runtimes/python/syscalls/emscripten-imports.ts';

/** Thrown instead of a trap. */
export class StubTrap {
  constructor(readonly why: string) {}
}

export const MEMORY_BYTES = 2 * 65_536;
/** Where the C library would have its variables for the local time: both are null. */
const [ENVIRON, TZNAME] = [MEMORY_BYTES - 16, MEMORY_BYTES - 8];
const pointerAt = (address: number) => new WebAssembly.Global({ value: 'i32' }, address);
export const QUOTA = { maxBytes: 100_000, maxFiles: 50 };

export interface TestKernel {
  readonly kernel: Kernel;
  readonly memory: GuestMemory;
  readonly hostFunctions: HostFunctions;
  readonly output: { stream: 1 | 2; text: string }[];
  readonly sleeps: number[];
  /** Writes a NUL-terminated string to an address and returns the address. */
  writeText(at: number, value: string): number;
}

/** A kernel with a read-only file at /lib/a.py. */
export function kernelWith(host: Host): Kernel {
  const volume = new Volume(QUOTA, () => host.now());
  const data = new TextEncoder().encode('library');
  volume.mount('/lib', readOnlyTree([{ path: 'a.py', kind: 'file', mode: 0o444, mtimeMs: 0, data }]));
  return new Kernel(volume, host);
}

export function testKernel(): TestKernel {
  const output: { stream: 1 | 2; text: string }[] = [];
  const sleeps: number[] = [];
  const host: Host = {
    now: () => 1_700_000_000_123.5,
    monotonic: () => 5_000.25,
    sleep: (milliseconds) => sleeps.push(milliseconds),
    random: (into) => into.fill(7),
    output: (stream, bytes) => output.push({ stream, text: new TextDecoder().decode(bytes) }),
    result: () => {},
    charge: () => {},
    check: () => {},
    fuelConsumed: 0,
  };
  const kernel = kernelWith(host);
  const memory = new GuestMemory(new WebAssembly.Memory({ initial: 2, maximum: 2 }));
  const guest: EmscriptenGuest = {
    memoryLimit: { maxBytes: MEMORY_BYTES, grow: () => false },
    call: () => 0,
    exports: { environ: pointerAt(ENVIRON), tzname: pointerAt(TZNAME) },
    callTable: (index) => {
      throw new StubTrap(`call of ${index}`);
    },
    exit: (code) => {
      throw new StubTrap(`exit ${code}`);
    },
    abort: (why) => {
      throw new StubTrap(why);
    },
    abortedItself: () => {
      throw new StubTrap('abort');
    },
  };
  const hostFunctions = {
    ...emscriptenFunctions(kernel, memory, guest),
    ...wasiFunctions(kernel, memory, guest.exit),
  };
  const writeText = (at: number, value: string) => {
    memory.writeText(at, new TextEncoder().encode(value).length + 1, value, true);
    return at;
  };
  return { kernel, memory, hostFunctions, output, sleeps, writeText };
}
