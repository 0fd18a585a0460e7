/** Small records that protocols store beside sessions, as JSON. A damaged record counts as missing. */

import { nextTurn, parseLimitedJson, type SessionBlobs } from '@llm-wasm-sandbox/core/internal';
import type { z } from 'zod';
import { encodedJson } from './rest-call.ts';

const LIMITS = { depth: 8, members: 1000, literalChars: 64 };

export class Records<S extends z.ZodType> {
  constructor(
    readonly schema: S,
    readonly maxBytes: number,
    /** The beginning of their names in the store. */
    readonly prefix = '',
  ) {}

  async read(blobs: SessionBlobs, id: string): Promise<z.output<S> | undefined> {
    const bytes = await blobs.read(this.prefix + id, this.maxBytes);
    if (bytes === undefined) return undefined;
    try {
      return this.schema.safeParse(parseLimitedJson(bytes, LIMITS)).data;
    } catch {
      return undefined;
    }
  }

  async write(blobs: SessionBlobs, id: string, record: z.output<S>): Promise<void> {
    await blobs.write(this.prefix + id, await encodedJson(record, nextTurn));
  }
}
