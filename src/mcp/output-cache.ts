/**
 * Whole outputs of calls whose answer shows only head and tail, so that a link can lead to them. The oldest are
 * forgotten when there are too many or too large ones.
 */
import { randomUUID } from 'node:crypto';

const MAX_OUTPUTS = 64;
const MAX_CHARS = 32_000_000;

export const OUTPUT_STREAMS = ['stdout', 'stderr'] as const;
export type OutputStream = (typeof OUTPUT_STREAMS)[number];

export interface CachedOutput {
  readonly uri: string;
  readonly stream: OutputStream;
  readonly session_id: string;
  readonly text: string;
}

export class OutputCache {
  readonly #kept = new Map<string, CachedOutput>();
  #chars = 0;

  /** Keeps a text and returns the address it can be read at. */
  add(session_id: string, stream: OutputStream, text: string): string {
    const uri = `output://${randomUUID()}/${stream}`;
    this.#kept.set(uri, { uri, stream, session_id, text });
    this.#chars += text.length;
    for (const [oldest, { text: old }] of this.#kept) {
      if (this.#kept.size <= MAX_OUTPUTS && this.#chars <= MAX_CHARS) break;
      this.#kept.delete(oldest);
      this.#chars -= old.length;
    }
    return uri;
  }

  get(uri: string): CachedOutput | undefined {
    return this.#kept.get(uri);
  }

  list(): CachedOutput[] {
    return [...this.#kept.values()];
  }
}
