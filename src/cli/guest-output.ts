/**
 * Passes on the output of a program unchanged and waits for the reader. Output beyond a maximum is
 * dropped and counted.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';

type StreamName = 'stdout' | 'stderr';

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

  /** Says what was dropped; empty if nothing was. */
  get note(): string {
    return droppedNote(this.#dropped);
  }
}

export function droppedNote(dropped: Record<StreamName, number>): string {
  return (['stdout', 'stderr'] as const)
    .filter((stream) => dropped[stream] > 0)
    .map((stream) => {
      const fact = `${dropped[stream]} bytes of ${TITLES[stream]} were dropped`;
      return `llm-wasm-sandbox: ${fact}. Raise the limit with --max-output.\n`;
    })
    .join('');
}
