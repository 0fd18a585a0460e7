/**
 * Objects in the tables `objects` and `chunks`, shared by all sessions of a tenant. An object is inserted in the same
 * transaction as the first reference to it, so a committed object without a reference is garbage.
 */
import { SandboxError } from '../../errors.ts';
import { formatCount, formatItems } from '../../quantities.ts';
import { digestInSlices } from '../format/content-digest.ts';
import {
  MissingObjectError,
  type ObjectKind,
  type ObjectRef,
  type ObjectSource,
  objectName,
} from '../format/object-ref.ts';
import { damaged } from '../format/stored-json.ts';
import type { Database, Queryable } from './database.ts';

/** Size of a chunk. Larger values need more memory on both sides of the connection. */
const CHUNK_BYTES = 1024 * 1024;
/** Maximum bytes of the objects that one query reads or writes, unless a single object is larger. */
const BATCH_BYTES = 8 * 1024 * 1024;

interface Wanted {
  readonly name: string;
  readonly ref: ObjectRef;
  resolve(bytes: Promise<Uint8Array>): void;
}

/** Reads objects in one transaction. Objects that are requested at the same time are read with one query. */
export class ObjectRows implements ObjectSource {
  readonly location = 'objects';
  #wanted: Wanted[] = [];
  #reading: Promise<void> | undefined;

  constructor(
    readonly database: Database,
    readonly client: Queryable,
    readonly tenant: string,
  ) {}

  read(kind: ObjectKind, ref: ObjectRef): Promise<Uint8Array> {
    return new Promise((resolve) => {
      this.#wanted.push({ name: objectName(kind, ref), ref, resolve });
      this.#reading ??= Promise.resolve().then(() => this.#readAll());
    });
  }

  async #readAll(): Promise<void> {
    while (this.#wanted.length > 0) {
      const batch = this.#nextBatch();
      const found = this.#fetch(batch.map(({ name }) => name));
      // A failed query rejects every object of the batch.
      await found.catch(() => {});
      for (const { name, ref, resolve } of batch)
        resolve(found.then((chunks) => joinChunks(name, ref, chunks.get(name))));
    }
    this.#reading = undefined;
  }

  #nextBatch(): Wanted[] {
    let bytes = 0;
    let count = 0;
    for (const { ref } of this.#wanted) {
      bytes += ref.bytes;
      if (count > 0 && bytes > BATCH_BYTES) break;
      count++;
    }
    return this.#wanted.splice(0, count);
  }

  async #fetch(names: readonly string[]): Promise<Map<string, Uint8Array[]>> {
    const { rows } = await this.client.query(
      `SELECT o.name, c.data FROM ${this.database.table('objects')} o
       LEFT JOIN ${this.database.table('chunks')} c USING (tenant, name)
       WHERE o.tenant = $1 AND o.name = ANY($2) ORDER BY o.name, c.position`,
      [this.tenant, [...new Set(names)]],
    );
    const found = new Map<string, Uint8Array[]>();
    for (const { name, data } of rows as { name: string; data: Uint8Array | null }[]) {
      const chunks = found.get(name) ?? [];
      if (data !== null) chunks.push(data);
      found.set(name, chunks);
    }
    return found;
  }
}

/** Joins the chunks of an object and checks its size and digest. */
async function joinChunks(
  name: string,
  { bytes: size, sha256 }: ObjectRef,
  chunks: readonly Uint8Array[] | undefined,
): Promise<Uint8Array> {
  const path = `objects/${name}`;
  if (chunks === undefined) throw new MissingObjectError(path);
  const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  if (length !== size)
    throw damaged(path, `has ${formatItems(length, 'byte')} instead of ${formatCount(size)}`);
  const bytes = new Uint8Array(new SharedArrayBuffer(length));
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  if ((await digestInSlices(bytes)) !== sha256) throw damaged(path, 'does not match its digest');
  return bytes;
}

/**
 * Inserts the objects that the tenant does not have, and locks all of them, so that they cannot be removed before this
 * transaction has referenced them. Returns the number of bytes inserted. Sorting the names prevents deadlocks.
 */
export async function insertObjects(
  database: Database,
  client: Queryable,
  tenant: string,
  objects: ReadonlyMap<string, Uint8Array>,
): Promise<number> {
  const names = [...objects.keys()].sort();
  if (names.length === 0) return 0;
  const { rows } = await client.query(
    `SELECT name FROM ${database.table('objects')} WHERE tenant = $1 AND name = ANY($2) ORDER BY name FOR KEY SHARE`,
    [tenant, names],
  );
  const existing = new Set(rows.map(({ name }) => name));
  const missing = names.filter((name) => !existing.has(name));
  let inserted = 0;
  for (let start = 0; start < missing.length; ) {
    const batch = new Map<string, Uint8Array>();
    let bytes = 0;
    for (; start < missing.length && (batch.size === 0 || bytes < BATCH_BYTES); start++) {
      const data = objects.get(missing[start]!)!;
      batch.set(missing[start]!, data);
      bytes += data.length;
    }
    inserted += await insertBatch(database, client, tenant, batch);
  }
  return inserted;
}

async function insertBatch(
  database: Database,
  client: Queryable,
  tenant: string,
  batch: ReadonlyMap<string, Uint8Array>,
): Promise<number> {
  const { rows } = await client.query(
    `INSERT INTO ${database.table('objects')} (tenant, name, bytes)
     SELECT $1, * FROM unnest($2::text[], $3::bigint[]) ON CONFLICT DO NOTHING RETURNING name`,
    [tenant, [...batch.keys()], [...batch.values()].map(({ length }) => length)],
  );
  let inserted = 0;
  for (const { name } of rows as { name: string }[]) {
    const data = batch.get(name);
    if (data === undefined)
      throw new SandboxError('internal', `The database returned the unexpected object "${name}".`);
    inserted += data.length;
  }
  const chunks = rows.flatMap(({ name }) => chunksOf(name as string, batch.get(name as string)!));
  for (let start = 0; start < chunks.length; ) {
    const part: Chunk[] = [];
    let bytes = 0;
    for (; start < chunks.length && (part.length === 0 || bytes < BATCH_BYTES); start++) {
      part.push(chunks[start]!);
      bytes += chunks[start]!.bytes.length;
    }
    await insertChunks(database, client, tenant, part);
  }
  return inserted;
}

interface Chunk {
  readonly name: string;
  readonly position: number;
  readonly bytes: Uint8Array;
}

function chunksOf(name: string, bytes: Uint8Array): Chunk[] {
  return Array.from({ length: Math.ceil(bytes.length / CHUNK_BYTES) }, (_, position) => {
    const start = position * CHUNK_BYTES;
    return { name, position, bytes: bytes.subarray(start, start + CHUNK_BYTES) };
  });
}

/** Sends the bytes of all chunks as one parameter, because the driver sends single values in binary, but lists as text. */
async function insertChunks(
  database: Database,
  client: Queryable,
  tenant: string,
  chunks: readonly Chunk[],
): Promise<void> {
  const lengths = chunks.map(({ bytes }) => bytes.length);
  const offsets: number[] = [];
  let total = 0;
  for (const length of lengths) {
    offsets.push(total);
    total += length;
  }
  const joined = Buffer.alloc(total);
  for (const [i, { bytes }] of chunks.entries()) joined.set(bytes, offsets[i]);
  await client.query(
    `INSERT INTO ${database.table('chunks')} (tenant, name, position, data)
     SELECT $1, name, position, substring($6::bytea FROM start + 1 FOR length)
     FROM unnest($2::text[], $3::int[], $4::int[], $5::int[]) AS part (name, position, start, length)`,
    [
      tenant,
      chunks.map(({ name }) => name),
      chunks.map(({ position }) => position),
      offsets,
      lengths,
      joined,
    ],
  );
}

/**
 * Removes objects that no session references: those among the given names, or all of them. Objects that another
 * transaction has locked are skipped, and one that is referenced at this moment makes the statement fail; both are
 * removed later.
 */
export async function removeUnreferenced(
  database: Database,
  tenant: string,
  names?: readonly string[],
): Promise<void> {
  if (names?.length === 0) return;
  await database.query(
    `WITH garbage AS (
       SELECT tenant, name FROM ${database.table('objects')} o
       WHERE tenant = $1 AND ($2::text[] IS NULL OR name = ANY($2)) AND NOT EXISTS (
         SELECT FROM ${database.table('session_objects')} r WHERE r.tenant = o.tenant AND r.name = o.name)
       ORDER BY name FOR UPDATE SKIP LOCKED
     ), removed AS (
       DELETE FROM ${database.table('objects')} o USING garbage g
       WHERE o.tenant = g.tenant AND o.name = g.name RETURNING o.bytes
     )
     UPDATE ${database.table('tenants')} SET bytes = bytes - (SELECT coalesce(sum(bytes), 0) FROM removed)
     WHERE tenant = $1 AND EXISTS (SELECT FROM removed)`,
    [tenant, names ?? null],
  );
}
