/** Shows the progress of a batch on standard error. */
import { formatCount, formatDuration, formatItems, formatPercent } from '../quantities.ts';
import type { BatchResult } from '../session/batch.ts';

const PROGRESS_INTERVAL_MS = 200;
const BAR_WIDTH = 20;

/** `[########            ]  40%`. */
function progressBar(share: number): string {
  const filled = Math.min(BAR_WIDTH, Math.floor(share * BAR_WIDTH));
  const percent = formatPercent(Math.min(100, Math.floor(share * 100))).padStart(4);
  return `[${'#'.repeat(filled)}${' '.repeat(BAR_WIDTH - filled)}] ${percent}`;
}

/** Counts results. On a terminal, a line on standard error shows them while the batch runs; a summary follows in any case. */
export class BatchProgress {
  readonly #startedAt = performance.now();
  #shownAt = Number.NEGATIVE_INFINITY;
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
    const now = performance.now();
    if (!process.stderr.isTTY || now - this.#shownAt < PROGRESS_INTERVAL_MS) return;
    this.#shownAt = now;
    const share = this.share();
    const bar = share === undefined ? '' : `${progressBar(share)} `;
    const rate = formatCount(Math.round((1000 * this.#programs) / (now - this.#startedAt)));
    process.stderr.write(`\r\x1b[K${bar}${this.#summary}, ${rate} per second`);
  }

  end(isCancelled: boolean): void {
    const duration = formatDuration(performance.now() - this.#startedAt);
    const start = process.stderr.isTTY ? '\r\x1b[K' : '';
    process.stderr.write(`${start}${isCancelled ? 'Cancelled: ' : ''}${this.#summary}, ${duration}\n`);
  }

  get #summary(): string {
    const invalid = this.invalid > 0 ? `, ${formatCount(this.invalid)} could not be run` : '';
    return `${formatItems(this.#programs, 'program')}, ${formatCount(this.#failed)} failed${invalid}`;
  }
}
