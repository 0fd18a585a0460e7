/**
 * A session as a single file that can be moved to another store or machine: its manifest and the objects that the
 * manifest references. Decoding treats the file as untrusted: it checks every length before it allocates, and identifies
 * objects by the digests it computes.
 *
 * Layout, little-endian:
 *   0    magic "LWSX"
 *   4    u32 format version
 *   8    u32 number N of parts
 *   12   N × (u32 size, u32 compressed size)
 *   …    the parts, each deflated: the manifest as JSON, then the objects in ascending order of SHA-256
 *   end  SHA-256 of everything before it, 32 bytes
 */
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import { SandboxError } from '../../errors.ts';
import { sha256 } from '../format/digest.ts';
import { damaged } from '../format/json-codec.ts';
import {
  decodeManifest,
  encodeState,
  MAX_MANIFEST_BYTES,
  readStates,
  toManifest,
} from '../format/session-codec.ts';
import {
  MissingObjectError,
  type ObjectKind,
  type ObjectRef,
  type ObjectSource,
} from '../format/session-objects.ts';
import { checkSession, statesOf } from '../format/session-validation.ts';
import type { StoredSession } from '../store.ts';

const BUNDLE_FORMAT = 1;
/** Limit of the uncompressed size; a larger session is neither exported nor imported. */
const MAX_BUNDLE_BYTES = 1024 * 1024 * 1024;

const MAGIC = 0x5853574c;
const HEADER_BYTES = 12;
const INDEX_ROW_BYTES = 8;
const DIGEST_BYTES = 32;
const LOCATION = 'The exported session';

const deflate = promisify(deflateRaw);
const inflate = promisify<Uint8Array, { maxOutputLength: number }, Buffer>(inflateRaw);

const digestOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest();

/** Encodes a session; equal sessions give equal bytes. Throws `session_limit` if the session is too large. */
export async function encodeBundle(session: StoredSession): Promise<Uint8Array> {
  checkSession(session);
  const objects = new Map<string, Uint8Array>();
  for (const state of statesOf(session))
    for (const bytes of encodeState(state).objects.values()) objects.set(sha256(bytes), bytes);
  const manifest = new TextEncoder().encode(JSON.stringify(toManifest(session)));
  const sorted = [...objects].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, bytes]) => bytes);
  const parts = [manifest, ...sorted];
  const total = parts.reduce((sum, { length }) => sum + length, 0);
  if (total > MAX_BUNDLE_BYTES || manifest.length > MAX_MANIFEST_BYTES) {
    throw new SandboxError(
      'session_limit',
      `Session "${session.record.session_id}" has ${total} bytes including its undo state and checkpoints; an export can hold ${MAX_BUNDLE_BYTES}. Delete files or checkpoints first.`,
    );
  }
  const compressed: Uint8Array[] = [];
  for (const part of parts) compressed.push(await deflate(part));
  const head = new DataView(new ArrayBuffer(HEADER_BYTES + parts.length * INDEX_ROW_BYTES));
  head.setUint32(0, MAGIC, true);
  head.setUint32(4, BUNDLE_FORMAT, true);
  head.setUint32(8, parts.length, true);
  parts.forEach(({ length }, i) => {
    head.setUint32(HEADER_BYTES + i * INDEX_ROW_BYTES, length, true);
    head.setUint32(HEADER_BYTES + i * INDEX_ROW_BYTES + 4, compressed[i]!.length, true);
  });
  const body = Buffer.concat([new Uint8Array(head.buffer), ...compressed]);
  return new Uint8Array(Buffer.concat([body, digestOf(body)]));
}

const invalid = (problem: string) => damaged(LOCATION, problem);

interface Part {
  readonly bytes: number;
  readonly compressed: Uint8Array;
}

/** Decodes and validates a bundle. The contents are in shared memory. Throws `session_damaged`. */
export async function decodeBundle(bundle: Uint8Array): Promise<StoredSession> {
  const [first, ...others] = readIndex(bundle);
  if (first!.bytes > MAX_MANIFEST_BYTES)
    throw invalid(`has a manifest of more than ${MAX_MANIFEST_BYTES} bytes`);
  const manifest = decodeManifest(await inflatePart(first!), LOCATION);
  const objects = new Map<string, Uint8Array>();
  for (const part of others) {
    const bytes = await inflatePart(part);
    const digest = sha256(bytes);
    if (objects.has(digest)) throw invalid('contains an object twice');
    objects.set(digest, bytes);
  }
  const source = new BundleObjects(objects);
  try {
    const session = await readStates(manifest, source, MAX_BUNDLE_BYTES);
    checkSession(session);
    if (source.used.size !== objects.size) throw invalid('contains an object that is not referenced');
    return session;
  } catch (error) {
    if (error instanceof MissingObjectError) throw invalid('does not contain all referenced objects');
    if (error instanceof SandboxError && error.code !== 'session_damaged')
      throw invalid(`is invalid: ${error.message.replace(/\.$/, '')}`);
    throw error;
  }
}

class BundleObjects implements ObjectSource {
  readonly location = LOCATION;
  readonly used = new Set<string>();

  constructor(readonly objects: ReadonlyMap<string, Uint8Array>) {}

  async read(_kind: ObjectKind, ref: ObjectRef): Promise<Uint8Array> {
    const bytes = this.objects.get(ref.sha256);
    if (bytes === undefined) throw new MissingObjectError(ref.sha256);
    if (bytes.length !== ref.bytes)
      throw invalid(`contains an object of ${bytes.length} bytes whose declared size is ${ref.bytes}`);
    this.used.add(ref.sha256);
    return bytes;
  }
}

/** Returns the parts, still compressed, after checking all offsets and sizes. */
function readIndex(bundle: Uint8Array): Part[] {
  const end = bundle.length - DIGEST_BYTES;
  if (end < HEADER_BYTES + INDEX_ROW_BYTES) throw invalid('is too short');
  const view = new DataView(bundle.buffer, bundle.byteOffset, bundle.byteLength);
  if (view.getUint32(0, true) !== MAGIC) throw invalid('has a bad magic number');
  const format = view.getUint32(4, true);
  if (format !== BUNDLE_FORMAT) {
    const advice = `Export the session again with a release that writes version ${BUNDLE_FORMAT}`;
    throw invalid(`has format version ${format}; this release reads version ${BUNDLE_FORMAT}. ${advice}`);
  }
  if (Buffer.compare(digestOf(bundle.subarray(0, end)), bundle.subarray(end)) !== 0)
    throw invalid('was modified or truncated: its digest does not match');
  const count = view.getUint32(8, true);
  let at = HEADER_BYTES + count * INDEX_ROW_BYTES;
  if (count === 0 || at > end) throw invalid('has an invalid index');
  let total = 0;
  const parts: Part[] = [];
  for (let i = 0; i < count; i++) {
    const bytes = view.getUint32(HEADER_BYTES + i * INDEX_ROW_BYTES, true);
    const length = view.getUint32(HEADER_BYTES + i * INDEX_ROW_BYTES + 4, true);
    total += bytes;
    if (total > MAX_BUNDLE_BYTES)
      throw invalid(`has an uncompressed size of more than ${MAX_BUNDLE_BYTES} bytes`);
    if (at + length > end) throw invalid(`is truncated in part ${i}`);
    parts.push({ bytes, compressed: bundle.subarray(at, at + length) });
    at += length;
  }
  if (at !== end) throw invalid('has bytes after its last part');
  return parts;
}

async function inflatePart({ bytes, compressed }: Part): Promise<Uint8Array> {
  let content: Buffer;
  try {
    content = await inflate(compressed, { maxOutputLength: Math.max(1, bytes) });
  } catch {
    throw invalid('contains a part that does not decompress to its declared size');
  }
  if (content.length !== bytes)
    throw invalid('contains a part that does not decompress to its declared size');
  const shared = new Uint8Array(new SharedArrayBuffer(bytes));
  shared.set(content);
  return shared;
}
