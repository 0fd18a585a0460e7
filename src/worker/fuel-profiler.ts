/**
 * Records where a program is at every slice of fuel. Samples depend on fuel only, so the same program and input give the
 * same profile on every machine. Memory and time are bounded for any program.
 */
import type { FrameFuel, ProgramState, RunProfile, StackFrame } from '../analysis/run-profile.ts';
import { SLICE_FUEL } from '../engine/guest.ts';
import type { StackReader } from '../runtimes/runtime.ts';
import type { StoppedAt } from '../schema.ts';
import { limitVariables, withoutAddresses } from './stopped-at.ts';

/** Fuel between two samples of a detailed profile. */
export const DETAILED_SAMPLE_FUEL = 100_000;
/** Samples that are taken at every slice; after them only one slice in `SPARSE_SLICES` is sampled. */
const DENSE_SAMPLES = 50;
const SPARSE_SLICES = 10;
/** Frames that a sample visits to find the innermost one of the program. */
const MAX_FRAMES = 200;
/** Frames that are counted for the depth. */
const MAX_DEPTH = 5_000;
/** Frames of the program in a state. */
const MAX_STATE_FRAMES = 40;
/** Frames of the program whose variables a state has. */
const STATE_VARIABLE_FRAMES = 4;
/** States to keep. When there are twice as many, every other one is dropped and they are recorded half as often. */
const MAX_STATES = 24;
/** States that are recorded at every sample; after them at most every other sample has one. */
const DENSE_STATES = 8;
/** Lines and functions to keep; further ones are counted as unknown. */
const MAX_ROWS = 2_000;
const MAX_STACKS = 5_000;
/** Rows to report, by fuel. */
const REPORTED_ROWS = 200;
/** Parts of the source that are searched for the names of variables. */
const MAX_SOURCE_CHARS = 100_000;
const MAX_LINE_CHARS = 1_000;

/** The program of the run, with the file name under which it was compiled. */
export interface ProfiledProgram {
  readonly file: string;
  readonly code: string;
}

export class FuelProfiler {
  #lastFuel = 0;
  #slices = 0;
  #samples = 0;
  #fuel = 0;
  readonly #lines = new Map<StackFrame, number>();
  readonly #functions = new Map<StackFrame, number>();
  readonly #stacks = new Map<string, { frames: StackFrame[]; fuel: number }>();
  readonly #frameIds = new Map<StackFrame, number>();
  #states: ProgramState[] = [];
  #sourceLines: string[] | undefined;
  /** Names by line. */
  readonly #names = new Map<number, ReadonlySet<string>>();
  /** Samples between two states. */
  #stateInterval = 1;

  constructor(
    readonly reader: StackReader,
    readonly program: ProfiledProgram,
    /** Record complete stacks. */
    readonly isDetailed: boolean,
    readonly memoryBytes: () => number,
  ) {}

  get sampleFuel(): number {
    return this.isDetailed ? DETAILED_SAMPLE_FUEL : SLICE_FUEL;
  }

  /** Records a sample after `fuelConsumed` fuel. A smaller value than the last one means that the count was restarted. */
  sample(fuelConsumed: number): void {
    if (fuelConsumed < this.#lastFuel) this.#restart();
    // Long runs are sampled less often, to keep the cost of the profile low.
    if (!this.isDetailed && ++this.#slices % (this.#samples < DENSE_SAMPLES ? 1 : SPARSE_SLICES) !== 0)
      return;
    const fuel = fuelConsumed - this.#lastFuel;
    this.#lastFuel = fuelConsumed;
    this.#fuel += fuel;
    const frames = this.reader.frames(MAX_FRAMES, !this.isDetailed);
    const program = this.isDetailed ? frames.find(isProgram) : frames.at(-1);
    if (program !== undefined && isProgram(program)) add(this.#lines, program, fuel);
    const leaf = frames[0];
    if (leaf !== undefined && leaf.origin !== 'runtime') add(this.#functions, leaf, fuel);
    if (this.isDetailed) this.#addStack(frames, fuel);
    if (this.#samples % this.#stateInterval === 0) this.#addState(fuelConsumed);
    this.#samples++;
  }

  /** The state of the program now; undefined if no frame of the program can be found. */
  state(fuelConsumed: number): ProgramState | undefined {
    const frames = this.reader.frames(MAX_DEPTH, false);
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
    const variables = this.reader.variablesAfter?.(place.function, (name) => names.has(name));
    return variables === undefined
      ? place
      : { ...place, variables: withoutAddresses(limitVariables(variables)) };
  }

  /** The profile, or undefined if the run used only one slice. */
  finish(): RunProfile | undefined {
    if (this.#samples === 0) return undefined;
    const stacks = [...this.#stacks.values()].sort((a, b) => b.fuel - a.fuel);
    return {
      programFile: this.program.file,
      sampleFuel: this.sampleFuel,
      samples: this.#samples,
      fuel: this.#fuel,
      lines: largest(this.#lines),
      functions: largest(this.#functions),
      states: this.#states,
      ...(this.isDetailed && { stacks }),
    };
  }

  #restart(): void {
    this.#lastFuel = 0;
    this.#slices = 0;
    this.#samples = 0;
    this.#fuel = 0;
    this.#stateInterval = 1;
    this.#states = [];
    for (const map of [this.#lines, this.#functions, this.#stacks]) map.clear();
  }

  #addState(fuelConsumed: number): void {
    const state = this.state(fuelConsumed);
    if (state === undefined) return;
    this.#states.push(state);
    if (this.#states.length === DENSE_STATES) this.#stateInterval = Math.max(2, this.#stateInterval);
    if (this.#states.length < 2 * MAX_STATES) return;
    this.#states = this.#states.filter((_, i) => i % 2 === 1);
    this.#stateInterval *= 2;
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

  #addStack(frames: readonly StackFrame[], fuel: number): void {
    // From the program on: the frames that started it belong to the runtime.
    const shown = frames.slice(0, frames.findLastIndex(isProgram) + 1).reverse();
    if (shown.length === 0) return;
    const key = shown.map((frame) => this.#idOf(frame)).join(' ');
    const known = this.#stacks.get(key);
    if (known !== undefined) known.fuel += fuel;
    else if (this.#stacks.size < MAX_STACKS) this.#stacks.set(key, { frames: shown, fuel });
  }

  #idOf(frame: StackFrame): number {
    let id = this.#frameIds.get(frame);
    if (id === undefined) {
      id = this.#frameIds.size;
      this.#frameIds.set(frame, id);
    }
    return id;
  }
}

const isProgram = ({ origin }: StackFrame) => origin === 'program';

function add(rows: Map<StackFrame, number>, frame: StackFrame, fuel: number): void {
  const known = rows.get(frame);
  if (known !== undefined || rows.size < MAX_ROWS) rows.set(frame, (known ?? 0) + fuel);
}

function largest(rows: Map<StackFrame, number>): FrameFuel[] {
  const merged = new Map<string, { frame: StackFrame; fuel: number }>();
  for (const [frame, fuel] of rows) {
    // The same place can have several frames, for example if its code was compiled several times.
    const key = JSON.stringify([frame.file, frame.function, frame.line]);
    const row = merged.get(key);
    if (row === undefined) merged.set(key, { frame, fuel });
    else row.fuel += fuel;
  }
  return [...merged.values()].sort((a, b) => b.fuel - a.fuel).slice(0, REPORTED_ROWS);
}
