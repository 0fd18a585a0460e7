/**
 * Passes on the output of a program unchanged and waits for the reader. Output beyond a maximum is
 * dropped and counted.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { formatItems, type StreamName } from '@llm-wasm-sandbox/core/internal';
import { printWarning } from './diagnostics.ts';

export type DroppedBytes = Readonly<Record<StreamName, number>>;

const TITLES = { stdout: 'standard output', stderr: 'standard error' } as const;

export class GuestOutput {
  readonly #left: Record<StreamName, number>;
  readonly #dropped: Record<StreamName, number> = { stdout: 0, stderr: 0 };
  #hasReader = true;
  #finish!: () => void;
  readonly #finished = new Promise<void>((resolve) => {
    this.#finish = resolve;
  });

  /** `max` is the number of bytes per stream. */
  constructor(max: number) {
    this.#left = { stdout: max, stderr: max };
  }

  /** Discards the rest without counting it, because its reader is gone. */
  discard(): void {
    this.#hasReader = false;
  }

  async write(stream: StreamName, bytes: Uint8Array): Promise<void> {
    if (!this.#hasReader) return;
    const accepted = bytes.subarray(0, this.#left[stream]);
    this.#left[stream] -= accepted.length;
    this.#dropped[stream] += bytes.length - accepted.length;
    if (accepted.length === 0) return;
    // The callback is also called if the write fails.
    const written = new Promise<void>((resolve) => process[stream].write(accepted, () => resolve()));
    await Promise.race([written, this.#finished]);
  }

  /** Writes the output that the call did not wait for to the buffers of the streams. */
  async finish(): Promise<void> {
    this.#finish();
    // The remaining calls of `write` no longer wait, so all of them are made before this resolves.
    await nextTurn();
  }

  /** The bytes that were dropped. */
  get dropped(): DroppedBytes {
    return this.#dropped;
  }
}

/** Warns if output was dropped. */
export function warnOfDropped(dropped: DroppedBytes): void {
  for (const stream of ['stdout', 'stderr'] as const)
    if (dropped[stream] > 0)
      printWarning(
        `${formatItems(dropped[stream], 'byte')} of ${TITLES[stream]} ${dropped[stream] === 1 ? 'was' : 'were'} dropped. Raise the limit with --max-output.`,
      );
}
