/**
 * Reads a zip archive into memory. Archives may be hostile, so the central directory is checked before anything is unpacked:
 * the number and sizes of the members, their names and types, and that none overlaps another. Runs synchronously, and takes
 * long for large archives: threads call it.
 */
import { crc32, inflateRawSync } from 'node:zlib';
import { invalidArgument } from '../errors.ts';
import { allocateShared } from '../fs/shared-array-buffers.ts';
import { uninterrupted } from '../host/thread-critical-sections.ts';
import { formatBytes, formatCount } from '../quantities.ts';
import type { PackageFile } from './package-files.ts';

const MiB = 1024 * 1024;
export const MAX_WHEEL_BYTES = 512 * MiB;
/** Limits, several times what the largest wheels have. */
export const ZIP_LIMITS = {
  members: 20_000,
  memberBytes: 256 * MiB,
  totalBytes: 512 * MiB,
  /** An archive may unpack to this many times its size, and a small one to `anyway`. Wheels unpack to 3 to 7 times theirs. */
  ratio: 50,
  anyway: 16 * MiB,
  nameBytes: 1024,
  /** Folders that contain each other. */
  depth: 64,
} as const;

const END = { signature: 0x06054b50, bytes: 22, maxComment: 0xffff };
const CENTRAL = { signature: 0x02014b50, bytes: 46 };
const LOCAL = { signature: 0x04034b50, bytes: 30 };
const STORED = 0;
const DEFLATED = 8;
const ENCRYPTED = 1;
const MADE_ON_UNIX = 3;
/** File types in the upper half of the external attributes. */
const TYPE_MASK = 0o170000;
const USUAL_TYPES: ReadonlySet<number> = new Set([0, 0o100000, 0o040000]);

interface ZipEntry {
  readonly path: string;
  readonly method: number;
  readonly crc: number;
  /** Bytes in the archive, and unpacked. */
  readonly packed: number;
  readonly size: number;
  /** Offset of the local header. */
  readonly at: number;
}

/** Returns the files of an archive in its order, with contents in shared memory. Throws SandboxError `invalid_argument`. */
export function readZip(archive: Uint8Array): PackageFile[] {
  const bytes = Buffer.from(archive.buffer, archive.byteOffset, archive.byteLength);
  const { members, start } = readDirectory(bytes);
  checkSizes(members, bytes.length);
  checkNames(members);
  const dataAt = findData(bytes, members, start);
  const files = members.filter(({ path }) => !path.endsWith('/'));
  const contents = allocateShared(files.reduce((sum, { size }) => sum + size, 0));
  let at = 0;
  return files.map((member) => {
    const data = contents.subarray(at, at + member.size);
    at += member.size;
    unpack(bytes.subarray(dataAt.get(member)!), member, data);
    return { path: member.path, data };
  });
}

function readDirectory(bytes: Buffer): { members: ZipEntry[]; start: number } {
  const end = findEnd(bytes);
  const count = bytes.readUInt16LE(end + 10);
  const size = bytes.readUInt32LE(end + 12);
  const start = bytes.readUInt32LE(end + 16);
  if (bytes.readUInt32LE(end + 4) !== 0 || bytes.readUInt16LE(end + 8) !== count)
    throw damaged('it is a part of a larger archive');
  if (start + size !== end) throw damaged('its directory does not end where the archive ends');
  if (count > ZIP_LIMITS.members)
    throw invalid(
      `it has ${formatCount(count)} members, and the limit is ${formatCount(ZIP_LIMITS.members)}`,
    );
  const members: ZipEntry[] = [];
  let at = start;
  for (let i = 0; i < count; i++) {
    if (at + CENTRAL.bytes > end || bytes.readUInt32LE(at) !== CENTRAL.signature)
      throw damaged('its directory is cut off');
    const lengths = [28, 30, 32].map((offset) => bytes.readUInt16LE(at + offset));
    const next = at + CENTRAL.bytes + lengths.reduce((sum, length) => sum + length, 0);
    if (next > end) throw damaged('its directory is cut off');
    members.push(readMember(bytes, at, lengths[0]!));
    at = next;
  }
  if (at !== end) throw damaged('its directory has extra bytes');
  return { members, start };
}

function findEnd(bytes: Buffer): number {
  const lowest = Math.max(0, bytes.length - END.bytes - END.maxComment);
  for (let at = bytes.length - END.bytes; at >= lowest; at--)
    if (
      bytes.readUInt32LE(at) === END.signature &&
      bytes.readUInt16LE(at + 20) === bytes.length - at - END.bytes
    )
      return at;
  throw damaged('it is not a zip archive');
}

function readMember(bytes: Buffer, at: number, nameBytes: number): ZipEntry {
  const path = readName(bytes.subarray(at + CENTRAL.bytes, at + CENTRAL.bytes + nameBytes));
  const method = bytes.readUInt16LE(at + 10);
  const type = (bytes.readUInt32LE(at + 38) >>> 16) & TYPE_MASK;
  if (bytes[at + 5] === MADE_ON_UNIX && !USUAL_TYPES.has(type))
    throw invalid(`${quoted(path)} is a link or a special file`);
  if ((bytes.readUInt16LE(at + 8) & ENCRYPTED) !== 0) throw invalid(`${quoted(path)} is encrypted`);
  if (method !== STORED && method !== DEFLATED)
    throw invalid(`${quoted(path)} is compressed with an unknown method`);
  return {
    path,
    method,
    crc: bytes.readUInt32LE(at + 16),
    packed: bytes.readUInt32LE(at + 20),
    size: bytes.readUInt32LE(at + 24),
    at: bytes.readUInt32LE(at + 42),
  };
}

function readName(bytes: Uint8Array): string {
  if (bytes.length > ZIP_LIMITS.nameBytes)
    throw invalid(`a name has more than ${ZIP_LIMITS.nameBytes} bytes`);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw invalid('a name is not UTF-8');
  }
}

function checkSizes(members: readonly ZipEntry[], archiveBytes: number): void {
  let total = 0;
  for (const { path, method, packed, size } of members) {
    if (size > ZIP_LIMITS.memberBytes) throw tooLarge(quoted(path), 'memberBytes');
    if ((method === STORED || path.endsWith('/')) && size !== packed)
      throw damaged(`${quoted(path)} has two different sizes`);
    if (path.endsWith('/') && size > 0) throw damaged(`the folder ${quoted(path)} has contents`);
    total += size;
  }
  if (total > ZIP_LIMITS.totalBytes) throw tooLarge('all members together', 'totalBytes');
  if (total > ZIP_LIMITS.anyway + ZIP_LIMITS.ratio * archiveBytes)
    throw invalid(`it unpacks to more than ${ZIP_LIMITS.ratio} times its size`);
}

function checkNames(members: readonly ZipEntry[]): void {
  const names = new Set<string>();
  for (const { path } of members) {
    const plain = path.replace(/\/$/, '');
    const isUnsafe = plain.split('/').some((part) => part === '' || part === '.' || part === '..');
    if (isUnsafe || /[\\\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]|^[A-Za-z]:/u.test(path))
      throw invalid(`the name ${quoted(path)} is not allowed`);
    if (plain.split('/').length > ZIP_LIMITS.depth)
      throw invalid(`${quoted(path)} is in more than ${ZIP_LIMITS.depth - 1} folders`);
    if (names.has(plain)) throw invalid(`the name ${quoted(path)} occurs twice`);
    names.add(plain);
  }
  const files = new Set(members.flatMap(({ path }) => (path.endsWith('/') ? [] : [path])));
  for (const { path } of members)
    for (let slash = path.indexOf('/'); slash >= 0; slash = path.indexOf('/', slash + 1))
      if (files.has(path.slice(0, slash)))
        throw invalid(`${quoted(path.slice(0, slash))} is a file and a folder`);
}

/** The offset of the data of each member. Throws if members overlap, or if the headers contradict the directory. */
function findData(
  bytes: Buffer,
  members: readonly ZipEntry[],
  directory: number,
): ReadonlyMap<ZipEntry, number> {
  const found = new Map<ZipEntry, number>();
  let end = 0;
  for (const member of [...members].sort((a, b) => a.at - b.at)) {
    const { at, path, packed } = member;
    if (at < end) throw invalid(`${quoted(path)} overlaps another member`);
    if (at + LOCAL.bytes > directory || bytes.readUInt32LE(at) !== LOCAL.signature)
      throw damaged(`${quoted(path)} is missing`);
    const nameEnd = at + LOCAL.bytes + bytes.readUInt16LE(at + 26);
    const dataAt = nameEnd + bytes.readUInt16LE(at + 28);
    end = dataAt + packed;
    if (end > directory) throw damaged(`${quoted(path)} is cut off`);
    if (readName(bytes.subarray(at + LOCAL.bytes, nameEnd)) !== path)
      throw damaged(`${quoted(path)} has two different names`);
    found.set(member, dataAt);
  }
  return found;
}

/** Unpacks a member into memory of exactly its size. `from` starts with its data. */
function unpack(from: Uint8Array, { path, method, packed, size, crc }: ZipEntry, into: Uint8Array): void {
  const data = from.subarray(0, packed);
  let found = data;
  try {
    // The output is allocated at once, and inflating stops where it would exceed the declared size.
    const options = { chunkSize: Math.max(64, size), maxOutputLength: Math.max(1, size) };
    if (method === DEFLATED) found = uninterrupted(() => inflateRawSync(data, options));
  } catch {
    throw damaged(`${quoted(path)} cannot be unpacked to its declared size`);
  }
  if (found.length !== size || crc32(found) !== crc)
    throw damaged(`${quoted(path)} does not match its directory`);
  into.set(found);
}

const quoted = (path: string) => JSON.stringify(path.slice(0, 100));

const invalid = (problem: string) => invalidArgument(`The archive cannot be used: ${problem}.`);

const damaged = (problem: string) => invalid(`${problem}. Download it again`);

const tooLarge = (what: string, limit: 'memberBytes' | 'totalBytes') =>
  invalid(`${what} exceeds ${formatBytes(ZIP_LIMITS[limit])}`);
