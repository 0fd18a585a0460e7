/**
 * Runs many independent programs, each in a fresh sandbox, a few at a time. Results are returned in the order of the
 * programs, each as soon as it and those before it are available. Only a window of programs is in memory, so the input can
 * be a stream of any length.
 */
import { availableParallelism } from 'node:os';
import { type ErrorCode, SandboxError } from '../errors.ts';
import { runtimeOf } from '../runtimes/registry/program-files.ts';
import {
  type BatchOptions,
  type BatchProgram,
  batchOptions,
  batchProgram,
  type PolicyInput,
  parse,
  type SandboxResult,
} from '../schema.ts';
import { createPool, type Pool } from '../worker/pool/pool.ts';
import { createSandbox } from './create-sandbox.ts';

/** Programs in memory per running program. */
const WINDOW_PER_JOB = 16;
/** No program is read while those in memory have this many characters of code, standard input and files. */
const WINDOW_CHARACTERS = 64 * 1024 * 1024;

/** The reason why a program of a batch or a job could not be run. */
export interface BatchError {
  /** Code of the `SandboxError`. */
  readonly code: ErrorCode;
  /** Message of the `SandboxError`. */
  readonly message: string;
}

/** The result of one program of a batch. Either `result` or `error` is present. */
export interface BatchResult {
  /** Position of the program in the batch, starting at 0. */
  readonly index: number;
  /** Id of the program, if it has one. */
  readonly id?: string | number;
  /** Result of the program, even if the program failed. */
  readonly result?: SandboxResult;
  /** Why the program could not be run: the program is invalid, or the host failed. */
  readonly error?: BatchError;
}

/**
 * Runs programs, each in a fresh sandbox. Yields the results in the order of the programs. An invalid program, or a program
 * that the host fails to run, does not affect the other programs. Throws `invalid_argument` if the options are invalid.
 */
export async function* runBatch(
  programs: Iterable<unknown> | AsyncIterable<unknown>,
  options: BatchOptions = {},
): AsyncGenerator<BatchResult, void, undefined> {
  const { jobs = availableParallelism(), signal } = parse(batchOptions, options, 'options');
  const context = { pool: createPool({ maxWorkers: jobs }), policy: options.policy ?? {}, signal };
  await using _ = context.pool;
  const input = new BatchInput(programs, signal);
  const waiting: { readonly size: number; readonly result: Promise<BatchResult> }[] = [];
  let size = 0;
  try {
    for (let index = 0; ; ) {
      const hasRoom = waiting.length < jobs * WINDOW_PER_JOB && size < WINDOW_CHARACTERS;
      const next = hasRoom ? input.next() : undefined;
      const [first] = waiting;
      if (next === undefined && first === undefined) return;
      const event = await Promise.race([next, first?.result].filter((one) => one !== undefined));
      if ('index' in event) {
        size -= waiting.shift()!.size;
        yield event;
      } else {
        const program = input.take(event);
        if (program === undefined) continue;
        const added = {
          size: sizeOf(program.value),
          result: runBatchProgram(program.value, index++, context),
        };
        size += added.size;
        waiting.push(added);
      }
    }
  } finally {
    await input.close();
  }
}

/** Characters of a program that may be invalid. */
function sizeOf(program: unknown): number {
  const { code, stdin, files } = (program ?? {}) as Partial<Record<string, unknown>>;
  const texts = [code, stdin, ...(typeof files === 'object' && files !== null ? Object.values(files) : [])];
  return texts.reduce((sum: number, text) => sum + (typeof text === 'string' ? text.length : 0), 0);
}

/** Reads one program at a time. The input ends early when the signal is aborted. */
class BatchInput {
  readonly #iterator: AsyncIterator<unknown>;
  readonly #aborted: Promise<IteratorResult<unknown>>;
  readonly #listening = new AbortController();
  #next: Promise<IteratorResult<unknown>> | undefined;
  #isReading = false;
  #isDone = false;

  constructor(programs: Iterable<unknown> | AsyncIterable<unknown>, signal: AbortSignal | undefined) {
    this.#iterator = iterate(programs);
    this.#aborted = new Promise((resolve) => {
      const end = () => resolve({ done: true, value: undefined });
      if (signal?.aborted) end();
      else signal?.addEventListener('abort', end, { signal: this.#listening.signal });
    });
  }

  /** The program that is being read; undefined after the last one. */
  next(): Promise<IteratorResult<unknown>> | undefined {
    if (this.#isDone) return undefined;
    this.#next ??= Promise.race([this.#aborted, this.#read()]);
    return this.#next;
  }

  async #read(): Promise<IteratorResult<unknown>> {
    this.#isReading = true;
    try {
      return await this.#iterator.next();
    } finally {
      this.#isReading = false;
    }
  }

  /** Accepts what `next` resolved to. Returns undefined at the end of the input. */
  take(read: IteratorResult<unknown>): { readonly value: unknown } | undefined {
    this.#next = undefined;
    if (!read.done) return read;
    this.#isDone = true;
    return undefined;
  }

  async close(): Promise<void> {
    this.#listening.abort();
    this.#next?.catch(() => {});
    const closed = this.#iterator.return?.().catch(() => {});
    // An iterator that is waiting for input closes when that arrives.
    if (!this.#isReading) await closed;
  }
}

async function* iterate(programs: Iterable<unknown> | AsyncIterable<unknown>): AsyncGenerator<unknown> {
  yield* programs;
}

/** What the programs of a batch share. */
interface BatchContext {
  readonly pool: Pool;
  readonly policy: PolicyInput;
  readonly signal: AbortSignal | undefined;
  /** What a program may request if the policy sets no limit. */
  readonly maximums?: { readonly fuel_budget: number; readonly timeout_seconds: number };
}

/** Returns the program of a batch, or the error that says why it is invalid. */
export function checkBatchProgram(input: unknown): BatchProgram | SandboxError {
  if (input instanceof SandboxError) return input;
  try {
    return parse(batchProgram, input, 'program') as BatchProgram;
  } catch (cause) {
    return cause as SandboxError;
  }
}

/** Runs one program in a fresh sandbox. Never rejects. */
export async function runBatchProgram(
  input: unknown,
  index: number,
  context: BatchContext,
): Promise<BatchResult> {
  const id = (input as Partial<BatchProgram> | null)?.id;
  const facts = { index, ...((typeof id === 'string' || typeof id === 'number') && { id }) };
  try {
    if (input instanceof SandboxError) throw input;
    const { id: _, code, ...call } = parse(batchProgram, input, 'program');
    const { pool, policy, signal, maximums } = context;
    await using sandbox = await createSandbox({ runtime: runtimeOf(call.language), policy, pool });
    const limits = {
      fuel_budget: smaller(call.fuel_budget, policy.fuel_budget ?? maximums?.fuel_budget),
      timeout_seconds: smaller(call.timeout_seconds, policy.timeout_seconds ?? maximums?.timeout_seconds),
    };
    const result = await sandbox.execute(code, { ...call, ...limits, ...(signal && { signal }) });
    return { ...facts, result };
  } catch (cause) {
    const { code, message } =
      cause instanceof SandboxError ? cause : new SandboxError('internal', String(cause), { cause });
    return { ...facts, error: { code, message } };
  }
}

/** A program of a batch may lower the limits of the batch, but not raise them. */
function smaller(own: number | undefined, limit: number | undefined): number | undefined {
  return own === undefined || limit === undefined ? own : Math.min(own, limit);
}
