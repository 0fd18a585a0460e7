/**
 * The optional npm package with Python packages that work without a network. It is used if it is installed beside this one.
 * Its files are trusted like those of the installation, so each must match the SHA-256 in manifest.json:
 *
 * packages/packages.json and packages/wheels/, as `packages add` writes them
 * cache/<kind>/<key>.br, with what the sandbox would build from them, compressed
 */
import { createHash } from 'node:crypto';
import { createReadStream, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Transform, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createBrotliDecompress } from 'node:zlib';
import { SandboxError } from '../errors.ts';
import { sha256Hex } from '../framing/digest.ts';
import { checked, integer, type Matched, object, optional, record, text } from '../framing/json-checks.ts';
import { allocateShared } from '../fs/shared-array-buffers.ts';
import { installedFile } from './install-folder.ts';
import { readBoundedFile } from './read-bounded-file.ts';

export const COMPANION = '@llm-wasm-sandbox/science';
const OVERRIDE = 'LLM_WASM_SANDBOX_COMPANION';

const MAX_MANIFEST_BYTES = 1024 * 1024;
/** Contents of a compressed file. */
const MAX_CONTENT_BYTES = 1024 * 1024 * 1024;
/** Files are read and decompressed in parts of this size. */
const PART_BYTES = 1024 * 1024;

const digest = text(64, /^[0-9a-f]{64}$/);
const manifest = object({
  /** The version of the sandbox for which the package was built. */
  sandbox: text(100),
  /** By path, with slashes. `bytes` is the size of the contents of a compressed file. */
  files: record(object({ sha256: digest, bytes: optional(integer(0, MAX_CONTENT_BYTES)) })),
});
type Manifest = Matched<typeof manifest>;

interface Companion {
  readonly folder: string;
  /** The digest of the manifest, which identifies the package. */
  readonly sha256: string;
  readonly version: string;
  readonly files: Manifest['files'];
}

let found: { readonly folder: string | undefined; readonly companion: Companion | undefined } | undefined;

/** The companion package; undefined if it is not installed. `LLM_WASM_SANDBOX_COMPANION` names another folder. */
function findCompanion(): Companion | undefined {
  const override = process.env[OVERRIDE];
  const folder = override === undefined ? installedFolder() : override || undefined;
  if (found === undefined || found.folder !== folder)
    found = { folder, companion: folder === undefined ? undefined : readManifest(folder) };
  return found.companion;
}

let installed: { readonly folder: string | undefined } | undefined;

function installedFolder(): string | undefined {
  installed ??= { folder: resolveFolder() };
  return installed.folder;
}

function resolveFolder(): string | undefined {
  try {
    return dirname(createRequire(import.meta.url).resolve(`${COMPANION}/package.json`));
  } catch {
    return undefined;
  }
}

/** Reads the manifest. Throws if it is damaged or for another version. */
function readManifest(folder: string): Companion {
  let bytes: Buffer;
  let data: unknown;
  try {
    bytes = readBoundedFile(join(folder, 'manifest.json'), MAX_MANIFEST_BYTES);
    data = JSON.parse(bytes.toString('utf8'));
  } catch (cause) {
    throw damaged('manifest.json', (cause as Error).message);
  }
  const { sandbox, files } = checked(manifest, data, (path) =>
    damaged('manifest.json', `it has an invalid value at ${path}`),
  );
  const { version } = JSON.parse(readFileSync(installedFile('../package.json'), 'utf8')) as {
    version: string;
  };
  if (sandbox !== version)
    throw new SandboxError(
      'not_installed',
      `${COMPANION} is for version ${sandbox} of llm-wasm-sandbox, and this is version ${version}. Install the same ` +
        `version: npm install ${COMPANION}@${version}. To use none, set ${OVERRIDE} to an empty text.`,
    );
  return { folder, sha256: sha256Hex(bytes), version, files };
}

function damaged(path: string, problem: string): SandboxError {
  const advice = `Install ${COMPANION} again, or set ${OVERRIDE} to an empty text to use none.`;
  return new SandboxError(
    'image_invalid',
    `The file ${path} of ${COMPANION} is damaged: ${problem}. ${advice}`,
  );
}

const OTHER_DIGEST = 'its SHA-256 is not the one in manifest.json';

/** The path of a file of the companion package, which is not read; undefined if the package does not have it. */
export function companionPath(path: string): string | undefined {
  const companion = findCompanion();
  return companion === undefined || !Object.hasOwn(companion.files, path)
    ? undefined
    : join(companion.folder, path);
}

/** The contents of a file of the companion package; undefined if the package does not have it. */
export function readCompanionFile(path: string, maxBytes: number): Buffer | undefined {
  const at = companionPath(path);
  if (at === undefined) return undefined;
  let bytes: Buffer;
  try {
    bytes = readBoundedFile(at, maxBytes);
  } catch (cause) {
    throw damaged(path, (cause as Error).message);
  }
  if (sha256Hex(bytes) !== findCompanion()!.files[path]!.sha256) throw damaged(path, OTHER_DIGEST);
  return bytes;
}

/** The version and digest of the companion package, and a problem with one of its files; undefined if it is not installed. */
export function verifyCompanion():
  | { readonly version: string; readonly sha256: string; readonly problem: string | null }
  | undefined {
  const companion = findCompanion();
  if (companion === undefined) return undefined;
  const { version, sha256, files } = companion;
  try {
    for (const path of Object.keys(files)) readCompanionFile(path, MAX_CONTENT_BYTES);
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
  const at = companionPath(path);
  if (at === undefined) return undefined;
  const { sha256, bytes = 0 } = findCompanion()!.files[path]!;
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
    throw damaged(path, (cause as Error).message);
  }
  if (end !== bytes || hash.digest('hex') !== sha256) throw damaged(path, OTHER_DIGEST);
  return content;
}
