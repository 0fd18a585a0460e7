/**
 * The variables of functions at the moment they create an error. The engine discards the frames of an uncaught exception
 * before the host sees it, so they are read when the engine stores the stack trace in the error. Nothing is written to
 * the guest. States are found by the address of the error. A later error may have the same address: it replaces the state,
 * and if the host was not informed of a later error, all earlier states are invalid.
 */
import type { Guest } from '../../../engine/guest.ts';
import { isSyscallError } from '../../../kernel/syscall-error.ts';
import type { Handles } from '../../runtime.ts';
import { CLASS, OBJECT, TAG } from './quickjs-layout.ts';
import { type ErrorState, JavaScriptStackReader, type TracePlace } from './stack-reader.ts';

/** States that are stored; the oldest is dropped. */
const MAX_STATES = 64;

export class ErrorVariables {
  readonly #guest: Guest;
  readonly #handles: Handles;
  /** The program of the run. Only its frames have a state. */
  readonly #file: string;
  #reader: JavaScriptStackReader | undefined;
  readonly #states = new Map<number, ErrorState>();
  #uncaught: ErrorState | undefined;
  /** Errors of which the host had not been informed when the states were read. */
  #missed = 0;

  constructor(guest: Guest, handles: Handles, file: string) {
    this.#guest = guest;
    this.#handles = handles;
    this.#file = file;
  }

  /** Reads the variables of the frame that creates the error. `value` is the error as the engine represents it. */
  onBacktrace(value: bigint): void {
    if (Number(value >> 32n) !== TAG.object) return;
    const error = Number(BigInt.asUintN(32, value));
    if (!this.#isNew(error)) return;
    this.#dropInvalid();
    this.#states.delete(error);
    this.#reader ??= new JavaScriptStackReader(this.#guest, this.#handles);
    const state = this.#reader.errorState(this.#file, error);
    if (state === undefined) return;
    this.#states.set(error, state);
    if (this.#states.size > MAX_STATES) this.#states.delete(this.#states.keys().next().value!);
  }

  /** The engine also builds a stack trace for an error that is thrown again, but does not store it. */
  #isNew(error: number): boolean {
    const { view } = this.#guest;
    try {
      return (
        view.u16(error + OBJECT.class) === CLASS.error && view.i32(error + OBJECT.data + 4) === TAG.undefined
      );
    } catch (cause) {
      if (isSyscallError(cause)) return false;
      throw cause;
    }
  }

  #dropInvalid(): void {
    if (this.#missed === this.#guest.missedObservations) return;
    this.#states.clear();
    this.#missed = this.#guest.missedObservations;
  }

  /** The error ends the program. */
  setUncaught(error: number): void {
    this.#dropInvalid();
    this.#uncaught = this.#states.get(error);
  }

  /** The variables where the uncaught error was created; undefined if they are unknown or belong to another place. */
  uncaughtAt({ file, line, function: name }: TracePlace): ErrorState | undefined {
    const state = this.#uncaught;
    return state?.file === file && state.line === line && state.function === name ? state : undefined;
  }
}

const statesByGuest = new WeakMap<object, ErrorVariables>();

export function trackErrorVariables(guest: Guest, handles: Handles, file: string): ErrorVariables {
  const states = new ErrorVariables(guest, handles, file);
  statesByGuest.set(guest, states);
  return states;
}

/** The states of the running program, or undefined during boot. */
export const errorVariablesOf = (guest: object): ErrorVariables | undefined => statesByGuest.get(guest);
