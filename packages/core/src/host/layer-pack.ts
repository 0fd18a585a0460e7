/**
 * Read-only layers on disk and in memory. A pack is the index of a layer, followed by its data in compressed blocks. A
 * block is read, verified and decompressed when a file in it is first used, and stays in memory that all threads share.
 * The digest of the index identifies the layer, whatever the compression.
 *
 *   0          8 bytes    magic number; the last byte is the version
 *   8          u32        number of blocks b
 *   12         u32 × b    length of each compressed block
 *   12 + 4b               index (see fs/layer-index.ts); the head of the pack ends here
 *   …                     compressed blocks
 */
import { brotliDecompressSync } from 'node:zlib';
import { SandboxError } from '../errors.ts';
import { sha256, sha256Hex } from '../framing/digest.ts';
import { hasMagic } from '../framing/magic-number.ts';
import { ERRNO_ERRORS } from '../fs/fs-error.ts';
import { BLOCK_BYTES, LayerIndex } from '../fs/layer-index.ts';
import type { DirNode } from '../fs/nodes.ts';
import { readInto, readSharedFile } from './shared-file.ts';
import { damagedFile, type SharedLayer } from './shared-layer.ts';
import { uninterrupted } from './thread-critical-sections.ts';

export const PACK_MAGIC = 'lwspack\x01';
export const PACK_HEADER_BYTES = 12;

/** A layer whose index has been read and verified by this thread. */
export class OpenLayer {
  readonly #layer: SharedLayer;
  readonly #index: LayerIndex;
  /** Position of each compressed block in the file, and the end of the last one. */
  readonly #offsets: readonly number[];
  #damage: SandboxError | undefined;

  constructor(layer: SharedLayer) {
    this.#layer = layer;
    const head = readHead(layer);
    const isPack = hasMagic(head, PACK_MAGIC);
    const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
    const blocks = isPack ? view.getUint32(8, true) : 0;
    const index = isPack ? head.subarray(PACK_HEADER_BYTES + blocks * 4) : head;
    if (sha256Hex(index) !== layer.sha256) throw damaged(layer, 'its index does not match its SHA-256');
    this.#index = new LayerIndex(index);
    // The index of a layer in memory was written by a thread that ran code of packages.
    if (!isPack) this.#index.check(layer.data.length);
    const offsets = [head.length];
    for (let i = 0; i < blocks; i++)
      offsets.push(offsets[i]! + view.getUint32(PACK_HEADER_BYTES + i * 4, true));
    this.#offsets = offsets;
  }

  /** The tree of the layer. Files are read when they are used; a file that is damaged then fails with EIO. */
  tree(layer: number): DirNode {
    return this.#index.tree(layer, (offset, size) => {
      try {
        return this.#read(offset, size);
      } catch (cause) {
        if (!(cause instanceof SandboxError)) throw cause;
        this.#damage = cause;
        throw ERRNO_ERRORS.EIO;
      }
    });
  }

  /** Throws the error of a file that could not be read. The guest that used it may have ignored EIO. */
  checkDamage(): void {
    if (this.#damage !== undefined) throw this.#damage;
  }

  /** Reads and verifies all data. */
  verify(): void {
    this.#read(0, this.#index.dataBytes);
  }

  #read(offset: number, size: number): Uint8Array {
    const last = Math.ceil((offset + size) / BLOCK_BYTES);
    for (let block = Math.floor(offset / BLOCK_BYTES); block < last; block++) {
      if (Atomics.load(this.#layer.loaded, block) === 0) this.#load(block);
    }
    return this.#layer.data.subarray(offset, offset + size);
  }

  /** Two threads may load a block at once: both write the same verified bytes. */
  #load(block: number): void {
    const { head, data, loaded } = this.#layer;
    const [start, end] = [this.#offsets[block] ?? 0, this.#offsets[block + 1] ?? 0];
    const target = data.subarray(block * BLOCK_BYTES, (block + 1) * BLOCK_BYTES);
    let bytes: Buffer;
    try {
      const compressed = Buffer.alloc(end - start);
      readInto(head.path, start, compressed);
      bytes = uninterrupted(() => brotliDecompressSync(compressed, { maxOutputLength: target.length }));
    } catch (cause) {
      throw damaged(this.#layer, `block ${block} cannot be read: ${(cause as Error).message}`);
    }
    if (bytes.length !== target.length || !sha256(bytes).equals(this.#index.blockDigest(block)))
      throw damaged(this.#layer, `block ${block} does not match its SHA-256`);
    target.set(bytes);
    Atomics.store(loaded, block, 1);
  }
}

function readHead(layer: SharedLayer): Uint8Array {
  try {
    return readSharedFile(layer.head);
  } catch (cause) {
    throw damaged(layer, (cause as Error).message);
  }
}

function damaged({ head }: SharedLayer, problem: string): SandboxError {
  return damagedFile(head.path, problem);
}
