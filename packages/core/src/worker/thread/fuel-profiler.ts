/**
 * Records where a program is at the end of slices of fuel. Samples depend on fuel only, so the same program and input give
 * the same profile on every machine. Memory and time are bounded for any program.
 */
import { escapeControls } from '../../analysis/escape-controls.ts';
import type { FrameFuel, ProgramState, RunProfile, StackFrame } from '../../analysis/run-profile-schema.ts';
import { MAX_STACKS_CHARS } from '../../schema/report-limits.ts';
import type { StoppedAt } from '../../schema.ts';
import { isProgram, MAX_FRAMES, type ProgramStateSampler } from './program-state-sampler.ts';

/** Fuel between two samples of a detailed profile. */
export const DETAILED_SAMPLE_FUEL = 100_000;
/**
 * Slices per sample, by the number of slices so far. A sample takes tens of microseconds, because its code and data are no
 * longer in the caches of the processor, and a slice takes a few hundred.
 */
const SLICES_PER_SAMPLE = [
  { below: 8, slices: 1 },
  { below: 64, slices: 8 },
  { below: 256, slices: 16 },
  { below: 1024, slices: 32 },
  { below: Number.POSITIVE_INFINITY, slices: 64 },
];
/** Lines and functions to keep; the fuel of further ones is attributed to none. */
const MAX_ROWS = 2_000;
const MAX_STACKS = 5_000;
/** Number of different frames in all stacks; a stack with a further frame is not kept. */
const MAX_STACK_FRAMES = 10_000;
/** Rows to report, by fuel. */
const REPORTED_ROWS = 200;

interface RecordedStack {
  readonly frames: readonly StackFrame[];
  fuel: number;
}

export class FuelProfiler {
  #lastFuel = 0;
  #slices = 0;
  /** The slice after which the next sample is taken. */
  #nextSample = 1;
  #samples = 0;
  #firstMemoryBytes = 0;
  readonly #lines = new Map<StackFrame, number>();
  readonly #functions = new Map<StackFrame, number>();
  readonly #stacks = new Map<string, RecordedStack>();
  readonly #frameIds = new Map<StackFrame, number>();

  /** With `isDetailed`, complete stacks are recorded. */
  constructor(
    readonly states: ProgramStateSampler,
    readonly isDetailed: boolean,
  ) {}

  /** Called after every slice. A smaller value of `fuelConsumed` than before means that the count was restarted. */
  sample(fuelConsumed: number): void {
    if (fuelConsumed < this.#lastFuel) this.#restart();
    this.#slices++;
    if (this.#slices >= this.#nextSample) this.#addSample(fuelConsumed);
    this.states.record(fuelConsumed);
  }

  /** The state of the program now; undefined if no frame of the program can be found. */
  state(fuelConsumed: number): ProgramState | undefined {
    return this.states.state(fuelConsumed);
  }

  /** The last state that was recorded. */
  get lastState(): ProgramState | undefined {
    return this.states.states.at(-1);
  }

  /** The place of an uncaught exception with variables. */
  placeOf(place: StoppedAt): StoppedAt {
    return this.states.placeOf(place);
  }

  /** The profile, with states if they are asked for; undefined if the run used only one slice. */
  finish(withStates: boolean): RunProfile | undefined {
    if (this.#samples === 0) return undefined;
    return {
      programFile: this.states.program.file,
      samples: this.#samples,
      fuel: this.#lastFuel,
      firstMemoryBytes: this.#firstMemoryBytes,
      lines: largest(this.#lines),
      functions: largest(this.#functions),
      states: withStates ? [...this.states.states] : [],
      ...(this.isDetailed && { stacks: stacksText([...this.#stacks.values()]) }),
    };
  }

  #restart(): void {
    this.#lastFuel = 0;
    this.#slices = 0;
    this.#nextSample = 1;
    this.#samples = 0;
    this.states.restart();
    for (const map of [this.#lines, this.#functions, this.#stacks]) map.clear();
  }

  /** Attributes the fuel since the last sample to the place where the program is now. */
  #addSample(fuelConsumed: number): void {
    const spacing = SLICES_PER_SAMPLE.find(({ below }) => this.#slices < below)!.slices;
    this.#nextSample = this.#slices + (this.isDetailed ? 1 : spacing);
    if (this.#samples++ === 0) this.#firstMemoryBytes = this.states.memoryBytes();
    const fuel = fuelConsumed - this.#lastFuel;
    this.#lastFuel = fuelConsumed;
    const frames = this.states.reader.frames(MAX_FRAMES, !this.isDetailed);
    const program = this.isDetailed ? frames.find(isProgram) : frames.at(-1);
    if (program !== undefined && isProgram(program)) add(this.#lines, program, fuel);
    const leaf = frames[0];
    if (leaf !== undefined && leaf.origin !== 'runtime') add(this.#functions, leaf, fuel);
    if (this.isDetailed) this.#addStack(frames, fuel);
  }

  #addStack(frames: readonly StackFrame[], fuel: number): void {
    // From the program on: the frames that started it belong to the runtime.
    const shown = frames.slice(0, frames.findLastIndex(isProgram) + 1).reverse();
    if (shown.length === 0) return;
    const ids = shown.map((frame) => this.#idOf(frame));
    if (ids.includes(undefined)) return;
    const key = ids.join(' ');
    const known = this.#stacks.get(key);
    if (known !== undefined) known.fuel += fuel;
    else if (this.#stacks.size < MAX_STACKS) this.#stacks.set(key, { frames: shown, fuel });
  }

  #idOf(frame: StackFrame): number | undefined {
    const known = this.#frameIds.get(frame);
    if (known !== undefined || this.#frameIds.size >= MAX_STACK_FRAMES) return known;
    const id = this.#frameIds.size;
    this.#frameIds.set(frame, id);
    return id;
  }
}

/** The stacks with the most fuel as JSON text, which the main thread does not parse. */
function stacksText(stacks: readonly RecordedStack[]): string {
  const frames: string[] = [];
  /** The same place can have several frames. */
  const numberOfText = new Map<string, number>();
  const numberOfFrame = new Map<StackFrame, number>();
  const numberOf = (frame: StackFrame) => {
    let number = numberOfFrame.get(frame);
    if (number === undefined) {
      const { file, function: name, line } = frame;
      const text = JSON.stringify({ file: escapeControls(file), function: escapeControls(name), line });
      number = numberOfText.get(text) ?? frames.push(text) - 1;
      numberOfText.set(text, number);
      numberOfFrame.set(frame, number);
    }
    return number;
  };
  const samples: string[] = [];
  let room = MAX_STACKS_CHARS - JSON.stringify({ frames, samples }).length;
  for (const { frames: stack, fuel } of stacks.toSorted((a, b) => b.fuel - a.fuel)) {
    const known = frames.length;
    const indices = stack.map(numberOf);
    const sample = `{"stack":[${indices.join()}],"fuel":${fuel}}`;
    room -= frames.slice(known).reduce((sum, text) => sum + text.length + 1, sample.length + 1);
    if (room < 0) {
      frames.length = known;
      break;
    }
    samples.push(sample);
  }
  return `{"frames":[${frames.join()}],"samples":[${samples.join()}]}`;
}

function add(rows: Map<StackFrame, number>, frame: StackFrame, fuel: number): void {
  const known = rows.get(frame);
  if (known !== undefined || rows.size < MAX_ROWS) rows.set(frame, (known ?? 0) + fuel);
}

function largest(rows: Map<StackFrame, number>): FrameFuel[] {
  const merged = new Map<string, { frame: StackFrame; fuel: number }>();
  for (const [frame, fuel] of rows) {
    // The same place can have several frames, for example if its code was compiled several times.
    const key = `${frame.line} ${frame.function.length} ${frame.function}${frame.file}`;
    const row = merged.get(key);
    if (row === undefined) merged.set(key, { frame, fuel });
    else row.fuel += fuel;
  }
  return [...merged.values()].sort((a, b) => b.fuel - a.fuel).slice(0, REPORTED_ROWS);
}
