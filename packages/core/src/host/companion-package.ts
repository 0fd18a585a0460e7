/**
 * The optional npm package with Python packages that work without a network. It is used if it is installed beside this one.
 *
 * packages/packages.json and packages/wheels/, as `packages add` writes them
 * cache/<kind>/<key>.br, with what the sandbox would build from them, compressed
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { Transform, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createBrotliDecompress } from 'node:zlib';
import { allocateShared } from '../fs/shared-array-buffers.ts';
import {
  damagedPackage,
  OTHER_DIGEST,
  type OwnPackage,
  packageFolder,
  pathInPackage,
  readOwnPackage,
  readPackageFile,
  verifyPackage,
} from './own-packages.ts';

export const COMPANION = '@llm-wasm-sandbox/science';
const OVERRIDE = 'LLM_WASM_SANDBOX_COMPANION';
const OTHERWISE = ` To use none, set ${OVERRIDE} to an empty text.`;

/** Files are read and decompressed in parts of this size. */
const PART_BYTES = 1024 * 1024;

let found: { readonly folder: string | undefined; readonly companion: OwnPackage | undefined } | undefined;

/** The companion package; undefined if it is not installed. `LLM_WASM_SANDBOX_COMPANION` names another folder. */
function findCompanion(): OwnPackage | undefined {
  const override = process.env[OVERRIDE];
  const folder = override === undefined ? installedFolder() : override || undefined;
  if (found === undefined || found.folder !== folder)
    found = {
      folder,
      companion: folder === undefined ? undefined : readOwnPackage(COMPANION, folder, OTHERWISE),
    };
  return found.companion;
}

let installed: { readonly folder: string | undefined } | undefined;

function installedFolder(): string | undefined {
  installed ??= { folder: packageFolder(COMPANION) };
  return installed.folder;
}

/** The path of a file of the companion package, which is not read; undefined if the package does not have it. */
export function companionPath(path: string): string | undefined {
  const companion = findCompanion();
  return companion && pathInPackage(companion, path);
}

/** The contents of a file of the companion package; undefined if the package does not have it. */
export function readCompanionFile(path: string, maxBytes: number): Buffer | undefined {
  const companion = findCompanion();
  return companion && readPackageFile(companion, path, maxBytes);
}

/** The version and digest of the companion package, and a problem with one of its files; undefined if it is not installed. */
export function verifyCompanion():
  | { readonly version: string; readonly sha256: string; readonly problem: string | null }
  | undefined {
  const companion = findCompanion();
  if (companion === undefined) return undefined;
  const { version, sha256 } = companion;
  try {
    verifyPackage(companion);
    return { version, sha256, problem: null };
  } catch (cause) {
    return { version, sha256, problem: (cause as Error).message };
  }
}

/**
 * The contents of a compressed file of the companion package, in shared memory; undefined if the package does not have it.
 * They are read and decompressed in parts, and other work of the thread runs between them.
 */
export async function unpackCompanionFile(path: string): Promise<Uint8Array | undefined> {
  const companion = findCompanion();
  const at = companion && pathInPackage(companion, path);
  if (companion === undefined || at === undefined) return undefined;
  const { sha256, bytes = 0 } = companion.files[path]!;
  const content = allocateShared(bytes);
  const hash = createHash('sha256');
  let end = 0;
  try {
    await pipeline(
      createReadStream(at, { highWaterMark: PART_BYTES }),
      new Transform({
        transform(chunk: Uint8Array, _, done) {
          hash.update(chunk);
          done(null, chunk);
        },
      }),
      createBrotliDecompress({
        chunkSize: PART_BYTES,
        params: { [constants.BROTLI_DECODER_PARAM_LARGE_WINDOW]: true },
      }),
      new Writable({
        write(chunk: Uint8Array, _, done) {
          if (end + chunk.length > bytes) return done(new Error('it is too large'));
          content.set(chunk, end);
          end += chunk.length;
          done();
        },
      }),
    );
  } catch (cause) {
    throw damagedPackage(companion, path, (cause as Error).message);
  }
  if (end !== bytes || hash.digest('hex') !== sha256) throw damagedPackage(companion, path, OTHER_DIGEST);
  return content;
}
