/**
 * Read-only layers as threads receive them. The main thread creates them without reading any file; layer-pack.ts reads their
 * contents in the threads that use them.
 */
import { SandboxError } from '../errors.ts';
import { sha256, sha256Hex } from '../framing/digest.ts';
import type { Entry } from '../fs/flat-entries.ts';
import { BLOCK_BYTES, encodeLayer } from '../fs/layer-index.ts';
import { type SharedFile, sharedBytes, sharedFile } from './shared-file.ts';

/** The facts about a pack that are needed to use it without reading it first. */
export interface PackFacts {
  /** Absolute path of the layer in the guest. */
  readonly at: string;
  /** SHA-256 of the index. */
  readonly sha256: string;
  readonly head_bytes: number;
  readonly data_bytes: number;
}

/** A layer as it is sent to threads: all buffers are in shared memory. */
export interface SharedLayer extends Pick<PackFacts, 'at' | 'sha256'> {
  /** The head of the pack; for a layer without a pack, the index. */
  readonly head: SharedFile;
  /** The data; a block is valid if its word in `loaded` is 1. */
  readonly data: Uint8Array;
  readonly loaded: Int32Array;
}

const shared = (bytes: number) => new Uint8Array(new SharedArrayBuffer(bytes));
const words = (count: number) => new Int32Array(new SharedArrayBuffer(count * 4));

/** A layer whose pack is in a file. Nothing is read yet. */
export function packedLayer(path: string, facts: PackFacts): SharedLayer {
  return {
    at: facts.at,
    sha256: facts.sha256,
    head: sharedFile(path, facts.head_bytes),
    data: shared(facts.data_bytes),
    loaded: words(Math.ceil(facts.data_bytes / BLOCK_BYTES)),
  };
}

/** A layer that is completely in memory. `index` and `data` must be in shared memory. */
export function memoryLayer(at: string, index: Uint8Array, data: Uint8Array): SharedLayer {
  const loaded = words(Math.ceil(data.length / BLOCK_BYTES)).fill(1);
  return { at, sha256: sha256Hex(index), head: sharedBytes(index), data, loaded };
}

/** Whether a layer was made by `memoryLayer`. */
export const isMemoryLayer = ({ head }: SharedLayer) => head.path === '';

/** An empty layer in place of one whose pack, at this path, is not installed. */
export function absentLayer(path: string, at: string): SharedLayer {
  const layer = encodeMemoryLayer(at, []);
  return { ...layer, head: { ...layer.head, path } };
}

/** Encodes entries as a layer in shared memory. */
export function encodeMemoryLayer(at: string, entries: readonly Entry[]): SharedLayer {
  const { index, data } = encodeLayer(entries, sha256);
  const [sharedIndex, sharedData] = [shared(index.length), shared(data.length)];
  sharedIndex.set(index);
  sharedData.set(data);
  return memoryLayer(at, sharedIndex, sharedData);
}

const REPAIR = 'Install the package again, or run "npm run build" in a checkout';

/** The error for a file of the installation that cannot be used. It contains only the end of the path. */
export function damagedFile(path: string, problem: string): SandboxError {
  const name = path.split(/[\\/]/).slice(-3).join('/');
  return new SandboxError('image_invalid', `The file ${name} is damaged: ${problem}. ${REPAIR}.`);
}
