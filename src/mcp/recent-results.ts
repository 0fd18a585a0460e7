/**
 * The outputs and results of recent calls of a tenant, by URI. They are kept encoded, so that what they hold in memory is what
 * is counted: a program can display hundreds of thousands of JSON values in a megabyte of text. The oldest are evicted when
 * there are too many or they are too large together. If servers share a database, it has them as well.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { decodeResult, type EncodedResult, encodeResult } from '../results/encoded-result.ts';
import type { DisplayResult } from '../schema.ts';
import type { CachedValue, CachedValues } from '../stores/postgres/cached-values.ts';

const MAX_VALUES = 164;
/** Bytes of all values of a tenant. Results of a call have at most a few MB. */
const MAX_BYTES = 32 * 1024 * 1024;
const RESULT = /^result:\/\/[^/]*\/(.*)$/;

export const OUTPUT_STREAMS = ['stdout', 'stderr'] as const;
export type OutputStream = (typeof OUTPUT_STREAMS)[number];

/** A result with an id that is unique for the tenant. */
export interface CachedResult {
  readonly id: string;
  readonly uri: string;
  readonly session_id: string;
  readonly result: DisplayResult;
}

const resultUri = (session_id: string, id: string) => `result://${session_id}/${id}`;

export class RecentResults {
  /** JSON text by URI, oldest first. */
  readonly #values = new Map<string, { readonly session_id: string; readonly bytes: Uint8Array }>();
  #bytes = 0;
  #lastId = 0;
  /** What has been added since the last `publish`. */
  #added: CachedValue[] = [];

  /** `shared` stores the outputs and results of the tenant for all servers that share a database. */
  constructor(readonly shared?: CachedValues) {}

  /** Bytes that are kept in memory. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Stores the full text of an output and returns the URI to read it from. */
  addOutput(session_id: string, stream: OutputStream, text: string): string {
    const uri = `output://${randomUUID()}/${stream}`;
    this.#add(uri, session_id, text);
    return uri;
  }

  addResult(session_id: string, result: DisplayResult): CachedResult {
    // Sequential ids would collide with those of other servers.
    const id = this.shared === undefined ? `r${++this.#lastId}` : `r${randomBytes(5).toString('hex')}`;
    const uri = resultUri(session_id, id);
    this.#add(uri, session_id, encodeResult(result));
    return { id, uri, session_id, result };
  }

  #add(key: string, session_id: string, value: string | EncodedResult): void {
    const bytes = Buffer.from(JSON.stringify(value));
    this.#values.set(key, { session_id, bytes });
    this.#bytes += bytes.length;
    for (const [oldest, { bytes: evicted }] of this.#values) {
      if (this.#values.size <= MAX_VALUES && this.#bytes <= MAX_BYTES) break;
      this.#values.delete(oldest);
      this.#bytes -= evicted.length;
    }
    if (this.shared !== undefined) this.#added.push({ key, session_id, value: bytes });
  }

  /** Makes what was added available to other servers. If that fails, this server still has it. */
  async publish(): Promise<void> {
    const values = this.#added;
    this.#added = [];
    if (values.length > 0) await this.shared!.add(values).catch(() => {});
  }

  async #get(uri: string): Promise<unknown> {
    const bytes = this.#values.get(uri)?.bytes ?? (await this.shared?.get(uri));
    return bytes && JSON.parse(Buffer.from(bytes).toString());
  }

  async output(uri: string): Promise<string | undefined> {
    return uri.startsWith('output:') ? ((await this.#get(uri)) as string | undefined) : undefined;
  }

  /** A result of a session; undefined if it does not exist or was evicted. */
  async result(session_id: string, id: string): Promise<CachedResult | undefined> {
    const uri = resultUri(session_id, id);
    const encoded = (await this.#get(uri)) as EncodedResult | undefined;
    return encoded && { id, uri, session_id, result: decodeResult(encoded) };
  }

  /** The ids of the results of a session, latest first. */
  async resultIds(session_id: string): Promise<string[]> {
    const own = [...this.#values].filter(([, value]) => value.session_id === session_id).reverse();
    const keys = (await this.shared?.keys(session_id)) ?? own.map(([key]) => key);
    return keys.flatMap((key) => RESULT.exec(key)?.[1] ?? []);
  }
}
