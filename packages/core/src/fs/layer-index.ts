/**
 * The index of a read-only layer: its tree without file contents, and the digests of its data. The data is the contents of
 * all files, concatenated and divided into blocks of equal size; the last one may be shorter.
 * Invariant: an index determines the contents of its layer, so the digest of the index identifies the layer. Only an index
 * whose digest is known, or that `check` has accepted, is decoded.
 *
 *   0               8 bytes   magic number; the last byte is the version
 *   8               u32       number of entries n
 *   12              u32       length of the text t
 *   16              u32       size of the data
 *   20              u32       zero
 *   24              24 × n    f64 mtimeMs, u32 mode, u32 kind, and two u32:
 *                             first child and number of children, or offset in the data and size, or two zeros
 *   24 + 24n        t bytes   NUL-terminated UTF-8 strings: all names, then all link targets, in entry order
 *   24 + 24n + t    32 × b    SHA-256 of each block
 *
 * The children of a directory follow one another. Those of the root come first.
 */

import { SandboxError } from '../errors.ts';
import { encodeMagic, hasMagic } from '../framing/magic-number.ts';
import { formatItems } from '../quantities.ts';
import { checkLinkTarget, checkName, MAX_PATH_BYTES, utf8Length } from './file-names.ts';
import { checkEntries, type Entry, MAX_TIME_MS } from './flat-entries.ts';
import { FsError } from './fs-error.ts';
import { type DirNode, lazyDir, lazyFile, type Node, newLink } from './nodes.ts';

const MAGIC = 'lwslayr\x01';
const HEADER_BYTES = 24;
const RECORD_BYTES = 24;
const DIGEST_BYTES = 32;
const KINDS = ['file', 'dir', 'symlink'] as const;
/** A block is read and decompressed as a whole: smaller blocks are faster to read, larger ones compress better. */
export const BLOCK_BYTES = 1024 * 1024;

export interface EncodedLayer {
  readonly index: Uint8Array<ArrayBuffer>;
  readonly data: Uint8Array<ArrayBuffer>;
}

/** Encodes the entries of a layer. The order of the files is the order of their data. */
export function encodeLayer(
  entries: readonly Entry[],
  sha256: (block: Uint8Array) => Uint8Array,
): EncodedLayer {
  const { offsets, data } = concatenate(entries);
  const children = childrenByDir(checkEntries(entries));
  const sorted = [...(children.get('') ?? [])];
  const firstChild = new Map<Entry, number>();
  // The list grows while it is visited.
  for (const entry of sorted) {
    if (entry.kind !== 'dir') continue;
    firstChild.set(entry, sorted.length);
    for (const child of children.get(entry.path) ?? []) sorted.push(child);
  }
  const targets = sorted.filter(({ kind }) => kind === 'symlink').map(({ target }) => target!);
  const names = sorted.map(({ path }) => path.slice(path.lastIndexOf('/') + 1));
  const text = new TextEncoder().encode([...names, ...targets].map((one) => `${one}\0`).join(''));
  const blocks = blockRanges(data.length).map(({ start, end }) => sha256(data.subarray(start, end)));
  const textAt = HEADER_BYTES + RECORD_BYTES * sorted.length;
  const index = new Uint8Array(textAt + text.length + DIGEST_BYTES * blocks.length);
  const view = new DataView(index.buffer);
  index.set(encodeMagic(MAGIC));
  view.setUint32(8, sorted.length, true);
  view.setUint32(12, text.length, true);
  view.setUint32(16, data.length, true);
  sorted.forEach((entry, i) => {
    const at = HEADER_BYTES + RECORD_BYTES * i;
    const { path, kind, mode, mtimeMs } = entry;
    const isDir = kind === 'dir';
    view.setFloat64(at, mtimeMs + 0, true); // + 0 turns -0 into 0
    view.setUint32(at + 8, mode, true);
    view.setUint32(at + 12, KINDS.indexOf(kind), true);
    view.setUint32(at + 16, (isDir ? firstChild.get(entry) : offsets.get(path)) ?? 0, true);
    view.setUint32(at + 20, (isDir ? children.get(path)?.length : entry.data?.length) ?? 0, true);
  });
  index.set(text, textAt);
  blocks.forEach((digest, i) => {
    index.set(digest, textAt + text.length + DIGEST_BYTES * i);
  });
  return { index, data };
}

function concatenate(entries: readonly Entry[]): {
  offsets: ReadonlyMap<string, number>;
  data: Uint8Array<ArrayBuffer>;
} {
  const size = entries.reduce((sum, { data }) => sum + (data?.length ?? 0), 0);
  if (size >= 2 ** 32)
    throw new SandboxError('build_failed', `A layer of ${formatItems(size, 'byte')} is too large.`);
  const data = new Uint8Array(size);
  const offsets = new Map<string, number>();
  let at = 0;
  for (const entry of entries) {
    if (entry.data === undefined) continue;
    offsets.set(entry.path, at);
    data.set(entry.data, at);
    at += entry.data.length;
  }
  return { offsets, data };
}

function childrenByDir(sorted: readonly Entry[]): Map<string, Entry[]> {
  const children = new Map<string, Entry[]>();
  for (const entry of sorted) {
    const dir = entry.path.slice(0, Math.max(0, entry.path.lastIndexOf('/')));
    const siblings = children.get(dir);
    if (siblings === undefined) children.set(dir, [entry]);
    else siblings.push(entry);
  }
  return children;
}

/** The blocks of data of this size. */
export function blockRanges(size: number): { start: number; end: number }[] {
  return Array.from({ length: Math.ceil(size / BLOCK_BYTES) }, (_, i) => ({
    start: i * BLOCK_BYTES,
    end: Math.min(size, (i + 1) * BLOCK_BYTES),
  }));
}

/** A verified index. */
export class LayerIndex {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #entries: number;
  readonly #textEnd: number;
  readonly dataBytes: number;
  #texts: readonly string[] | undefined;
  /** Position of the target of each link among the texts. */
  #targets: ReadonlyMap<number, number> | undefined;

  /** The bytes may be in shared memory. */
  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (bytes.length < HEADER_BYTES || !hasMagic(bytes, MAGIC))
      throw invalid('a bad magic number or version');
    this.#entries = this.#view.getUint32(8, true);
    this.#textEnd = HEADER_BYTES + RECORD_BYTES * this.#entries + this.#view.getUint32(12, true);
    this.dataBytes = this.#view.getUint32(16, true);
    const blocks = Math.ceil(this.dataBytes / BLOCK_BYTES);
    if (this.#textEnd + DIGEST_BYTES * blocks !== bytes.length) throw invalid('the wrong length');
  }

  /**
   * Throws `image_invalid` unless the index is one that `encodeLayer` can write for data of this size: a tree with valid
   * names whose files are within the data. The digests of the blocks are not compared.
   */
  check(dataBytes: number): void {
    if (this.dataBytes !== dataBytes) throw invalid('the wrong data size');
    const texts = this.#decodeTexts();
    if (texts.length !== this.#entries + this.#targets!.size + 1) throw invalid('the wrong number of names');
    const pathBytes = new Uint32Array(this.#entries);
    let next = 0;
    // Directories list their children one after another, so the next unused entry is the only valid first child.
    const takeChildren = (first: number, count: number, parentBytes: number) => {
      if (first !== next || first + count > this.#entries) throw invalid('children in the wrong place');
      next += count;
      for (let i = first; i < next; i++) {
        checked(() => checkName(texts[i]!));
        pathBytes[i] = parentBytes + utf8Length(texts[i]!) + 1;
        if (pathBytes[i]! > MAX_PATH_BYTES) throw invalid('a path that is too long');
      }
      if (new Set(texts.slice(first, next)).size !== count) throw invalid('two entries with the same path');
    };
    takeChildren(0, this.#rootChildren(), 0);
    for (let i = 0; i < this.#entries; i++) {
      const { kind, mode, mtimeMs, a, b } = this.#record(i);
      if (i >= next) throw invalid('an entry without a parent');
      if (kind === undefined || mode > 0o7777) throw invalid('an invalid kind or mode');
      if (!(Math.abs(mtimeMs) <= MAX_TIME_MS)) throw invalid('an invalid time');
      if (kind === 'file' && a + b > dataBytes) throw invalid('a file outside the data');
      if (kind === 'dir' && b > 0) takeChildren(a, b, pathBytes[i]!);
    }
    for (const at of this.#targets!.values()) checked(() => checkLinkTarget(texts[at]!));
  }

  /** The SHA-256 of a block. */
  blockDigest(block: number): Uint8Array {
    const at = this.#textEnd + DIGEST_BYTES * block;
    return this.#bytes.subarray(at, at + DIGEST_BYTES);
  }

  /**
   * The tree of the layer, which any number of volumes can mount. Directories are decoded and files are read with `read`
   * when they are first used. Layers that are mounted together need different `layer` numbers (1 to 63), which determine
   * their inode numbers.
   */
  tree(layer: number, read: (offset: number, size: number) => Uint8Array): DirNode {
    const firstIno = layer * 2 ** 24;
    const roots = () => this.#children(0, this.#rootChildren(), firstIno, read);
    return lazyDir({ ino: firstIno, mode: 0o755, mtimeMs: 0, ctimeMs: 0, readonly: true }, roots);
  }

  /** The children of the root are the entries before the children of the first directory that has any. */
  #rootChildren(): number {
    for (let i = 0; i < this.#entries; i++) {
      const { kind, a, b } = this.#record(i);
      if (kind === 'dir' && b > 0) return a;
    }
    return this.#entries;
  }

  /** The record of an entry; `a` and `b` are the two words whose meaning depends on the kind. */
  #record(i: number) {
    const at = HEADER_BYTES + RECORD_BYTES * i;
    const word = (offset: number) => this.#view.getUint32(at + offset, true);
    const mtimeMs = this.#view.getFloat64(at, true);
    return { mtimeMs, mode: word(8), kind: KINDS[word(12)], a: word(16), b: word(20) };
  }

  #children(
    first: number,
    count: number,
    firstIno: number,
    read: (offset: number, size: number) => Uint8Array,
  ): Map<string, Node> {
    const texts = this.#decodeTexts();
    const children = new Map<string, Node>();
    for (let i = first; i < first + count; i++) {
      const { kind, mode, mtimeMs, a, b } = this.#record(i);
      const init = { ino: firstIno + 1 + i, mode, mtimeMs, ctimeMs: mtimeMs, readonly: true };
      if (kind === 'file')
        children.set(
          texts[i]!,
          lazyFile(init, b, () => read(a, b)),
        );
      else if (kind === 'dir')
        children.set(
          texts[i]!,
          lazyDir(init, () => this.#children(a, b, firstIno, read)),
        );
      else children.set(texts[i]!, newLink(init, texts[this.#targets!.get(i)!]!));
    }
    return children;
  }

  #decodeTexts(): readonly string[] {
    if (this.#texts !== undefined) return this.#texts;
    const textAt = HEADER_BYTES + RECORD_BYTES * this.#entries;
    // TextDecoder does not accept shared memory, so the bytes are copied. A BOM is part of a name.
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    this.#texts = decoder.decode(new Uint8Array(this.#bytes.subarray(textAt, this.#textEnd))).split('\0');
    const targets = new Map<number, number>();
    for (let i = 0; i < this.#entries; i++) {
      if (this.#record(i).kind === 'symlink') targets.set(i, this.#entries + targets.size);
    }
    this.#targets = targets;
    return this.#texts;
  }
}

function checked(check: () => void): void {
  try {
    check();
  } catch (cause) {
    throw cause instanceof FsError ? invalid('an invalid name') : cause;
  }
}

function invalid(problem: string): SandboxError {
  return new SandboxError('image_invalid', `The index of a layer has ${problem}. Build it again.`);
}
