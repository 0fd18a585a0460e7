/**
 * One WebAssembly instance: its memory, its fuel, its calls, and how a call ended. The only file that instantiates a
 * module. A guest is stopped by a trap, never by a JavaScript exception, because guest code could catch the latter.
 */
import { randomFillSync } from 'node:crypto';
import type { Volume } from '../fs/volume.ts';
import type { Doors } from '../kernel/guard.ts';
import { GuestMemory } from '../kernel/memory.ts';
import { Kernel, type World } from '../kernel/syscalls.ts';
import { gateModule, type Signature } from '../wasm/gate.ts';
import { PAGE_BYTES } from './format.ts';

/** Instructions between two looks at the clock: a few milliseconds of compiled code. */
const SLICE = 10_000_000;

/** A prepared and compiled module, with what it takes to link and save it. Can be sent between threads. */
export interface Program {
  readonly module: WebAssembly.Module;
  readonly minPages: number;
  /** Exports that hold the mutable globals, the part of the state that is not memory. */
  readonly stateGlobals: readonly string[];
}

/** Why a guest came to an end before its call returned. */
export type StopReason =
  | 'exit'
  | 'out_of_fuel'
  | 'timeout'
  | 'cancelled'
  | 'memory_limit'
  | 'stack_overflow'
  | 'unreachable'
  | 'denied_call'
  | 'internal';

export interface Stop {
  readonly reason: StopReason;
  readonly message: string;
  /** The exit code the guest asked for; only with `exit`. */
  readonly exitCode?: number;
}

/** The limits and receivers of one run. */
export interface Run {
  readonly fuelBudget: number;
  /** On the clock of performance.now(). */
  readonly deadlineMs: number;
  /** A shared word; `cancelValue` in it cancels this run, and notifying it wakes a sleeping guest. */
  readonly cancel: Int32Array;
  readonly cancelValue: number;
  output(stream: 1 | 2, bytes: Uint8Array): void;
}

export interface HostFunction {
  readonly signature: Signature;
  readonly call: (guest: Guest, ...args: number[]) => number | undefined;
}

/** How a runtime's module is linked. Imports that the doors leave out are denied: calling one ends the guest. */
export interface Linkage {
  doors(guest: Guest): Record<string, Doors>;
  /** In the order of PrepareOptions.hostFunctions. */
  readonly hostFunctions: readonly HostFunction[];
}

export type GuestExport = (...args: (number | bigint)[]) => number;

/** Thrown by `Guest.call` when the guest did not return. The instance is then of no use until its memory is restored. */
export class GuestStopped {
  constructor(readonly stop: Stop) {}
}

/** For guest code of our own, at build time. */
export const UNLIMITED_RUN: Run = {
  fuelBudget: Number.POSITIVE_INFINITY,
  deadlineMs: Number.POSITIVE_INFINITY,
  cancel: new Int32Array(new SharedArrayBuffer(4)),
  cancelValue: -1,
  output: () => {},
};

const gates = new WeakMap<Linkage, WebAssembly.Module>();

function gateFor(linkage: Linkage): WebAssembly.Module {
  let gate = gates.get(linkage);
  if (gate === undefined) {
    const onSliceSpent: Signature = { params: [], results: [] };
    const signatures = [onSliceSpent, ...linkage.hostFunctions.map((host) => host.signature)];
    gate = new WebAssembly.Module(gateModule(signatures) as BufferSource);
    gates.set(linkage, gate);
  }
  return gate;
}

export class Guest implements World {
  readonly memory: WebAssembly.Memory;
  readonly view: GuestMemory;
  readonly kernel: Kernel;
  readonly maxBytes: number;
  readonly exports: WebAssembly.Exports;
  readonly table: WebAssembly.Table;
  readonly #trap: () => never;
  readonly #fuel: WebAssembly.Global<'i64'>;
  #run = UNLIMITED_RUN;
  #granted = 0;
  #stop: Stop | undefined;
  /** Calls into the guest that have not returned. */
  #depth = 0;

  constructor(
    readonly program: Program,
    readonly linkage: Linkage,
    size: { pages: number; maxPages: number },
    volume: Volume,
  ) {
    this.memory = new WebAssembly.Memory({ initial: size.pages, maximum: size.maxPages });
    this.maxBytes = size.maxPages * PAGE_BYTES;
    this.view = new GuestMemory(this.memory);
    this.kernel = new Kernel(volume, this);
    const hosts = [
      () => this.#onSliceSpent(),
      ...linkage.hostFunctions.map((host) => host.call.bind(null, this)),
    ];
    const gate = new WebAssembly.Instance(gateFor(linkage), { host: Object.fromEntries(hosts.entries()) });
    this.#trap = gate.exports['trap'] as () => never;
    this.exports = new WebAssembly.Instance(program.module, this.#imports()).exports;
    this.#fuel = this.exports['fuel'] as WebAssembly.Global<'i64'>;
    this.table = this.exports['__indirect_function_table'] as WebAssembly.Table;
    const slots = this.exports['host'] as WebAssembly.Table;
    hosts.forEach((_, slot) => {
      slots.set(slot, gate.exports[String(slot)]);
    });
  }

  #imports(): WebAssembly.Imports {
    const doors = this.linkage.doors(this);
    const imports: Record<string, Record<string, WebAssembly.ImportValue>> = {};
    for (const { module, name, kind } of WebAssembly.Module.imports(this.program.module)) {
      const room = (imports[module] ??= {});
      if (kind === 'memory') room[name] = this.memory;
      else if (kind === 'global') room[name] = new WebAssembly.Global({ value: 'i32', mutable: true }, 0);
      else room[name] = doors[module]?.[name] ?? (() => this.#deny(`${module}.${name}`));
    }
    return imports;
  }

  // ---- runs ----

  /** Sets limits and receivers for the calls that follow. */
  begin(run: Run): void {
    this.#run = run;
    this.#stop = undefined;
    this.#granted = Math.min(SLICE, run.fuelBudget);
    this.#fuel.value = BigInt(this.#granted);
  }

  /** Instructions since `begin`. */
  get fuelConsumed(): number {
    return this.#granted - Number(this.#fuel.value);
  }

  /** Calls an export; when the guest does not return, throws `GuestStopped` with the reason. */
  call(name: string, ...args: (number | bigint)[]): number {
    this.#depth++;
    try {
      return (this.exports[name] as GuestExport)(...args);
    } catch (cause) {
      // A host function that called back into the guest is itself inside a call: the trap goes on to the outermost.
      if (this.#depth > 1) throw cause;
      throw new GuestStopped(this.#stop ?? explain(cause));
    } finally {
      this.#depth--;
    }
  }

  /** Ends the guest, from within one of its calls to the host or between calls. */
  stop(stop: Stop): never {
    // The first reason stands: what follows is the same end on its way out.
    this.#stop ??= stop;
    if (this.#depth === 0) throw new GuestStopped(this.#stop);
    return this.#trap();
  }

  exit(code: number): never {
    return this.stop({ reason: 'exit', message: `The program exited with code ${code}`, exitCode: code });
  }

  abort(reason: string): never {
    return this.stop({ reason: 'unreachable', message: reason });
  }

  #deny(door: string): never {
    return this.stop({
      reason: 'denied_call',
      message: `The guest called ${door}, which does not exist here`,
    });
  }

  /** Calls an entry of the guest's function table on its behalf. */
  callTable(index: number, ...args: number[]): number {
    const target = index >>> 0 < this.table.length ? this.table.get(index >>> 0) : null;
    if (target === null) return this.abort('a null or unknown function pointer was called');
    return target(...args);
  }

  grow(bytes: number): boolean {
    const missing = Math.ceil((bytes - this.memory.buffer.byteLength) / PAGE_BYTES);
    if (missing <= 0) return true;
    try {
      this.memory.grow(missing);
      return true;
    } catch {
      return false;
    }
  }

  #onSliceSpent(): void {
    this.check();
    const rest = this.#run.fuelBudget - this.#granted;
    if (rest <= 0) this.stop({ reason: 'out_of_fuel', message: 'OutOfFuel' });
    const slice = Math.min(SLICE, rest);
    this.#granted += slice;
    this.#fuel.value = (this.#fuel.value as bigint) + BigInt(slice);
  }

  // ---- the world as the kernel sees it ----

  now(): number {
    return performance.timeOrigin + performance.now();
  }

  monotonic(): number {
    return performance.now();
  }

  check(): void {
    this.#checkCancelled();
    if (performance.now() >= this.#run.deadlineMs) this.stop({ reason: 'timeout', message: 'Timeout' });
  }

  /** Returns the word it looked at, for a wait that must not miss a change after the look. */
  #checkCancelled(): number {
    const word = Atomics.load(this.#run.cancel, 0);
    if (word === this.#run.cancelValue) this.stop({ reason: 'cancelled', message: 'Cancelled' });
    return word;
  }

  sleep(milliseconds: number): void {
    const start = performance.now();
    const end = Math.min(start + milliseconds, this.#run.deadlineMs);
    for (let left = end - start; left > 0; left = end - performance.now()) {
      Atomics.wait(this.#run.cancel, 0, this.#checkCancelled(), left);
    }
    this.check();
  }

  random(into: Uint8Array): void {
    randomFillSync(into);
  }

  output(stream: 1 | 2, bytes: Uint8Array): void {
    this.#run.output(stream, bytes);
  }
}

/** The engine's own traps, told apart by what it throws. */
function explain(cause: unknown): Stop {
  if (cause instanceof RangeError) return { reason: 'stack_overflow', message: cause.message };
  if (cause instanceof WebAssembly.RuntimeError) return { reason: 'unreachable', message: cause.message };
  if (cause instanceof WebAssembly.Exception)
    return { reason: 'unreachable', message: 'an exception was not caught' };
  return { reason: 'internal', message: cause instanceof Error ? cause.message : String(cause) };
}
