/**
 * Encodes a tree as bytes and decodes it.
 * Invariant: the encoding is canonical. Equal trees have equal bytes, and only those bytes are accepted: entries are
 * sorted, data offsets follow from the sizes (so data cannot overlap), and padding is zero.
 *
 *   0               8 bytes   magic number; the last byte is the version
 *   8               u32       number of entries n
 *   12              u32       length of the text t
 *   16              24 × n    f64 mtimeMs, f64 size (0 unless a file), u32 mode, u32 kind
 *   16 + 24n        t bytes   NUL-terminated UTF-8 strings: all paths, then all link targets, in entry order
 *   next multiple of 8        data of each file, padded with zeros to a multiple of 8
 */
import { SandboxError } from '../errors.ts';
import { encodeMagic, hasMagic } from '../framing/magic-number.ts';
import { buildTree, checkEntries, type Entry } from './flat-entries.ts';
import { type DirNode, newDir } from './nodes.ts';

const MAGIC = 'lwstree\x01';
const HEADER_BYTES = 16;
const RECORD_BYTES = 24;
const KINDS = ['file', 'dir', 'symlink'] as const;

/** Encodes entries, given in any order. Throws SandboxError if they do not form a tree. */
export function packEntries(entries: Iterable<Entry>): Uint8Array<ArrayBuffer> {
  const sorted = checkEntries(entries);
  const targets = sorted.filter(({ kind }) => kind === 'symlink').map(({ target }) => `${target}\0`);
  const text = new TextEncoder().encode(sorted.map(({ path }) => `${path}\0`).join('') + targets.join(''));
  const textAt = HEADER_BYTES + RECORD_BYTES * sorted.length;
  const dataAt = align(textAt + text.length);
  const total = sorted.reduce((sum, entry) => sum + align(sizeOf(entry)), dataAt);

  const bytes = new Uint8Array(total);
  const view = new DataView(bytes.buffer);
  bytes.set(encodeMagic(MAGIC));
  view.setUint32(8, sorted.length, true);
  view.setUint32(12, text.length, true);
  bytes.set(text, textAt);
  let at = dataAt;
  for (const [index, entry] of sorted.entries()) {
    const record = HEADER_BYTES + RECORD_BYTES * index;
    view.setFloat64(record, entry.mtimeMs + 0, true); // + 0 turns -0 into 0
    view.setFloat64(record + 8, sizeOf(entry), true);
    view.setUint32(record + 16, entry.mode, true);
    view.setUint32(record + 20, KINDS.indexOf(entry.kind), true);
    if (entry.kind === 'file') bytes.set(entry.data!, at);
    at += align(sizeOf(entry));
  }
  return bytes;
}

/**
 * Decodes bytes from an untrusted source. Throws SandboxError `image_invalid` for anything but the canonical encoding.
 * File data are views into `bytes`, which may be in a SharedArrayBuffer.
 */
export function unpackEntries(bytes: Uint8Array): Entry[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < HEADER_BYTES || !hasMagic(bytes, MAGIC)) {
    throw invalid('has a bad magic number or version');
  }
  const count = view.getUint32(8, true);
  const textAt = HEADER_BYTES + RECORD_BYTES * count;
  const textEnd = textAt + view.getUint32(12, true);
  const dataAt = align(textEnd);
  if (dataAt > bytes.length) throw invalid('is truncated');
  const texts = decodeTexts(bytes, textAt, textEnd);
  checkZeros(bytes, textEnd, dataAt);

  const entries: Entry[] = [];
  let nextTarget = count;
  let at = dataAt;
  for (let index = 0; index < count; index++) {
    const record = HEADER_BYTES + RECORD_BYTES * index;
    const path = texts[index];
    const kind = KINDS[view.getUint32(record + 20, true)];
    const size = view.getFloat64(record + 8, true);
    if (path === undefined || kind === undefined) throw invalid('has an incomplete index');
    if (!(Number.isSafeInteger(size) && size >= 0 && size <= bytes.length - at) || Object.is(size, -0)) {
      throw invalid('has a file that extends past its end');
    }
    if (kind !== 'file' && size !== 0) throw invalid('has data for an entry that is not a file');
    const mtimeMs = view.getFloat64(record, true);
    if (Object.is(mtimeMs, -0)) throw invalid('has a modification time of -0');
    const entry: Entry = { path, kind, mode: view.getUint32(record + 16, true), mtimeMs };
    if (kind === 'file') entry.data = bytes.subarray(at, at + size);
    if (kind === 'symlink') entry.target = texts[nextTarget++] ?? '';
    checkZeros(bytes, at + size, align(at + size));
    at = align(at + size);
    if (index > 0 && entries[index - 1]!.path >= path) throw invalid('is not sorted by path');
    entries.push(entry);
  }
  if (at !== bytes.length || nextTarget !== texts.length) throw invalid('has extra data');
  return checkEntries(entries, 'image_invalid');
}

/**
 * Builds a read-only tree that any number of volumes can mount. Layers that are mounted together need different `layer`
 * numbers (1 to 63), which determine their inode numbers.
 */
export function readOnlyTree(entries: Iterable<Entry>, layer = 1): DirNode {
  return buildReadOnlyTree(checkEntries(entries, 'image_invalid'), layer);
}

function buildReadOnlyTree(checked: Entry[], layer: number): DirNode {
  const first = layer * 2 ** 24;
  const root = newDir({ ino: first, mode: 0o755, mtimeMs: 0, ctimeMs: 0, readonly: true });
  buildTree(root, checked, first + 1);
  return root;
}

function sizeOf({ kind, data }: Entry): number {
  return kind === 'file' ? data!.length : 0;
}

/** Rounds up to a multiple of 8. Bit operations would overflow at 2 ** 31. */
function align(size: number): number {
  return Math.ceil(size / 8) * 8;
}

function decodeTexts(bytes: Uint8Array, from: number, to: number): string[] {
  let text: string;
  try {
    // TextDecoder does not accept shared memory, so the bytes are copied. A BOM is kept as part of the name.
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
      new Uint8Array(bytes.subarray(from, to)),
    );
  } catch (cause) {
    throw new SandboxError(
      'image_invalid',
      'The packed tree has names that are not valid UTF-8. Build it again.',
      { cause },
    );
  }
  const texts = text.split('\0');
  if (texts.pop() !== '') throw invalid('has an unterminated name');
  return texts;
}

function checkZeros(bytes: Uint8Array, from: number, to: number): void {
  for (let at = from; at < to; at++) {
    if (bytes[at] !== 0) throw invalid('has non-zero padding');
  }
}

function invalid(problem: string): SandboxError {
  return new SandboxError('image_invalid', `The packed tree ${problem}. Build it again.`);
}
