/**
 * The outputs and results of recent calls of a tenant. They are kept in memory and, if servers share a database, stored
 * there as well, so that any server returns them.
 */
import { randomBytes } from 'node:crypto';
import type { DisplayResult } from '../schema.ts';
import type { CachedValue, CachedValues } from '../stores/postgres/cached-values.ts';
import { type CachedResult, DisplayedResultCache, resultUri } from './displayed-result-cache.ts';
import { OutputCache, type OutputStream } from './output-cache.ts';

const RESULT = /^result:\/\/[^/]*\/(.*)$/;

export class RecentResults {
  readonly #outputs = new OutputCache();
  readonly #results: DisplayedResultCache;
  /** What has been added since the last `publish`. */
  #added: CachedValue[] = [];

  /** `shared` stores the outputs and results of the tenant for all servers that share a database. */
  constructor(readonly shared: CachedValues | undefined) {
    // Sequential ids would collide with those of other servers.
    this.#results = shared
      ? new DisplayedResultCache(() => `r${randomBytes(5).toString('hex')}`)
      : new DisplayedResultCache();
  }

  /** Stores the full text of an output and returns the URI to read it from. */
  addOutput(session_id: string, stream: OutputStream, text: string): string {
    const uri = this.#outputs.add(stream, text);
    this.#added.push({ key: uri, session_id, value: text });
    return uri;
  }

  addResult(session_id: string, result: DisplayResult): CachedResult {
    const added = this.#results.add(session_id, result);
    this.#added.push({ key: added.uri, session_id, value: result });
    return added;
  }

  /** Makes what was added available to other servers. If that fails, this server still has it. */
  async publish(): Promise<void> {
    const values = this.#added;
    this.#added = [];
    if (values.length > 0) await this.shared?.add(values).catch(() => {});
  }

  async output(uri: string): Promise<string | undefined> {
    return this.#outputs.get(uri) ?? ((await this.shared?.get(uri)) as string | undefined);
  }

  /** A result of a session; undefined if it does not exist or was evicted. */
  async result(session_id: string, id: string): Promise<CachedResult | undefined> {
    const found = this.#results.get(session_id, id);
    if (found !== undefined || this.shared === undefined) return found;
    const uri = resultUri(session_id, id);
    const result = (await this.shared.get(uri)) as DisplayResult | undefined;
    return result && { id, uri, session_id, result };
  }

  /** The ids of the results of a session, latest first. */
  async resultIds(session_id: string): Promise<string[]> {
    if (this.shared === undefined) return this.#results.ids(session_id);
    const keys = await this.shared.keys(session_id);
    return keys.flatMap((key) => RESULT.exec(key)?.[1] ?? []);
  }
}
