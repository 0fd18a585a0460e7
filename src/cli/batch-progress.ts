/** Shows the progress of a batch on standard error. */
import { formatCount, formatDuration, formatItems } from '../quantities.ts';
import type { BatchResult } from '../session/run-batch.ts';
import { printLines } from './diagnostics.ts';
import { Progress, progressBar } from './progress-line.ts';

/** Counts results. A line shows them while the batch runs; a summary follows in any case. */
export class BatchProgress {
  readonly #startedAt = performance.now();
  readonly #progress = new Progress(() => this.#line);
  #programs = 0;
  #failed = 0;
  invalid = 0;

  constructor(
    /** The share of the batch that is done, from 0 to 1; undefined if it is unknown. */
    readonly share: () => number | undefined,
  ) {}

  count({ result }: Pick<BatchResult, 'result'>): void {
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
    const share = this.share();
    const bar = share === undefined ? '' : `${progressBar(share)} `;
    const seconds = (performance.now() - this.#startedAt) / 1000;
    return `${bar}${this.#summary}, ${formatCount(Math.round(this.#programs / seconds))} per second`;
  }

  get #summary(): string {
    const invalid = this.invalid > 0 ? `, ${formatCount(this.invalid)} could not be run` : '';
    return `${formatItems(this.#programs, 'program')}, ${formatCount(this.#failed)} failed${invalid}`;
  }
}
