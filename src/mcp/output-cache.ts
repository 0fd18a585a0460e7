/**
 * Full text of outputs that were truncated in a tool result, addressed by URI. The oldest entries are evicted once the
 * cache holds too many entries or too much text.
 */
import { randomUUID } from 'node:crypto';

const MAX_CACHED_OUTPUTS = 64;
const MAX_CHARS = 32_000_000;

export const OUTPUT_STREAMS = ['stdout', 'stderr'] as const;
export type OutputStream = (typeof OUTPUT_STREAMS)[number];

export class OutputCache {
  readonly #texts = new Map<string, string>();
  #chars = 0;

  /** Stores a text and returns the URI to read it from. */
  add(stream: OutputStream, text: string): string {
    const uri = `output://${randomUUID()}/${stream}`;
    this.#texts.set(uri, text);
    this.#chars += text.length;
    for (const [oldest, { length }] of this.#texts) {
      if (this.#texts.size <= MAX_CACHED_OUTPUTS && this.#chars <= MAX_CHARS) break;
      this.#texts.delete(oldest);
      this.#chars -= length;
    }
    return uri;
  }

  get(uri: string): string | undefined {
    return this.#texts.get(uri);
  }
}
