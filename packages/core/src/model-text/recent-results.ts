/**
 * The outputs and results of recent calls of a tenant, by URI. They are kept encoded: a program can display hundreds of
 * thousands of JSON values in a megabyte of text.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { decodeResult, type EncodedResult, encodeResult } from '../results/encoded-result.ts';
import type { DisplayResult } from '../schema.ts';
import type { ExpiringValue, ExpiringValues } from '../stores/coordination.ts';
import { MemoryValues } from '../stores/memory-coordination.ts';

const RESULT = /^result:\/\/[^/]*\/(.*)$/;

export const OUTPUT_STREAMS = ['stdout', 'stderr'] as const;
type OutputStream = (typeof OUTPUT_STREAMS)[number];

/** A result with an id that is unique for the tenant. */
export interface CachedResult {
  readonly id: string;
  readonly uri: string;
  readonly session_id: string;
  readonly result: DisplayResult;
}

const resultUri = (session_id: string, id: string) => `result://${session_id}/${id}`;

export class RecentResults {
  #lastId = 0;
  /** What has been added since the last `publish`. */
  #added: ExpiringValue[] = [];

  /** `isShared`: other servers add results to these values, so ids are random. */
  constructor(
    readonly values: ExpiringValues = new MemoryValues(),
    readonly isShared = false,
  ) {}

  /** Bytes that are kept in memory. */
  get bytes(): number {
    return this.values.bytes;
  }

  /** Stores the full text of an output and returns the URI to read it from. */
  addOutput(session_id: string, stream: OutputStream, text: string): string {
    const uri = `output://${randomUUID()}/${stream}`;
    this.#add(uri, session_id, text);
    return uri;
  }

  addResult(session_id: string, result: DisplayResult): CachedResult {
    const id = this.isShared ? `r${randomBytes(5).toString('hex')}` : `r${++this.#lastId}`;
    const uri = resultUri(session_id, id);
    this.#add(uri, session_id, encodeResult(result));
    return { id, uri, session_id, result };
  }

  #add(key: string, session_id: string, value: string | EncodedResult): void {
    this.#added.push({ key, session_id, value: Buffer.from(JSON.stringify(value)) });
  }

  /** Makes what was added available. If other servers cannot be reached, this server still has it. */
  async publish(): Promise<void> {
    const values = this.#added;
    this.#added = [];
    if (values.length > 0) await this.values.add(values).catch(() => {});
  }

  async #get(uri: string): Promise<unknown> {
    const bytes = await this.values.get(uri);
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
    const keys = await this.values.keys(session_id);
    return keys.flatMap((key) => RESULT.exec(key)?.[1] ?? []);
  }
}
