/**
 * Progress of work that takes longer than a second: one line on standard error that is overwritten and disappears at
 * the end. It is shown on terminals only. Texts may contain names that a program or another user chose, so they are
 * escaped.
 */

import { escapeControls, formatDuration, formatPercent } from '@llm-wasm-sandbox/core/basics';

const DELAY_MS = 1000;
const INTERVAL_MS = 200;
const CLEAR = '\r\x1b[K';
const BAR_WIDTH = 20;

let isShown = false;

/** Whether standard error is a terminal that can overwrite a line. */
const canOverwrite = () => process.stderr.isTTY === true && process.env['TERM'] !== 'dumb';

/** Removes the line, so that other text can be written. It appears again with the next update. */
export function clearStatusLine(): void {
  if (!isShown) return;
  isShown = false;
  process.stderr.write(CLEAR);
}

export class Progress {
  readonly #startedAt = performance.now();
  readonly #timer: NodeJS.Timeout | undefined;

  /** `text` is called for every update. */
  constructor(public text: () => string) {
    if (!canOverwrite()) return;
    this.#timer = setInterval(() => this.#show(), INTERVAL_MS).unref();
    process.once('exit', clearStatusLine);
  }

  #show(): void {
    const elapsed = performance.now() - this.#startedAt;
    if (elapsed < DELAY_MS) return;
    const line = `${escapeControls(this.text())} (${formatDuration(Math.floor(elapsed / 1000) * 1000)})`;
    isShown = true;
    process.stderr.write(`${CLEAR}${line.slice(0, (process.stderr.columns ?? 80) - 1)}`);
  }

  /** Replaces the text, after a bar if the share of the work that is done is given. Where no line is shown, the text is printed. */
  step(text: string, share?: number): void {
    this.text = () => (share === undefined ? text : `${progressBar(share)} ${text}`);
    if (!canOverwrite()) process.stderr.write(`${escapeControls(text)}\n`);
  }

  end(): void {
    clearInterval(this.#timer);
    process.off('exit', clearStatusLine);
    clearStatusLine();
  }
}

/** Shows a text while work takes longer than a second. */
export async function withProgress<T>(text: string, work: () => Promise<T>): Promise<T> {
  const progress = new Progress(() => text);
  try {
    return await work();
  } finally {
    progress.end();
  }
}

/** `[########            ]  40%`. */
export function progressBar(share: number): string {
  const filled = Math.min(BAR_WIDTH, Math.floor(share * BAR_WIDTH));
  const percent = formatPercent(Math.min(100, Math.floor(share * 100))).padStart(4);
  return `[${'#'.repeat(filled)}${' '.repeat(BAR_WIDTH - filled)}] ${percent}`;
}
