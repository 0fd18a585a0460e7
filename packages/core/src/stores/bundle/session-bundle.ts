/**
 * A session as a single file that can be moved to another store or machine: its manifest and the objects that the
 * manifest references. Decoding treats the file as untrusted: it checks every length before it allocates, and identifies
 * objects by the digests it computes.
 *
 * A bundle is a frame (see framing/frame.ts) with one field, the number N of parts. Layout of its body, little-endian:
 *   0    N × (u32 size, u32 compressed size)
 *   …    the parts, each deflated: the manifest as JSON, then the objects in ascending order of SHA-256
 */
import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import { SandboxError } from '../../errors.ts';
import { decodeFrame, encodeFrame, FrameError, type FrameFormat } from '../../framing/frame.ts';
import { toShared } from '../../fs/shared-array-buffers.ts';
import { formatBytes, formatCount, formatItems } from '../../quantities.ts';
import { contentDigest, digestInSlices } from '../format/content-digest.ts';
import {
  MissingObjectError,
  type ObjectKind,
  type ObjectRef,
  type ObjectSource,
} from '../format/object-ref.ts';
import {
  decodeSessionManifest,
  encodeStates,
  MAX_MANIFEST_BYTES,
  objectsOf,
  readStates,
  type SessionManifest,
  toSessionManifest,
} from '../format/session-codec.ts';
import { checkSession, statesOf } from '../format/session-validation.ts';
import { stateBytes } from '../format/state-size.ts';
import { damaged } from '../format/stored-json.ts';
import type { StoredSession } from '../store.ts';

const BUNDLE_FORMAT: FrameFormat = { magic: 'LWSX', version: 1, fields: 1 };
/** Limit on the uncompressed size; a larger session is neither exported nor imported. */
const MAX_BUNDLE_BYTES = 1024 * 1024 * 1024;

const INDEX_ROW_BYTES = 8;
const LOCATION = 'The exported session';

const deflate = promisify(deflateRaw);
const inflate = promisify<Uint8Array, { maxOutputLength: number }, Buffer>(inflateRaw);

/**
 * Encodes a session with the states of all its checkpoints; equal sessions give equal bytes. Throws `session_limit` if the
 * session is too large.
 */
export async function encodeBundle(session: StoredSession): Promise<Uint8Array> {
  checkSession(session);
  const objects = new Map<string, Uint8Array>();
  for (const state of await encodeStates(statesOf(session)))
    for (const [, bytes] of objectsOf(state)) objects.set(contentDigest(bytes), bytes);
  const manifest = new TextEncoder().encode(JSON.stringify(toSessionManifest(session)));
  const sorted = [...objects].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, bytes]) => bytes);
  const parts = [manifest, ...sorted];
  const total = parts.reduce((sum, { length }) => sum + length, 0);
  if (total > MAX_BUNDLE_BYTES || manifest.length > MAX_MANIFEST_BYTES) {
    throw new SandboxError(
      'session_limit',
      `Session "${session.record.session_id}" takes up ${formatBytes(total)}, including its undo state and checkpoints; an export can hold at most ${formatBytes(MAX_BUNDLE_BYTES)}. Delete files or checkpoints first.`,
    );
  }
  const compressed: Uint8Array[] = [];
  for (const part of parts) compressed.push(await deflate(part));
  const index = new DataView(new ArrayBuffer(parts.length * INDEX_ROW_BYTES));
  parts.forEach(({ length }, i) => {
    index.setUint32(i * INDEX_ROW_BYTES, length, true);
    index.setUint32(i * INDEX_ROW_BYTES + 4, compressed[i]!.length, true);
  });
  return encodeFrame(BUNDLE_FORMAT, [parts.length], [new Uint8Array(index.buffer), ...compressed]);
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
    throw invalid(`has a manifest of more than ${formatBytes(MAX_MANIFEST_BYTES)}`);
  const manifest = decodeSessionManifest(await inflatePart(first!), LOCATION);
  const objects = new Map<string, Uint8Array>();
  for (const part of others) {
    const bytes = await inflatePart(part);
    const digest = await digestInSlices(bytes);
    if (objects.has(digest)) throw invalid('contains an object twice');
    objects.set(digest, bytes);
  }
  const source = new BundleObjects(objects);
  try {
    const session = await readSession(manifest, source);
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

async function readSession(
  { record, state, undo, checkpoints }: SessionManifest,
  objects: ObjectSource,
): Promise<StoredSession> {
  const all = [state, ...(undo === null ? [] : [undo]), ...checkpoints.map((checkpoint) => checkpoint.state)];
  const states = await readStates(all, objects, MAX_BUNDLE_BYTES);
  return {
    record,
    state: states[0]!,
    undo: undo === null ? undefined : states[1],
    checkpoints: checkpoints.map(({ name, created_at }, i) => {
      const restored = states[states.length - checkpoints.length + i]!;
      return { name, created_at, size_bytes: stateBytes(restored), state: restored };
    }),
  };
}

class BundleObjects implements ObjectSource {
  readonly location = LOCATION;
  readonly used = new Set<string>();

  constructor(readonly objects: ReadonlyMap<string, Uint8Array>) {}

  async read(_kind: ObjectKind, ref: ObjectRef): Promise<Uint8Array> {
    const bytes = this.objects.get(ref.sha256);
    if (bytes === undefined) throw new MissingObjectError(ref.sha256);
    if (bytes.length !== ref.bytes)
      throw invalid(
        `contains an object of ${formatItems(bytes.length, 'byte')} whose declared size is ${formatCount(ref.bytes)}`,
      );
    this.used.add(ref.sha256);
    return bytes;
  }
}

/** Returns the parts, still compressed, after checking the frame and all offsets and sizes. */
function readIndex(bundle: Uint8Array): Part[] {
  const { fields, body } = readFrame(bundle);
  const [count] = fields as [number];
  let at = count * INDEX_ROW_BYTES;
  if (count === 0 || at > body.length) throw invalid('has an invalid index');
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  let total = 0;
  const parts: Part[] = [];
  for (let i = 0; i < count; i++) {
    const bytes = view.getUint32(i * INDEX_ROW_BYTES, true);
    const length = view.getUint32(i * INDEX_ROW_BYTES + 4, true);
    total += bytes;
    if (total > MAX_BUNDLE_BYTES)
      throw invalid(`has an uncompressed size of more than ${formatBytes(MAX_BUNDLE_BYTES)}`);
    if (at + length > body.length) throw invalid(`is truncated in part ${i}`);
    parts.push({ bytes, compressed: body.subarray(at, at + length) });
    at += length;
  }
  if (at !== body.length) throw invalid('has bytes after its last part');
  return parts;
}

function readFrame(bundle: Uint8Array) {
  try {
    return decodeFrame(BUNDLE_FORMAT, bundle);
  } catch (error) {
    if (!(error instanceof FrameError)) throw error;
    const { problem, version, message } = error;
    if (problem !== 'version') throw invalid(`is damaged: ${message}. Export the session again`);
    const advice = `Export the session again with a release that writes version ${BUNDLE_FORMAT.version}`;
    throw invalid(
      `has format version ${version}; this release reads version ${BUNDLE_FORMAT.version}. ${advice}`,
    );
  }
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
  return toShared(content);
}
