/**
 * Records the state of a program at points of its run that depend on fuel and limits only. States serve to explain why a
 * limit was reached, so short runs have none, and a run has a similar number of them whatever its limits are.
 */

import { MAX_STACK_DEPTH } from '../../analysis/function-identity.ts';
import type { ProgramState, StackFrame } from '../../analysis/run-profile-schema.ts';
import type { MessageLimits, StackReader } from '../../runtimes/runtime.ts';
import type { StoppedAt } from '../../schema.ts';
import { limitVariables, withoutAddresses } from '../protocol/limit-stopped-at.ts';

/** Frames that are visited to find those of the program. */
export const MAX_FRAMES = 200;
/** Frames that are searched often. Between the functions of a program, the runtime has fewer of its own. */
const SEARCHED_FRAMES = 8;
/** Frames of the program in a state. */
const MAX_STATE_FRAMES = 40;
/** Frames of the program whose variables a state has. Calls of a recursive function are compared with each other. */
const STATE_VARIABLE_FRAMES = 10;
/** States until the limit of a run, if they were recorded from its start. */
const STATES_TO_LIMIT = 32;
/** When there are this many states, every other one is dropped and they are recorded half as often. */
const MAX_STATES = 48;
/**
 * States are recorded after this part of the fuel until the limit, or after MAX_START_FUEL. A run that ends before does not
 * pay for them. Recording starts earlier if the limit is below SMALL_LIMIT_FUEL, because there are fewer slices.
 */
const START_SHARE = 1 / 2;
const MAX_START_FUEL = 4_000_000_000;
const SMALL_LIMIT_FUEL = 1_000_000_000;
const SMALL_LIMIT_START_SHARE = 1 / 4;
/** Fuel that a slow or busy machine executes in a millisecond. Converts a time limit into fuel, the same on every machine. */
const FUEL_PER_MS = 250_000;
/** Parts of the source that are searched for the names of variables. */
const MAX_SOURCE_CHARS = 100_000;
const MAX_LINE_CHARS = 1_000;

/** The program of the run, with the file name under which it was compiled. */
interface ProfiledProgram {
  readonly file: string;
  readonly code: string;
}

export const isProgram = ({ origin }: StackFrame) => origin === 'program';

export class ProgramStateSampler {
  #states: ProgramState[] = [];
  #interval = 0;
  #nextFuel = 0;
  #sourceLines: string[] | undefined;
  /** Names by line. */
  readonly #names = new Map<number, ReadonlySet<string>>();

  constructor(
    readonly reader: StackReader,
    readonly program: ProfiledProgram,
    readonly limits: MessageLimits,
    readonly memoryBytes: () => number,
  ) {
    this.restart();
  }

  get states(): readonly ProgramState[] {
    return this.#states;
  }

  get isInProgram(): boolean {
    const frames = this.reader.frames(SEARCHED_FRAMES, true);
    return frames.length === SEARCHED_FRAMES || frames.some(isProgram);
  }

  restart(): void {
    const fuelToLimit = Math.min(this.limits.fuel_budget, this.limits.timeout_seconds * 1000 * FUEL_PER_MS);
    this.#states = [];
    this.#interval = fuelToLimit / STATES_TO_LIMIT;
    const startShare = fuelToLimit < SMALL_LIMIT_FUEL ? SMALL_LIMIT_START_SHARE : START_SHARE;
    this.#nextFuel = Math.min(fuelToLimit * startShare, MAX_START_FUEL);
  }

  /** Records the state if one is due after `fuelConsumed` fuel. */
  record(fuelConsumed: number): void {
    if (fuelConsumed < this.#nextFuel) return;
    const state = this.state(fuelConsumed);
    if (state === undefined) return;
    this.#nextFuel = fuelConsumed + this.#interval;
    this.#states.push(state);
    if (this.#states.length < MAX_STATES) return;
    this.#states = this.#states.filter((_, i) => i % 2 === 1);
    this.#interval *= 2;
  }

  /** The state of the program now; undefined if no frame of the program can be found. */
  state(fuelConsumed: number): ProgramState | undefined {
    const frames = this.reader.frames(MAX_STACK_DEPTH, false);
    const stack = frames.filter(isProgram).slice(0, MAX_STATE_FRAMES);
    const top = stack[0];
    if (top === undefined) return undefined;
    const names = this.#namesAt(top);
    const variables = this.reader.variables((name) => names.has(name), STATE_VARIABLE_FRAMES, MAX_FRAMES);
    return {
      fuel: fuelConsumed,
      depth: frames.length,
      stack,
      variables: variables.map(limitVariables),
      memoryBytes: this.memoryBytes(),
    };
  }

  /** The place of an uncaught exception with variables. */
  placeOf(place: StoppedAt): StoppedAt {
    const names = this.#namesAt(place);
    const variables = this.reader.variablesAfter?.(place, (name) => names.has(name));
    return variables === undefined
      ? place
      : { ...place, variables: withoutAddresses(limitVariables(variables)) };
  }

  /** The names in the line of a frame and in the lines next to it. */
  #namesAt({ file, line }: Pick<StackFrame, 'file' | 'line'>): ReadonlySet<string> {
    const known = this.#names.get(line);
    if (known !== undefined && file === this.program.file) return known;
    this.#sourceLines ??= this.program.code.slice(0, MAX_SOURCE_CHARS).split('\n');
    if (file !== this.program.file || line < 1) return new Set();
    const text = this.#sourceLines.slice(Math.max(0, line - 2), line + 1).join('\n');
    const names = new Set(text.slice(0, MAX_LINE_CHARS).match(/[\p{ID_Start}$_][\p{ID_Continue}$]*/gu));
    this.#names.set(line, names);
    return names;
  }
}
