/**
 * One WebAssembly instance: its memory, its fuel, its calls, and how a call ended. The only file that instantiates a
 * module. A guest is stopped by a trap, never by a JavaScript exception, because guest code could catch the latter.
 */
import { randomFillSync } from 'node:crypto';
import type { Volume } from '../fs/volume.ts';
import { GuestMemory } from '../kernel/guest-memory.ts';
import { isSyscallError } from '../kernel/syscall-error.ts';
import { type Host, Kernel } from '../kernel/syscalls.ts';
import { GuestClock } from './clock.ts';
import { type Linkage, moduleImports, trampolineFor } from './host-imports.ts';
import { PAGE_BYTES } from './image-format.ts';
import {
  type GuestStop,
  GuestStopped,
  LIMIT_NAMES,
  type LimitReason,
  type RunContext,
  UNLIMITED_RUN,
} from './run-limits.ts';
import { seededRandom } from './seeded-random.ts';

/** Instructions between two looks at the clock: about a millisecond of compiled code. */
const SLICE = 2_000_000;
/** What a guest that has been interrupted may still spend on unwinding and on saying where it was. */
export const GRACE = { fuel: 50_000_000, milliseconds: 40 } as const;
/** What a look at a guest that was stopped may cost. */
const LOOK_FUEL = 2_000_000;
/** More than a guest can execute between two looks at its counter; kept back, so that the grace is not exceeded. */
const UNCHECKED_FUEL = 1_000_000;
/** Memory grows in steps of this size: each step costs the engine a fraction of a millisecond, whatever it adds. */
const GROWTH_BYTES = 4 * 1024 * 1024;

/** A prepared and compiled module, with what it takes to link and save it. Can be sent between threads. */
export interface CompiledModule {
  readonly module: WebAssembly.Module;
  readonly minPages: number;
  /** Exports that hold the mutable globals, the part of the state that is not memory. */
  readonly stateGlobals: readonly string[];
}

export type GuestExport = (...args: (number | bigint)[]) => number;

export class Guest implements Host {
  readonly memory: WebAssembly.Memory;
  readonly view: GuestMemory;
  readonly kernel: Kernel;
  readonly maxBytes: number;
  readonly exports: WebAssembly.Exports;
  readonly table: WebAssembly.Table;
  readonly #trap: () => never;
  readonly #fuel: WebAssembly.Global<'i64'>;
  #run = UNLIMITED_RUN;
  /** Fuel handed out since the run began, and the most there will be. */
  #granted = 0;
  #budget = 0;
  /** The most that is ever executed, grace and all; only known once a limit was met. */
  #end = Number.POSITIVE_INFINITY;
  #deadlineMs = Number.POSITIVE_INFINITY;
  #clock: GuestClock;
  #seeded: ((into: Uint8Array) => void) | undefined;
  /** The limit that was met first; from then on the guest lives on its grace. */
  #met: LimitReason | undefined;
  #growthRefused = false;
  #stop: GuestStop | undefined;
  /** The guest has been stopped and is only looked at. */
  #isLookedAt = false;
  /** Calls into the guest that have not returned. */
  #depth = 0;

  constructor(
    readonly compiled: CompiledModule,
    readonly linkage: Linkage<Guest>,
    size: { pages: number; maxPages: number },
    volume: Volume,
  ) {
    this.memory = new WebAssembly.Memory({ initial: size.pages, maximum: size.maxPages });
    this.maxBytes = size.maxPages * PAGE_BYTES;
    this.view = new GuestMemory(this.memory);
    this.kernel = new Kernel(volume, this);
    this.#clock = this.#newClock();
    const hosts = [
      () => this.#onSliceSpent(),
      ...linkage.overrides.map((host) => host.call.bind(null, this)),
    ];
    const gate = new WebAssembly.Instance(trampolineFor(linkage), {
      host: Object.fromEntries(hosts.entries()),
    });
    this.#trap = gate.exports['trap'] as () => never;
    this.exports = new WebAssembly.Instance(compiled.module, this.#imports()).exports;
    this.#fuel = this.exports['fuel'] as WebAssembly.Global<'i64'>;
    this.table = this.exports['__indirect_function_table'] as WebAssembly.Table;
    const slots = this.exports['host'] as WebAssembly.Table;
    hosts.forEach((_, slot) => {
      slots.set(slot, gate.exports[String(slot)]);
    });
  }

  #imports(): WebAssembly.Imports {
    const doors = this.linkage.imports(this);
    const imports: Record<string, Record<string, WebAssembly.ImportValue>> = {};
    for (const { module, name, kind } of moduleImports(this.compiled.module)) {
      imports[module] ??= Object.create(null) as Record<string, WebAssembly.ImportValue>;
      const room = imports[module];
      if (kind === 'memory') room[name] = this.memory;
      else if (kind === 'global') room[name] = new WebAssembly.Global({ value: 'i32', mutable: true }, 0);
      else {
        // Own doors only: what every object inherits is not one.
        const door = Object.hasOwn(doors, module) && Object.hasOwn(doors[module]!, name);
        room[name] = door ? doors[module]![name]! : () => this.#deny(`${module}.${name}`);
      }
    }
    return imports;
  }

  /** Values of the mutable globals as decimal text, by export name. */
  globals(): Record<string, string> {
    const read = (name: string) => String((this.exports[name] as WebAssembly.Global).value);
    return Object.fromEntries(this.compiled.stateGlobals.map((name) => [name, read(name)]));
  }

  setGlobals(values: Readonly<Record<string, string>>): void {
    for (const name of this.compiled.stateGlobals) {
      const global = this.exports[name] as WebAssembly.Global;
      const value = values[name] ?? '0';
      global.value = typeof global.value === 'bigint' ? BigInt(value) : Number(value);
    }
  }

  // ---- runs ----

  /** Sets limits and receivers for the calls that follow. */
  beginRun(run: RunContext): void {
    this.#run = run;
    this.#budget = run.fuelBudget;
    this.#end = Number.POSITIVE_INFINITY;
    this.#deadlineMs = run.deadlineMs;
    // Both follow from the kernel's state, which may still be on its way.
    this.#clock = this.#newClock();
    this.#seeded = undefined;
    this.#met = undefined;
    this.#growthRefused = false;
    this.#stop = undefined;
    this.resetFuel();
  }

  /** Starts the count again: what came before was the runtime's own work. */
  resetFuel(): void {
    this.#granted = Math.min(SLICE, this.#budget);
    this.#fuel.value = BigInt(this.#granted);
  }

  /** The limit this run met, also when the program came to an end by itself afterwards. */
  get limitReached(): LimitReason | undefined {
    // The last instructions before a return are not followed by a look at the counter.
    return this.#met ?? (this.#charged > this.#budget ? 'out_of_fuel' : undefined);
  }

  /** Instructions since `begin`. What was charged and then not allowed to happen does not count. */
  get fuelConsumed(): number {
    return Math.min(this.#charged, this.#end);
  }

  get #charged(): number {
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
      throw new GuestStopped(this.#stop ?? this.#explain(cause));
    } finally {
      this.#depth--;
    }
  }

  /** Ends the guest, from within one of its calls to the host or between calls. */
  stop(stop: GuestStop): never {
    // The first reason stands: what follows is the same end on its way out.
    this.#stop ??= stop;
    if (this.#depth === 0) throw new GuestStopped(this.#stop);
    return this.#trap();
  }

  /**
   * Calls into a guest that has been stopped, to find out where it stood. It was stopped between any two instructions,
   * so a look may go wrong in any way, which makes it undefined. It is not counted, costs next to nothing, and whatever
   * of the program it may set off can neither read nor write anything outside.
   */
  inspect<T>(at: () => T): T | undefined {
    const [stop, fuel] = [this.#stop, this.#fuel.value];
    this.#stop = undefined;
    this.#isLookedAt = true;
    this.#fuel.value = BigInt(LOOK_FUEL);
    try {
      return at();
    } catch (cause) {
      if (cause instanceof GuestStopped || isSyscallError(cause)) return undefined;
      throw cause;
    } finally {
      this.#isLookedAt = false;
      this.#fuel.value = fuel;
      this.#stop = stop;
    }
  }

  exit(code: number): never {
    return this.stop({ reason: 'exit', message: `The program exited with code ${code}`, exitCode: code });
  }

  abort(message: string): never {
    return this.stop({ reason: this.isOutOfMemory ? 'memory_limit' : 'unreachable', message });
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
    try {
      // A 64-bit result would not fit the call this answers.
      return Number(target(...args)) | 0;
    } catch (cause) {
      // The parameters are not those of the function: only ruined memory has such a pointer.
      if (cause instanceof TypeError) return this.abort('a function pointer of another type was called');
      throw cause;
    }
  }

  grow(bytes: number): boolean {
    const size = this.memory.buffer.byteLength;
    if (bytes <= size) return true;
    const wanted = Math.ceil(bytes / GROWTH_BYTES) * GROWTH_BYTES;
    const next = Math.max(bytes, Math.min(wanted, this.maxBytes));
    try {
      this.memory.grow(Math.ceil((next - size) / PAGE_BYTES));
      return true;
    } catch {
      this.#growthRefused = true;
      return false;
    }
  }

  #onSliceSpent(): void {
    if (this.#isLookedAt) this.abort('the look took too long');
    this.check();
    // Waiting for others is not the program's time. In its grace, which is short and ends by the clock, nobody waits.
    if (this.#met === undefined) this.#deadlineMs += this.#run.onSlice?.(this.fuelConsumed) ?? 0;
    // One bulk instruction can cost more than a slice: the debt is paid along with the next.
    if (this.#charged > this.#budget) this.#meet('out_of_fuel');
    else if ((this.#fuel.value as bigint) < 0n) this.#grantSlice();
  }

  #grantSlice(): void {
    const debt = Math.max(0, -Number(this.#fuel.value));
    const fuel = Math.min(SLICE + debt, this.#budget - this.#granted);
    this.#granted += fuel;
    this.#fuel.value = (this.#fuel.value as bigint) + BigInt(fuel);
  }

  /**
   * The first limit that is met interrupts the interpreter and opens a bounded grace, in which it can unwind and show
   * the line it was on. Whoever uses that up, or meets another limit in it, is stopped for good.
   */
  #meet(reason: LimitReason): void {
    if (this.#met !== undefined) this.stop({ reason: this.#met, message: LIMIT_NAMES[this.#met] });
    this.#met = reason;
    const charged = this.#charged;
    this.#end = Math.min(this.#budget, charged) + GRACE.fuel;
    this.#budget = this.#end - UNCHECKED_FUEL;
    // Fuel is a bound by itself, so what a program says about running out of it does not depend on the machine.
    const graceEnds = performance.now() + GRACE.milliseconds;
    this.#deadlineMs = reason === 'out_of_fuel' ? Math.max(this.#deadlineMs, graceEnds) : graceEnds;
    // An instruction that costs more than the grace: it has been charged, but not executed.
    if (charged > this.#budget) this.stop({ reason, message: LIMIT_NAMES[reason] });
    // Before the guest is called, whose code is metered too.
    this.#grantSlice();
    this.linkage.interrupt(this, reason);
  }

  // ---- the world as the kernel sees it ----

  now(): number {
    return this.#clock.now();
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  /** Ends the run for the clock: the next one goes on from here. */
  stopClock(): void {
    this.#clock.stop();
    this.resetFuel();
  }

  #newClock(): GuestClock {
    return new GuestClock(this.kernel, () => this.fuelConsumed, this.#run.deterministic?.startMs);
  }

  check(): void {
    this.#refuseLook();
    if (this.#isCancelled(Atomics.load(this.#run.cancel, 0))) this.#meet('cancelled');
    const now = performance.now();
    this.#run.onTick?.(now, false);
    if (now >= this.#deadlineMs) this.#meet('timeout');
  }

  #refuseLook(): void {
    if (this.#isLookedAt) this.abort('a guest that is looked at can have no effect');
  }

  /** Whoever is out of fuel may still be waiting for something, and can be cancelled; other graces end by the clock. */
  #isCancelled(word: number): boolean {
    const isOpen = this.#met === undefined || this.#met === 'out_of_fuel';
    return isOpen && word === this.#run.cancelValue;
  }

  sleep(milliseconds: number): void {
    this.#refuseLook();
    if (this.#run.deterministic !== undefined) {
      this.check();
      // On a virtual clock the end of the wait is there at once.
      if (!this.#clock.skip(milliseconds)) this.#meet('timeout');
      return;
    }
    const start = performance.now();
    this.#run.onTick?.(start, true);
    // Whoever has been told that its time is up does not get to wait.
    const isDue = this.#met === 'timeout' || this.#met === 'cancelled';
    const end = isDue ? start : Math.min(start + milliseconds, this.#deadlineMs);
    for (let left = end - start; left > 0; left = end - performance.now()) {
      const word = Atomics.load(this.#run.cancel, 0);
      if (this.#isCancelled(word)) break;
      Atomics.wait(this.#run.cancel, 0, word, left);
    }
    this.check();
  }

  random(into: Uint8Array): void {
    const { deterministic } = this.#run;
    if (deterministic === undefined) {
      randomFillSync(into);
      return;
    }
    this.#seeded ??= seededRandom(deterministic.seed, this.kernel.drawnBytes);
    this.#seeded(into);
    this.kernel.drawnBytes += into.length;
  }

  output(stream: 1 | 2, bytes: Uint8Array): void {
    this.#run.output(stream, bytes);
  }

  /** The engine's own traps, told apart by what it throws. */
  #explain(cause: unknown): GuestStop {
    if (cause instanceof RangeError) return { reason: 'stack_overflow', message: cause.message };
    if (isSyscallError(cause))
      return { reason: 'unreachable', message: 'the runtime was led to an address that does not exist' };
    const isTrap = cause instanceof WebAssembly.RuntimeError || cause instanceof WebAssembly.Exception;
    if (!isTrap)
      return { reason: 'internal', message: cause instanceof Error ? cause.message : String(cause) };
    const message = cause instanceof WebAssembly.Exception ? 'an exception was not caught' : cause.message;
    return { reason: this.isOutOfMemory ? 'memory_limit' : 'unreachable', message };
  }

  /** A guest that breaks down after it was refused memory did so for want of it. */
  get isOutOfMemory(): boolean {
    return this.#growthRefused || this.memory.buffer.byteLength >= this.maxBytes;
  }
}
