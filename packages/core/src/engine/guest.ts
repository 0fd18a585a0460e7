/**
 * One WebAssembly instance: its memory, its calls and the limits of its runs. The only file that instantiates modules. A
 * guest is stopped by a trap, never by a JavaScript exception, because guest code could catch an exception.
 */
import { randomFillSync } from 'node:crypto';
import type { Volume } from '../fs/volume.ts';
import { GuestMemory } from '../kernel/guest-memory.ts';
import type { Host } from '../kernel/host-services.ts';
import { isSyscallError } from '../kernel/syscall-error.ts';
import type { HostFunctions } from '../kernel/syscall-guard.ts';
import { Kernel } from '../kernel/syscalls.ts';
import type { ForkedProgram } from './child-program.ts';
import { GuestClock, seededRandom } from './clock.ts';
import type { FindSideModule } from './compile-side-module.ts';
import { FuelMeter } from './fuel-meter.ts';
import { hostTableEntries, type Linkage, linkImports, trampolineFor } from './host-imports.ts';
import { PAGE_BYTES } from './image-identity.ts';
import { type LinkableGuest, Linker } from './linker.ts';
import { MemoryLimit } from './memory-limit.ts';
import { ObservationBudget } from './observation-budget.ts';
import {
  GRACE,
  type GuestStop,
  GuestStopped,
  type LimitReason,
  type RunContext,
  UNLIMITED_RUN,
} from './run-context.ts';

/** A prepared and compiled module. It can be sent to other threads. */
export interface CompiledModule {
  readonly module: WebAssembly.Module;
  readonly minPages: number;
  /** Names of the exported mutable globals, which are part of the state of an instance. */
  readonly stateGlobals: readonly string[];
}

/** Fuel of preparing a program that is not charged to it. */
const PREPARATION_FUEL = 5_000_000;

type GuestExport = (...args: (number | bigint)[]) => number;

export class Guest implements Host, LinkableGuest {
  readonly memory: WebAssembly.Memory;
  readonly view: GuestMemory;
  readonly kernel: Kernel;
  readonly memoryLimit: MemoryLimit;
  readonly exports: WebAssembly.Exports;
  readonly table: WebAssembly.Table;
  readonly stack: GuestStack;
  readonly hostFunctions: Readonly<Record<string, HostFunctions>>;
  readonly linker: Linker;
  readonly #trap: () => never;
  readonly #fuel: FuelMeter;
  readonly #observations: ObservationBudget;
  #run = UNLIMITED_RUN;
  #deadlineMs = Number.POSITIVE_INFINITY;
  #clock: GuestClock;
  #seededRandom: ((into: Uint8Array) => void) | undefined;
  /** The first limit that was reached; from then on the guest runs in its grace period. */
  #limitReached: LimitReason | undefined;
  #stop: GuestStop | undefined;
  /** Number of calls into the guest that have not returned. */
  #depth = 0;
  /** Creates a copy of the running process and returns its number; absent if there are no processes. */
  fork: ((create: ForkedProgram<Guest>) => number) | undefined;
  /** The child process that runs while a system call of this guest waits for it. */
  #child: Guest | undefined;

  constructor(
    readonly compiled: CompiledModule,
    readonly linkage: Linkage<Guest>,
    size: { pages: number; maxPages: number },
    volume: Volume,
    /** The side modules that the guest may load. */
    readonly findSideModule: FindSideModule = () => undefined,
  ) {
    this.memory = new WebAssembly.Memory({ initial: size.pages, maximum: size.maxPages });
    this.memoryLimit = new MemoryLimit(this.memory, size.maxPages * PAGE_BYTES);
    this.view = new GuestMemory(this.memory);
    this.kernel = new Kernel(volume, this);
    this.#clock = this.#newClock();
    const overrides = [
      () => this.#onSliceUsed(),
      ...hostTableEntries(linkage).map(({ call }) => call.bind(null, this)),
      (pages: number) => (this.memoryLimit.admits((pages >>> 0) * PAGE_BYTES) ? pages : -1),
    ];
    const trampoline = new WebAssembly.Instance(trampolineFor(linkage), {
      host: Object.fromEntries(overrides.entries()),
    });
    this.#trap = trampoline.exports['trap'] as () => never;
    this.hostFunctions = linkage.imports(this);
    const imports = linkImports(compiled.module, this.memory, this.hostFunctions, (name) => this.deny(name));
    this.exports = this.instantiate(compiled.module, imports);
    this.#fuel = new FuelMeter(this.exports);
    this.#observations = new ObservationBudget(this.exports);
    this.stack = new GuestStack(this.exports);
    this.table = this.exports['__indirect_function_table'] as WebAssembly.Table;
    this.linker = new Linker(this);
    const slots = this.exports['host'] as WebAssembly.Table;
    for (let slot = 0; slot < slots.length; slot++) slots.set(slot, trampoline.exports[String(slot)]);
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

  instantiate(module: WebAssembly.Module, imports: WebAssembly.Imports): WebAssembly.Exports {
    return new WebAssembly.Instance(module, imports).exports;
  }

  /** Charges fuel for work of the host. The guest checks the counter when it continues. */
  charge(fuel: number): void {
    this.#fuel.charge(fuel);
  }

  // ---- runs ----

  /** Sets the limits and callbacks for the following calls. */
  beginRun(run: RunContext): void {
    this.#run = run;
    this.#deadlineMs = run.deadlineMs;
    // Both depend on the kernel state, which may be restored after this call.
    this.#clock = this.#newClock();
    this.#seededRandom = undefined;
    this.#limitReached = undefined;
    this.memoryLimit.beginRun();
    this.#stop = undefined;
    this.#fuel.beginRun(run.fuelBudget, run.sliceFuel);
    this.#observations.beginRun();
  }

  /** Replaces the deadline of the run, after work of the host that does not count against its time limit. */
  setDeadline(deadlineMs: number): void {
    this.#deadlineMs = deadlineMs;
  }

  /**
   * Runs `prepare`, in which the runtime prepares a program. Its fuel is not charged to the program, up to an amount that covers
   * programs of usual length.
   */
  preparing<T>(prepare: () => T): T {
    this.#fuel.charge(-PREPARATION_FUEL);
    const result = prepare();
    if (this.limitReached === undefined) this.#fuel.restart(this.fuelConsumed);
    return result;
  }

  /** The limit that this run reached, even if the program then returned within its grace period. */
  get limitReached(): LimitReason | undefined {
    // The counter is not checked after the last instructions before a return.
    return this.#limitReached ?? (this.#fuel.isExceeded ? 'out_of_fuel' : undefined);
  }

  /** Instructions since `beginRun`, without discounts. An instruction that was charged but not executed does not count. */
  get fuelConsumed(): number {
    return this.#fuel.consumed;
  }

  /** The fuel that the run may still use. */
  get fuelLeft(): number {
    return this.#fuel.left;
  }

  /**
   * Begins a run of another guest that is part of this run: it has what is left of its fuel and time, and continues its clock and
   * its random stream. It displays no results. `patienceMs` is the time after which it is stopped.
   */
  beginChild(child: Guest, patienceMs = Number.POSITIVE_INFINITY): void {
    this.#child = child;
    const nowMs = this.monotonic();
    child.kernel.clockMs = nowMs;
    child.kernel.drawnBytes = this.kernel.drawnBytes;
    const { onLimit: _, ...run } = this.#run;
    child.beginRun({
      ...run,
      fuelBudget: this.fuelLeft,
      deadlineMs: this.#deadlineMs,
      patienceEndsMs: Math.min(run.patienceEndsMs ?? Number.POSITIVE_INFINITY, nowMs + patienceMs),
      onSlice: (fuelConsumed) => {
        const blockedMs = run.onSlice?.(this.fuelConsumed + fuelConsumed) ?? 0;
        this.#deadlineMs += blockedMs;
        return blockedMs;
      },
      result: () => {},
    });
  }

  /** Ends the run of a child. Stops this guest if the host stopped it in the meantime. */
  endChild(child: Guest): void {
    this.#child = undefined;
    const childMs = child.monotonic();
    this.charge(child.fuelConsumed);
    this.kernel.drawnBytes = child.kernel.drawnBytes;
    this.#seededRandom = undefined;
    if (this.isDeterministic) this.#clock.advance(childMs - this.monotonic());
    // A child in its grace period has a deadline of its own. Otherwise it has the one of this run, extended by its waiting.
    if (child.#limitReached === undefined) this.#deadlineMs = child.#deadlineMs;
    if (this.#stop !== undefined) this.stop(this.#stop);
    this.check();
  }

  /** Calls an export. Throws `GuestStopped` if the guest does not return. */
  call(name: string, ...args: (number | bigint)[]): number {
    this.#depth++;
    try {
      return (this.exports[name] as GuestExport)(...args);
    } catch (cause) {
      // In a nested call, made by a host function, the trap propagates to the outermost call.
      if (this.#depth > 1) throw cause;
      throw new GuestStopped(this.#stop ?? this.#classify(cause));
    } finally {
      this.#depth--;
    }
  }

  /** Why the host has stopped this run; undefined if it has not. */
  get stopped(): GuestStop | undefined {
    return this.#stop;
  }

  /** Stops the guest, from within a host function or between calls. */
  stop(stop: GuestStop): never {
    // The first reason counts; later ones are consequences of it.
    this.#stop ??= stop;
    if (this.#depth === 0) throw new GuestStopped(this.#stop);
    return this.#trap();
  }

  #classify(cause: unknown): GuestStop {
    return classifyException(cause, {
      isStackFull: this.stack.isFull,
      isMemoryFull: this.memoryLimit.isFull,
    });
  }

  exit(code: number): never {
    return this.stop({ reason: 'exit', message: `The program exited with code ${code}`, exitCode: code });
  }

  /** Stops the guest because of a fault, which is attributed to the memory limit if memory is full. */
  abort(message: string): never {
    return this.stop({ reason: this.memoryLimit.isFull ? 'memory_limit' : 'unreachable', message });
  }

  /** Stops the guest because its allocator has refused memory to the host. */
  outOfMemory(): never {
    return this.stop({ reason: 'memory_limit', message: 'the guest has no memory for its program' });
  }

  /** Stops the guest because it called abort(). Programs can do that, so it does not prove a lack of memory. */
  abortedItself(): never {
    const before = this.memoryLimit.isReached ? '; the memory limit had been reached earlier' : '';
    return this.stop({ reason: 'unreachable', message: `abort() was called${before}` });
  }

  deny(name: string): never {
    const message = `The guest called ${name}, which the sandbox does not provide`;
    return this.stop({ reason: 'denied_call', message });
  }

  /** Calls an entry of the guest's function table for the guest. */
  callTable(index: number, ...args: number[]): number {
    const target = index >>> 0 < this.table.length ? this.table.get(index >>> 0) : null;
    if (target === null) return this.abort('a null or invalid function pointer was called');
    try {
      // The caller expects 32 bits, but the function may return 64.
      return Number(target(...args)) | 0;
    } catch (cause) {
      // The arguments do not match the function: the pointer comes from corrupted memory.
      if (cause instanceof TypeError)
        return this.abort('a function pointer was called with the wrong signature');
      throw cause;
    }
  }

  #onSliceUsed(): void {
    if (this.#fuel.deferCheck(() => this.#run.isInProgram?.() ?? true)) return;
    this.check();
    this.#observations.onSlice(this.fuelConsumed);
    // Time spent yielding does not count. A guest does not yield in its grace period, which the clock bounds.
    if (this.#limitReached === undefined) this.#deadlineMs += this.#run.onSlice?.(this.fuelConsumed) ?? 0;
    if (this.#fuel.isExceeded) this.#reachLimit('out_of_fuel');
    else if (this.#fuel.isSliceUsed) this.#fuel.grantSlice();
    this.#fuel.clearProbe();
  }

  /** Calls of the observed function in this run of which the host was not informed. */
  get missedObservations(): number {
    return this.#observations.missed;
  }

  /** The probed local of the module if the guest called the host at the probed loop, otherwise 0. */
  get probe(): number {
    return this.#fuel.probe;
  }

  /**
   * The first limit reached interrupts the interpreter and grants a bounded grace period, in which it can unwind and
   * report its location. Using up the grace period, or reaching another limit in it, stops the guest.
   */
  #reachLimit(reason: LimitReason): void {
    if (this.#limitReached !== undefined) this.#stopAtLimit(this.#limitReached);
    this.#limitReached = reason;
    this.#run.onLimit?.(reason);
    this.#fuel.beginGracePeriod();
    // Fuel bounds the grace period too, so what a program reports when it is out of fuel is the same on every machine.
    const graceEnds = performance.now() + GRACE.milliseconds;
    this.#deadlineMs = reason === 'out_of_fuel' ? Math.max(this.#deadlineMs, graceEnds) : graceEnds;
    // The next instruction costs more than the grace period. It has been charged but will not be executed.
    if (this.#fuel.isExceeded) this.#stopAtLimit(reason);
    // Must precede `interrupt`, which may call metered guest code.
    this.#fuel.grantSlice();
    this.linkage.interrupt(this, reason);
  }

  #stopAtLimit(reason: LimitReason): never {
    return this.stop({ reason, message: reason });
  }

  // ---- Host, for the kernel ----

  /** The file tree dates files with the clock of the program of the call, also those that a child writes. */
  now(): number {
    return this.#child?.now() ?? this.#clock.now();
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  /** Saves the clock in the kernel state, from which the next run continues, and restarts the fuel count. */
  saveClock(): void {
    this.#clock.save();
    this.#fuel.restart();
  }

  #newClock(): GuestClock {
    return new GuestClock(this.kernel, () => this.fuelConsumed, this.#run.deterministic?.startMs);
  }

  check(aheadMs = 0): void {
    if (this.#isCancelled(Atomics.load(this.#run.cancel, 0))) this.#reachLimit('cancelled');
    const { patienceEndsMs } = this.#run;
    if (patienceEndsMs !== undefined && this.monotonic() >= patienceEndsMs) this.#stopOverdue();
    const now = performance.now();
    this.#run.onTick?.(now, false);
    if (now + aheadMs >= this.#deadlineMs) this.#reachLimit('timeout');
  }

  #stopOverdue(): never {
    return this.stop({ reason: 'overdue', message: 'nobody waits for the process any longer' });
  }

  /** Out of fuel, a guest may sleep in its grace period and can be cancelled; the clock ends other grace periods. */
  #isCancelled(word: number): boolean {
    const isCancellable = this.#limitReached === undefined || this.#limitReached === 'out_of_fuel';
    return isCancellable && word === this.#run.cancelValue;
  }

  /** Other processes run in the meantime. */
  sleep(milliseconds: number): void {
    const patienceMs = (this.#run.patienceEndsMs ?? Number.POSITIVE_INFINITY) - this.monotonic();
    const waitMs = Math.min(milliseconds, patienceMs);
    const { processes } = this.kernel.call;
    if (processes === undefined) this.pause(waitMs);
    else processes.sleep(waitMs);
    if (milliseconds >= patienceMs) this.#stopOverdue();
  }

  /** Waits while nothing runs. */
  pause(milliseconds: number): void {
    if (this.#run.deterministic !== undefined) {
      this.check();
      // A virtual clock does not wait.
      if (!this.#clock.advance(milliseconds)) this.#reachLimit('timeout');
      return;
    }
    const start = performance.now();
    this.#run.onTick?.(start, true);
    // No more sleep in the grace period after a timeout or a cancellation.
    const isDue = this.#limitReached === 'timeout' || this.#limitReached === 'cancelled';
    const end = isDue ? start : Math.min(start + milliseconds, this.#deadlineMs);
    for (let left = end - start; left > 0; left = end - performance.now()) {
      const word = Atomics.load(this.#run.cancel, 0);
      if (this.#isCancelled(word)) break;
      Atomics.wait(this.#run.cancel, 0, word, left);
    }
    this.check();
  }

  /**
   * Waits until `isDone` returns true; it is called again whenever the shared word changes. Returns early if a limit is
   * reached.
   */
  waitFor(words: Int32Array, index: number, isDone: () => boolean): void {
    this.#run.onTick?.(performance.now(), true);
    while (this.#limitReached === undefined) {
      const seen = Atomics.load(words, index);
      if (isDone()) return;
      const left = this.#deadlineMs - performance.now();
      if (left > 0 && !this.#isCancelled(Atomics.load(this.#run.cancel, 0)))
        Atomics.wait(words, index, seen, left);
      this.check();
    }
  }

  /**
   * Waits like `waitFor`, at most `milliseconds`, for something that is not part of the run: the time limit of the run is
   * extended by the time that passes. A child process waits no longer than its parent waits for it.
   */
  waitOutside(words: Int32Array, index: number, isDone: () => boolean, milliseconds: number): void {
    const start = performance.now();
    this.#run.onTick?.(start, true);
    for (let now = start; this.#limitReached === undefined; now = performance.now()) {
      const seen = Atomics.load(words, index);
      if (isDone() || now - start >= milliseconds) break;
      const patienceMs = (this.#run.patienceEndsMs ?? Number.POSITIVE_INFINITY) - this.monotonic();
      if (!this.#isCancelled(Atomics.load(this.#run.cancel, 0)))
        Atomics.wait(words, index, seen, Math.min(milliseconds - (now - start), Math.max(patienceMs, 1)));
      this.#deadlineMs += performance.now() - now;
      this.check();
    }
  }

  /** Whether clock and random numbers are deterministic instead of those of the machine. */
  get isDeterministic(): boolean {
    return this.#run.deterministic !== undefined;
  }

  random(into: Uint8Array): void {
    const { deterministic } = this.#run;
    if (deterministic === undefined) {
      randomFillSync(into);
      return;
    }
    this.#seededRandom ??= seededRandom(deterministic.seed, this.kernel.drawnBytes);
    this.#seededRandom(into);
    this.kernel.drawnBytes += into.length;
  }

  output(stream: 1 | 2, bytes: Uint8Array): void {
    this.#run.output(stream, bytes);
  }

  result(message: Uint8Array): void {
    this.#run.result(message);
  }
}

/** Texts for the traps of V8, whose own texts differ between versions. */
const TRAP_TEXTS: readonly (readonly [RegExp, string])[] = [
  [/^unreachable/, 'an unreachable instruction was executed'],
  [/^memory|unaligned/, 'memory was accessed out of bounds'],
  [/by zero/, 'an integer was divided by zero'],
  [/^divide result/, 'the result of an integer division is too large'],
  [/^float/, 'a number is too large for an integer'],
  [/function|signature/, 'a function was called that is null or has another signature'],
  [/table|element/, 'a table was accessed out of bounds'],
];
const OTHER_TRAP = 'an instruction failed';

const trapText = (message: string) =>
  TRAP_TEXTS.find(([pattern]) => pattern.test(message))?.[1] ?? OTHER_TRAP;

/** Derives why a guest stopped from an exception that WebAssembly or a host function threw. */
export function classifyException(
  cause: unknown,
  { isStackFull, isMemoryFull }: { isStackFull: boolean; isMemoryFull: boolean },
): GuestStop {
  if (cause instanceof RangeError)
    return { reason: 'stack_overflow', message: 'the stack of the host is full' };
  if (isSyscallError(cause))
    return { reason: 'unreachable', message: 'the runtime accessed an address that does not exist' };
  const isTrap = cause instanceof WebAssembly.RuntimeError || cause instanceof WebAssembly.Exception;
  if (!isTrap) return { reason: 'internal', message: cause instanceof Error ? cause.message : String(cause) };
  if (isStackFull) return { reason: 'stack_overflow', message: 'the stack of the guest is full' };
  const message =
    cause instanceof WebAssembly.Exception ? 'an exception was not caught' : trapText(cause.message);
  return { reason: isMemoryFull ? 'memory_limit' : 'unreachable', message };
}

class GuestStack {
  readonly #pointer: WebAssembly.Global<'i32'> | undefined;
  readonly #limit: WebAssembly.Global<'i32'> | undefined;

  constructor(exports: WebAssembly.Exports) {
    this.#pointer = exports['__stack_pointer'] as WebAssembly.Global<'i32'> | undefined;
    this.#limit = exports['stack_limit'] as WebAssembly.Global<'i32'> | undefined;
  }

  /** Sets the lowest allowed value of the stack pointer, which is part of the state of the guest. */
  setLimit(address: number): void {
    this.#limit!.value = address;
  }

  /** The part below the stack pointer. Between two calls into the guest, its contents do not matter. */
  get unused(): { readonly start: number; readonly end: number } {
    return { start: this.#limit!.value, end: this.#pointer!.value };
  }

  get isFull(): boolean {
    return this.#limit !== undefined && this.#pointer!.value < this.#limit.value;
  }
}
