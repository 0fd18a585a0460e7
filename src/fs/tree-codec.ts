/**
 * Tree ↔ bytes. Invariant: equal trees give equal bytes, and no other bytes are accepted for them: entries are sorted,
 * data offsets follow from the sizes (so data cannot overlap), and padding is zero.
 *
 *   0               8 bytes   magic, the last one is the version
 *   8               u32       number of entries n
 *   12              u32       length of the text t
 *   16              24 × n    f64 mtimeMs, f64 size (0 unless a file), u32 mode, u32 kind
 *   16 + 24n        t bytes   UTF-8, each ended by NUL: all paths, then the targets of the links, in order
 *   next multiple of 8        data of each file, padded with zeros to a multiple of 8
 */
import { SandboxError } from '../errors.ts';
import { encodeMagic, hasMagic } from '../framing/magic.ts';
import { buildTree, checkEntries, type Entry } from './entries.ts';
import { type DirNode, newDir } from './tree.ts';

const MAGIC = 'lwstree\x01';
const HEADER_BYTES = 16;
const RECORD_BYTES = 24;
const KINDS = ['file', 'dir', 'symlink'] as const;

/** Packs entries in any order; throws SandboxError for entries that are no tree. */
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
    view.setFloat64(record, entry.mtimeMs + 0, true); // + 0 makes negative zero positive
    view.setFloat64(record + 8, sizeOf(entry), true);
    view.setUint32(record + 16, entry.mode, true);
    view.setUint32(record + 20, KINDS.indexOf(entry.kind), true);
    if (entry.kind === 'file') bytes.set(entry.data!, at);
    at += align(sizeOf(entry));
  }
  return bytes;
}

/**
 * Entries of packed bytes, which may be hostile: anything but the exact form is a SandboxError `image_invalid`.
 * File data are views into `bytes`, which may lie in a SharedArrayBuffer.
 */
export function unpackEntries(bytes: Uint8Array): Entry[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < HEADER_BYTES || !hasMagic(bytes, MAGIC)) {
    throw invalid('does not start as a packed tree of a known version');
  }
  const count = view.getUint32(8, true);
  const textAt = HEADER_BYTES + RECORD_BYTES * count;
  const textEnd = textAt + view.getUint32(12, true);
  const dataAt = align(textEnd);
  if (dataAt > bytes.length) throw invalid('is shorter than its index');
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
      throw invalid('has a file that reaches beyond its end');
    }
    if (kind !== 'file' && size !== 0) throw invalid('has data for something that is no file');
    const mtimeMs = view.getFloat64(record, true);
    if (Object.is(mtimeMs, -0)) throw invalid('has a negative zero');
    const entry: Entry = { path, kind, mode: view.getUint32(record + 16, true), mtimeMs };
    if (kind === 'file') entry.data = bytes.subarray(at, at + size);
    if (kind === 'symlink') entry.target = texts[nextTarget++] ?? '';
    checkZeros(bytes, at + size, align(at + size));
    at = align(at + size);
    if (index > 0 && entries[index - 1]!.path >= path) throw invalid('is not sorted by path');
    entries.push(entry);
  }
  if (at !== bytes.length || nextTarget !== texts.length) throw invalid('has more than its index says');
  return checkEntries(entries, 'image_invalid');
}

/**
 * A read-only subtree over entries, to be mounted by any number of volumes. Layers mounted together need different
 * `layer` numbers (1 to 63), from which their inode numbers start.
 */
export function readOnlyTree(entries: Iterable<Entry>, layer = 1): DirNode {
  return buildReadOnlyTree(checkEntries(entries, 'image_invalid'), layer);
}

/** `readOnlyTree(unpackEntries(bytes), layer)` without checking the entries a second time. */
export function unpackTree(bytes: Uint8Array, layer = 1): DirNode {
  return buildReadOnlyTree(unpackEntries(bytes), layer);
}

/**
 * `unpackTree(bytes, layer)`, put off until something below the root is looked at: most programs never look into most
 * layers. Bytes that are not known to be whole must not come here, since the error would meet a guest.
 */
export function unpackTreeLazily(bytes: Uint8Array, layer = 1): DirNode {
  let entries: DirNode['entries'] | undefined;
  const root = buildReadOnlyTree([], layer);
  return Object.defineProperty(root, 'entries', {
    enumerable: true,
    get: () => {
      entries ??= unpackTree(bytes, layer).entries;
      return entries;
    },
  });
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

/** Not by bit operations, which would wrap at 2 ** 31. */
function align(size: number): number {
  return Math.ceil(size / 8) * 8;
}

function decodeTexts(bytes: Uint8Array, from: number, to: number): string[] {
  let text: string;
  try {
    // A decoder refuses views of shared memory, hence the copy; BOMs are characters like any other here.
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
      new Uint8Array(bytes.subarray(from, to)),
    );
  } catch (cause) {
    throw new SandboxError('image_invalid', 'The packed tree has names that are not UTF-8.', { cause });
  }
  const texts = text.split('\0');
  if (texts.pop() !== '') throw invalid('has a name without an end');
  return texts;
}

function checkZeros(bytes: Uint8Array, from: number, to: number): void {
  for (let at = from; at < to; at++) {
    if (bytes[at] !== 0) throw invalid('has padding that is not zero');
  }
}

function invalid(problem: string): SandboxError {
  return new SandboxError('image_invalid', `The packed tree ${problem}; build it again.`);
}
