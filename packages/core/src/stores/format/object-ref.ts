/**
 * Objects: the contents of a session, addressed by SHA-256 and shared by its current state, its undo state and its
 * checkpoints. The kind of an object determines its file extension in a disk store.
 */
import { contentDigest } from './content-digest.ts';
import { damaged } from './stored-json.ts';

const EXTENSIONS = {
  /** The interpreter as a difference from its boot image. */
  memory: '.memory',
  /** The contents of a file. */
  data: '.data',
  /** A file tree: paths, modes, times, digests. */
  tree: '.tree.json',
  /** The paths that a commit changes in workspace/. */
  changes: '.changes.json',
} as const;
export type ObjectKind = keyof typeof EXTENSIONS;

export interface ObjectRef {
  readonly sha256: string;
  readonly bytes: number;
}

export function refTo(bytes: Uint8Array): ObjectRef {
  return { sha256: contentDigest(bytes), bytes: bytes.length };
}

export function objectName(kind: ObjectKind, ref: ObjectRef): string {
  return ref.sha256 + EXTENSIONS[kind];
}

/** Where a decoder reads objects from: a folder on disk, the tables of a database or the parts of a bundle. */
export interface ObjectSource {
  /** Shown in error messages. */
  readonly location: string;
  /**
   * Returns the bytes of an object after checking size and digest; file contents and memory images are in shared
   * memory. Throws `MissingObjectError` if the object does not exist.
   */
  read(kind: ObjectKind, ref: ObjectRef): Promise<Uint8Array>;
}

/**
 * An object does not exist: the session is damaged, or a writer removed the object after the manifest was read. Callers
 * that hold no lease cannot tell which, and try again.
 */
export class MissingObjectError extends Error {
  constructor(readonly path: string) {
    super(`${path} is missing`);
  }
}

/** For a caller for which no object is removed meanwhile: a missing object means that the session is damaged. */
export function asDamaged(error: unknown): never {
  throw error instanceof MissingObjectError ? damaged(error.path, 'is missing') : error;
}
