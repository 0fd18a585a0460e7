/** A kernel over real memory and a real volume, without a guest: what a door does is all there is to see. */
import { readOnlyTree } from '../../src/fs/tree-codec.ts';
import { Volume } from '../../src/fs/volume.ts';
import { GuestMemory } from '../../src/kernel/guest-memory.ts';
import type { HostFunctions } from '../../src/kernel/syscall-guard.ts';
import { type Host, Kernel } from '../../src/kernel/syscalls.ts';
import { wasiFunctions } from '../../src/kernel/wasi.ts';
import {
  type EmscriptenGuest,
  emscriptenFunctions,
} from '../../src/runtimes/python/syscalls/emscripten-imports.ts';

/** Thrown in place of a trap. */
export class Ended {
  constructor(readonly why: string) {}
}

export const MEMORY_BYTES = 2 * 65_536;
export const QUOTA = { maxBytes: 100_000, maxFiles: 50 };

export interface TestKernel {
  readonly kernel: Kernel;
  readonly memory: GuestMemory;
  readonly hostFunctions: HostFunctions;
  readonly said: { stream: 1 | 2; text: string }[];
  readonly slept: number[];
  /** Puts a NUL-terminated text at an address. */
  text(at: number, value: string): number;
}

export function testKernel(): TestKernel {
  const said: { stream: 1 | 2; text: string }[] = [];
  const slept: number[] = [];
  const world: Host = {
    now: () => 1_700_000_000_123.5,
    monotonic: () => 5_000.25,
    sleep: (milliseconds) => slept.push(milliseconds),
    random: (into) => into.fill(7),
    output: (stream, bytes) => said.push({ stream, text: new TextDecoder().decode(bytes) }),
    check: () => {},
    fuelConsumed: 0,
  };
  const volume = new Volume(QUOTA, () => world.now());
  const data = new TextEncoder().encode('library');
  volume.mount('/lib', readOnlyTree([{ path: 'a.py', kind: 'file', mode: 0o444, mtimeMs: 0, data }]));
  const kernel = new Kernel(volume, world);
  const memory = new GuestMemory(new WebAssembly.Memory({ initial: 2, maximum: 2 }));
  const guest: EmscriptenGuest = {
    maxBytes: MEMORY_BYTES,
    grow: () => false,
    call: () => 0,
    callTable: (index) => {
      throw new Ended(`call of ${index}`);
    },
    exit: (code) => {
      throw new Ended(`exit ${code}`);
    },
    abort: (why) => {
      throw new Ended(why);
    },
  };
  const hostFunctions = {
    ...emscriptenFunctions(kernel, memory, guest),
    ...wasiFunctions(kernel, memory, guest.exit),
  };
  const text = (at: number, value: string) => {
    memory.writeText(at, new TextEncoder().encode(value).length + 1, value, true);
    return at;
  };
  return { kernel, memory, hostFunctions, said, slept, text };
}
