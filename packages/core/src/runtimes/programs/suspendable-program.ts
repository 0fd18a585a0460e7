/**
 * Programs that are built with Asyncify can leave their stack, which is saved in their memory: to wait while other processes run, and
 * to be copied, as fork does. The copy and the original continue where they were: the parent gets the number of the child,
 * the child gets 0.
 */
import type { ChildProgram, Suspension } from '../../engine/child-program.ts';
import { type CompiledModule, Guest } from '../../engine/guest.ts';
import { resetToImage } from '../../engine/image.ts';
import { PAGE_BYTES } from '../../engine/image-identity.ts';
import { dropMemory, type MemoryAccount } from '../../engine/memory-account.ts';
import { MemoryCopy } from '../../engine/memory-copy.ts';
import { Volume } from '../../fs/volume.ts';
import { WASI_ERRNO } from '../../kernel/errno.ts';
import { isSyscallError, syscallError } from '../../kernel/syscall-error.ts';
import type { HostFunction } from '../../kernel/syscall-guard.ts';
import type { PreparedProgram } from './program-files.ts';

/** Bytes that are copied for one unit of fuel, as for bulk operations of guests. */
export const BYTES_PER_FUEL = 8;
/** The process table replaces it. */
const NO_FILES = new Volume({ maxBytes: 0, maxFiles: 0 }, () => 0);

/** Guests that a call keeps for its next programs, and the memory that each may have. It is not counted. */
const MAX_IDLE_GUESTS = 4;
const MAX_IDLE_BYTES = 8 * 1024 * 1024;
/** A kept guest may have so much more memory than its next program needs. */
const MAX_EXCESS_BYTES = 4 * 1024 * 1024;
const idleGuests = new WeakMap<MemoryAccount, Guest[]>();
const sizeOf = ({ memory }: Guest) => memory.buffer.byteLength;

const suspendable = new WeakMap<CompiledModule, boolean>();

/** Whether a program can leave its stack. */
export function isSuspendable(compiled: CompiledModule): boolean {
  let found = suspendable.get(compiled);
  if (found === undefined) {
    const exports = WebAssembly.Module.exports(compiled.module);
    found = exports.some(({ name }) => name === 'asyncify_start_unwind');
    suspendable.set(compiled, found);
  }
  return found;
}

/** The export that a program runs. */
interface ProgramCall {
  readonly name: string;
  readonly args: readonly number[];
}

/** A stack that was left: why, where it is saved, and what the call returns when the stack is back. */
interface LeftStack {
  readonly reason: 'fork' | 'wait';
  readonly address: number;
  readonly result?: number;
}

const leftStacks = new WeakMap<Guest, LeftStack>();

/** An import in which a program leaves its stack. It is called twice: to leave the stack, and when the stack is back. */
export function leaveStack(guest: Guest, reason: LeftStack['reason']): HostFunction {
  return (address: number) => {
    const result = leftStacks.get(guest)?.result;
    if (result === undefined) {
      leftStacks.set(guest, { reason, address });
      guest.call('asyncify_start_unwind', address);
      return 0;
    }
    leftStacks.delete(guest);
    guest.call('asyncify_stop_rewind');
    return result;
  };
}

/** Prepares a guest to continue with its saved stack. */
function rewind(guest: Guest, address: number, result: number): void {
  leftStacks.set(guest, { reason: 'wait', address, result });
  guest.call('asyncify_start_rewind', address);
}

/** Calls an export. Returns its result, or where the stack is saved if the program waits. */
function callUntilWait(
  guest: Guest,
  entry: ProgramCall,
): { readonly result: number } | { readonly address: number } {
  for (;;) {
    const result = guest.call(entry.name, ...entry.args);
    const left = leftStacks.get(guest);
    if (left === undefined) return { result };
    guest.call('asyncify_stop_unwind');
    leftStacks.delete(guest);
    const { reason, address } = left;
    if (reason === 'wait') return { address };
    rewind(guest, address, fork(guest, entry, address));
  }
}

/** Calls an export of the program of a call, which never leaves its stack to wait: other processes run inside of it. */
export function callForking(guest: Guest, name: string, args: readonly number[]): number {
  const entry = { name, args };
  for (;;) {
    const ended = callUntilWait(guest, entry);
    if ('result' in ended) return ended.result;
    rewind(guest, ended.address, 0);
  }
}

/** Returns the number of the child or a negative errno. */
function fork(guest: Guest, entry: ProgramCall, address: number): number {
  try {
    if (guest.fork === undefined) throw syscallError('ENOSYS');
    return guest.fork((account, earlier) => {
      const copy = MemoryCopy.of(guest.memory, account, earlier);
      const program = new SuspendableProgram(guest.compiled, guest.linkage, account, entry);
      program.stopAt(guest, address);
      return { program, copy };
    });
  } catch (cause) {
    if (isSyscallError(cause)) return -WASI_ERRNO[cause.code];
    if (cause instanceof RangeError) return -WASI_ERRNO.ENOMEM;
    throw cause;
  }
}

/** A C program as a process. It begins in a guest, or as a copy of another one. */
export class SuspendableProgram implements ChildProgram<Guest> {
  guest: Guest | undefined;
  readonly suspension?: Suspension<Guest>;
  readonly #entry: ProgramCall | ((guest: Guest) => ProgramCall);
  #stack: { readonly address: number; readonly globals: Record<string, string> } | undefined;
  #begun: ProgramCall | undefined;

  constructor(
    readonly compiled: CompiledModule,
    readonly linkage: Guest['linkage'],
    readonly account: MemoryAccount,
    entry: ProgramCall | ((guest: Guest) => ProgramCall),
  ) {
    this.#entry = entry;
    if (isSuspendable(compiled))
      this.suspension = { leave: () => this.release(), enter: (copy) => this.#enter(copy) };
  }

  /** Guests of a program take as much as its memory at the start. */
  get startFuel(): number {
    return (this.compiled.minPages * PAGE_BYTES) / BYTES_PER_FUEL;
  }

  /** The program continues from a stack that was left, with the values that its guest has now. */
  stopAt(guest: Guest, address: number): void {
    this.#stack = { address, globals: guest.globals() };
  }

  run(signal: number): number | undefined {
    const guest = this.guest!;
    this.#begun ??= typeof this.#entry === 'function' ? this.#entry(guest) : this.#entry;
    if (this.#stack !== undefined) rewind(guest, this.#stack.address, signal);
    const ended = callUntilWait(guest, this.#begun);
    if ('result' in ended) return ended.result;
    this.stopAt(guest, ended.address);
    return undefined;
  }

  release(): void {
    if (this.guest !== undefined) keepIdle(this.guest, this.account);
    this.guest = undefined;
  }

  #enter(copy: MemoryCopy): Guest {
    const guest = guestFor(this, copy.byteLength, this.account);
    copy.writeTo(guest.memory);
    guest.setGlobals(this.#stack!.globals);
    this.guest = guest;
    return guest;
  }
}

/** A guest whose memory and globals are to be written. Fails with ENOMEM. */
function guestFor(
  { compiled, linkage }: Pick<Guest, 'compiled' | 'linkage'>,
  bytes: number,
  account: MemoryAccount,
): Guest {
  const idle = idleGuests.get(account) ?? [];
  const at = idle.findIndex(
    (guest) => guest.compiled === compiled && sizeOf(guest) <= bytes + MAX_EXCESS_BYTES,
  );
  const [found] = at < 0 ? [] : idle.splice(at, 1);
  if (!account.admits(Math.max(bytes, found === undefined ? 0 : sizeOf(found)))) {
    if (found !== undefined) dropMemory(found.memory);
    throw syscallError('ENOMEM');
  }
  if (found === undefined) {
    const maxPages = Math.floor(account.maxBytes / PAGE_BYTES);
    return new Guest(compiled, linkage, { pages: bytes / PAGE_BYTES, maxPages }, NO_FILES);
  }
  if (sizeOf(found) < bytes) found.memory.grow((bytes - sizeOf(found)) / PAGE_BYTES);
  leftStacks.delete(found);
  return found;
}

/** A guest in the state of an image. */
export function guestFromImage(
  { compiled, image }: PreparedProgram,
  linkage: Guest['linkage'],
  account: MemoryAccount,
): Guest {
  const guest = guestFor({ compiled, linkage }, image.header.pages * PAGE_BYTES, account);
  resetToImage(guest, image);
  return guest;
}

/** Keeps a guest for the next program of the call. */
function keepIdle(guest: Guest, account: MemoryAccount): void {
  const idle = idleGuests.get(account) ?? [];
  idleGuests.set(account, idle);
  if (sizeOf(guest) > MAX_IDLE_BYTES) dropMemory(guest.memory);
  else idle.push(guest);
  if (idle.length > MAX_IDLE_GUESTS) dropMemory(idle.shift()!.memory);
}

/** Drops the guests that a call has kept. */
export function dropIdleGuests(account: MemoryAccount): void {
  for (const { memory } of idleGuests.get(account) ?? []) dropMemory(memory);
  idleGuests.delete(account);
}
