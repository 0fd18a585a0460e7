/**
 * A session as one file, to be moved to another store or machine: its description as in session.json and the objects
 * that names, each once. What is read back is hostile: every length is checked before anything of that length is made,
 * and a part is taken for what its digest says.
 *
 * Layout, little-endian, drawn once:
 *   0    magic "LWSX"
 *   4    u32 format version
 *   8    u32 number N of parts
 *   12   N × (u32 bytes, u32 bytes packed)
 *   …    the parts, each deflated: first the description, JSON; then the objects, ascending by their SHA-256
 *   end  SHA-256 of everything before it, 32 bytes
 */
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import { SandboxError } from '../../errors.ts';
import { MissingObject, type ObjectKind, type ObjectRef, type ObjectSource } from '../disk/object-files.ts';
import { readStates } from '../disk/session-reader.ts';
import type { StoredSession } from '../store.ts';
import { sha256 } from './digest.ts';
import { decodeContents, describeContents, encodeState, MAX_SESSION_FILE_BYTES } from './manifest.ts';
import { checkSession, statesOf } from './stored-session.ts';

export const BUNDLE_FORMAT = 1;
/** What a bundle may unpack to; more is neither written nor read. */
export const MAX_BUNDLE_BYTES = 1024 * 1024 * 1024;

const MAGIC = 0x5853574c;
const FIXED = 12;
const ROW = 8;
const DIGEST = 32;
const NAME = 'The exported session';

const pack = promisify(deflateRaw);
const unpack = promisify<Uint8Array, { maxOutputLength: number }, Buffer>(inflateRaw);

const digestOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest();

/** Equal sessions give equal bytes. Throws `session_limit` for one too large to be read back. */
export async function encodeBundle(session: StoredSession): Promise<Uint8Array> {
  checkSession(session);
  const objects = new Map<string, Uint8Array>();
  for (const [, state] of statesOf(session))
    for (const bytes of encodeState(state).objects.values()) objects.set(sha256(bytes), bytes);
  const description = new TextEncoder().encode(JSON.stringify(describeContents(session)));
  const sorted = [...objects].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, bytes]) => bytes);
  const parts = [description, ...sorted];
  const total = parts.reduce((sum, { length }) => sum + length, 0);
  if (total > MAX_BUNDLE_BYTES || description.length > MAX_SESSION_FILE_BYTES) {
    const what = `Session "${session.record.session_id}" has ${total} bytes, its undo and checkpoints included`;
    const advice = 'delete files or checkpoints first';
    throw new SandboxError('session_limit', `${what}; an export holds ${MAX_BUNDLE_BYTES}: ${advice}.`);
  }
  const packed: Uint8Array[] = [];
  for (const part of parts) packed.push(await pack(part));
  const head = new DataView(new ArrayBuffer(FIXED + parts.length * ROW));
  head.setUint32(0, MAGIC, true);
  head.setUint32(4, BUNDLE_FORMAT, true);
  head.setUint32(8, parts.length, true);
  parts.forEach(({ length }, i) => {
    head.setUint32(FIXED + i * ROW, length, true);
    head.setUint32(FIXED + i * ROW + 4, packed[i]!.length, true);
  });
  const body = Buffer.concat([new Uint8Array(head.buffer), ...packed]);
  return new Uint8Array(Buffer.concat([body, digestOf(body)]));
}

const damaged = (problem: string) => new SandboxError('session_damaged', `${NAME} ${problem}.`);

interface Part {
  readonly bytes: number;
  readonly packed: Uint8Array;
}

/** The session of a bundle, verified; its contents lie in shared memory. */
export async function decodeBundle(bundle: Uint8Array, maxBytes = MAX_BUNDLE_BYTES): Promise<StoredSession> {
  const [first, ...others] = readIndex(bundle, maxBytes);
  if (first!.bytes > MAX_SESSION_FILE_BYTES) throw damaged('has a description that is too long');
  const contents = decodeContents(await unpackPart(first!), NAME);
  const objects = new Map<string, Uint8Array>();
  for (const part of others) {
    const bytes = await unpackPart(part);
    const digest = sha256(bytes);
    if (objects.has(digest)) throw damaged('has an object twice');
    objects.set(digest, bytes);
  }
  const source = new Parts(objects);
  try {
    const session = await readStates(contents, source, maxBytes);
    checkSession(session);
    if (source.used.size !== objects.size) throw damaged('has an object that nothing refers to');
    return session;
  } catch (error) {
    if (error instanceof MissingObject) throw damaged('lacks an object that it refers to');
    if (error instanceof SandboxError && error.code !== 'session_damaged')
      throw damaged(`does not fit: ${error.message.replace(/\.$/, '')}`);
    throw error;
  }
}

class Parts implements ObjectSource {
  readonly folder = NAME;
  readonly used = new Set<string>();

  constructor(readonly objects: ReadonlyMap<string, Uint8Array>) {}

  async read(_kind: ObjectKind, ref: ObjectRef): Promise<Uint8Array> {
    const bytes = this.objects.get(ref.sha256);
    if (bytes === undefined) throw new MissingObject(ref.sha256);
    if (bytes.length !== ref.bytes) throw damaged(`has ${bytes.length} bytes where it says ${ref.bytes}`);
    this.used.add(ref.sha256);
    return bytes;
  }
}

/** The parts, still packed; whatever could be wrong with their places and sizes is found here. */
function readIndex(bundle: Uint8Array, maxBytes: number): Part[] {
  const end = bundle.length - DIGEST;
  if (end < FIXED + ROW) throw damaged('is too short');
  const view = new DataView(bundle.buffer, bundle.byteOffset, bundle.byteLength);
  if (view.getUint32(0, true) !== MAGIC) throw damaged('does not start like one');
  const format = view.getUint32(4, true);
  if (format !== BUNDLE_FORMAT) {
    const advice = 'Export it again with a version that writes that format';
    throw damaged(`has format ${format}, this version reads ${BUNDLE_FORMAT}. ${advice}`);
  }
  if (Buffer.compare(digestOf(bundle.subarray(0, end)), bundle.subarray(end)) !== 0)
    throw damaged('was changed or cut off: its digest does not match');
  const count = view.getUint32(8, true);
  let at = FIXED + count * ROW;
  if (count === 0 || at > end) throw damaged('has an index that does not fit');
  let total = 0;
  const parts: Part[] = [];
  for (let i = 0; i < count; i++) {
    const bytes = view.getUint32(FIXED + i * ROW, true);
    const length = view.getUint32(FIXED + i * ROW + 4, true);
    total += bytes;
    if (total > maxBytes) throw damaged(`unpacks to more than ${maxBytes} bytes`);
    if (at + length > end) throw damaged(`is cut off in part ${i}`);
    parts.push({ bytes, packed: bundle.subarray(at, at + length) });
    at += length;
  }
  if (at !== end) throw damaged('has bytes that belong to no part');
  return parts;
}

async function unpackPart({ bytes, packed }: Part): Promise<Uint8Array> {
  let content: Buffer;
  try {
    content = await unpack(packed, { maxOutputLength: Math.max(1, bytes) });
  } catch {
    throw damaged('has a part that does not unpack to the size it says');
  }
  if (content.length !== bytes) throw damaged('has a part that does not unpack to the size it says');
  const shared = new Uint8Array(new SharedArrayBuffer(bytes));
  shared.set(content);
  return shared;
}
