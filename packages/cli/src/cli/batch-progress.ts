/** Prints the results of a batch on standard output, and its progress on standard error. */

import { type BatchResult, formatCount, formatDuration, formatItems } from '@llm-wasm-sandbox/core/internal';
import { printLines } from './diagnostics.ts';
import { Progress, progressBar } from './progress-line.ts';

/** Prints a line of JSON and waits for the reader. */
export function printJson(value: object): Promise<void> | undefined {
  if (process.stdout.write(`${JSON.stringify(value)}\n`)) return undefined;
  return new Promise((resolve) => process.stdout.once('drain', resolve));
}

type Counted = Pick<BatchResult, 'result'>;
/** The share of the batch that is done, from 0 to 1, after a number of results; undefined if it is unknown. */
type Share = (done: number) => number | undefined;

/** Prints results until they end or the user cancels, and sets the exit code. */
export async function printResults(
  results: (signal: AbortSignal) => AsyncIterable<Counted>,
  share: Share,
): Promise<void> {
  const cancel = new AbortController();
  const stop = () => cancel.abort();
  process.once('SIGINT', stop).once('SIGTERM', stop);
  const progress = new BatchProgress(share);
  for await (const result of results(cancel.signal)) {
    progress.count(result);
    await printJson(result);
  }
  process.off('SIGINT', stop).off('SIGTERM', stop);
  progress.end(cancel.signal.aborted);
  if (cancel.signal.aborted) process.exitCode = 130;
  else if (progress.invalid > 0) process.exitCode = 1;
}

/** Counts results. A line shows them while the batch runs; a summary follows in any case. */
export class BatchProgress {
  readonly #startedAt = performance.now();
  readonly #progress = new Progress(() => this.#line);
  #programs = 0;
  #failed = 0;
  invalid = 0;

  constructor(readonly share: Share) {}

  count({ result }: Counted): void {
    this.#programs++;
    if (result === undefined) this.invalid++;
    else if (!result.success) this.#failed++;
  }

  end(isCancelled: boolean): void {
    const duration = formatDuration(performance.now() - this.#startedAt);
    this.#progress.end();
    printLines(`${isCancelled ? 'Cancelled: ' : ''}${this.#summary}, ${duration}`);
  }

  get #line(): string {
    const share = this.share(this.#programs);
    const bar = share === undefined ? '' : `${progressBar(share)} `;
    const seconds = (performance.now() - this.#startedAt) / 1000;
    return `${bar}${this.#summary}, ${formatCount(Math.round(this.#programs / seconds))} per second`;
  }

  get #summary(): string {
    const invalid = this.invalid > 0 ? `, ${formatCount(this.invalid)} could not be run` : '';
    return `${formatItems(this.#programs, 'program')}, ${formatCount(this.#failed)} failed${invalid}`;
  }
}
