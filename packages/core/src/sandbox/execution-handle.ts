/** The handle that `execute` returns: a promise of the result that also streams output and can be cancelled. */
import { Cancellation } from '../concurrency/cancellation.ts';
import type { SandboxResult } from '../schema.ts';
import { OutputDelivery } from './output-delivery.ts';

/**
 * A call that was started with `execute` or `resume`: a promise of its result that also streams output and can be
 * cancelled.
 */
export interface Execution extends Promise<SandboxResult> {
  /**
   * Standard output as text. The stream ends when the call ends, and throws what the call throws. To receive output while
   * the program is running, access this property before the run starts. Otherwise, or with `onOutput`, the stream yields
   * the whole output at the end. Every iteration starts at the beginning.
   */
  readonly stdout: AsyncIterable<string>;
  /** Standard error as text. The stream behaves like `stdout`. */
  readonly stderr: AsyncIterable<string>;
  /** Stops the program. The result then has the trap reason `cancelled`. */
  cancel(): void;
}

/** What connects an execution with its handle. */
export interface StartedExecution {
  readonly output: OutputDelivery;
  readonly cancellation: Cancellation;
}

/** Starts `run` and returns its promise as a handle. */
export function startExecution(run: (started: StartedExecution) => Promise<SandboxResult>): Execution {
  const output = new OutputDelivery();
  const cancellation = new Cancellation();
  const result = run({ output, cancellation });
  const stream = (name: 'stdout' | 'stderr'): AsyncIterable<string> => {
    const chunks = output.stream(name);
    return { [Symbol.asyncIterator]: () => read(result, name, chunks) };
  };
  return Object.defineProperties(result, {
    stdout: { get: () => stream('stdout') },
    stderr: { get: () => stream('stderr') },
    cancel: { value: () => cancellation.abort() },
  }) as Execution;
}

/** Yields the chunks of one stream or, if the run started before the stream was requested, the whole output at the end. */
async function* read(
  result: Promise<SandboxResult>,
  name: 'stdout' | 'stderr',
  chunks: AsyncIterable<string> | undefined,
): AsyncGenerator<string> {
  // The error is thrown below, to the reader of the stream.
  result.catch(() => {});
  if (chunks !== undefined) yield* chunks;
  const text = (await result)[name];
  if (chunks === undefined && text !== '') yield text;
}
