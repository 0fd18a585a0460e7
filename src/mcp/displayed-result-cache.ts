/**
 * Results that programs of a tenant displayed, by id and URI. The oldest results are evicted when the cache holds too many
 * results or too much text.
 */
import type { DisplayResult } from '../schema.ts';

const MAX_CACHED_RESULTS = 100;
const MAX_CHARS = 32_000_000;

/** A result with an id that is unique for the tenant. */
export interface CachedResult {
  readonly id: string;
  readonly uri: string;
  readonly session_id: string;
  readonly result: DisplayResult;
}

export const resultUri = (session_id: string, id: string) => `result://${session_id}/${id}`;

/** Characters that a result holds in memory. */
const charsOf = ({ text, html, markdown, svg, png, jpeg, latex, json, data, chart }: DisplayResult) =>
  [text, html, markdown, svg, png, jpeg, latex].reduce((sum, form) => sum + (form?.length ?? 0), 0) +
  [json, data, chart].reduce<number>((sum, form) => sum + (JSON.stringify(form)?.length ?? 0), 0);

export class DisplayedResultCache {
  readonly #results = new Map<string, CachedResult & { readonly chars: number }>();
  #chars = 0;
  #lastId = 0;

  /** `newId` returns an id that the tenant has not used; by default r1, r2 and so on. */
  constructor(readonly newId: () => string = () => `r${++this.#lastId}`) {}

  add(session_id: string, result: DisplayResult): CachedResult {
    const id = this.newId();
    const cached = { id, uri: resultUri(session_id, id), session_id, result, chars: charsOf(result) };
    this.#results.set(id, cached);
    this.#chars += cached.chars;
    for (const [oldest, { chars }] of this.#results) {
      if (this.#results.size <= MAX_CACHED_RESULTS && this.#chars <= MAX_CHARS) break;
      this.#results.delete(oldest);
      this.#chars -= chars;
    }
    return cached;
  }

  /** A result of a session; undefined if it does not exist or was evicted. */
  get(session_id: string, id: string): CachedResult | undefined {
    const found = this.#results.get(id);
    return found?.session_id === session_id ? found : undefined;
  }

  /** The ids of the results of a session, latest first. */
  ids(session_id: string): string[] {
    return [...this.#results.values()]
      .filter((one) => one.session_id === session_id)
      .map(({ id }) => id)
      .reverse();
  }
}
