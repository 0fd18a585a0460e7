/**
 * The npm packages with files of this project: optional parts of the installation, and the companion package. They are found
 * beside this package. Their files are trusted like those of the installation: manifest.json has the version of the sandbox,
 * which must be this one, and the SHA-256 of each file.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { SandboxError } from '../errors.ts';
import { sha256Hex } from '../framing/digest.ts';
import { checked, integer, type Matched, object, optional, record, text } from '../framing/json-checks.ts';
import { installedFile } from './install-folder.ts';
import { readBoundedFile } from './read-bounded-file.ts';

const MAX_MANIFEST_BYTES = 1024 * 1024;
/** A file, or the contents of a compressed file. */
const MAX_CONTENT_BYTES = 1024 * 1024 * 1024;

const digest = text(64, /^[0-9a-f]{64}$/);
const manifest = object({
  /** The version of the sandbox for which the package was built. */
  sandbox: text(100),
  /** By path, with slashes. `bytes` is the size of the contents of a compressed file. */
  files: record(object({ sha256: digest, bytes: optional(integer(0, MAX_CONTENT_BYTES)) })),
});

export interface OwnPackage {
  readonly name: string;
  readonly folder: string;
  /** The digest of the manifest, which identifies the package. */
  readonly sha256: string;
  readonly version: string;
  readonly files: Matched<typeof manifest>['files'];
  /** What else the user can do if the package cannot be used: a sentence after a space, or nothing. */
  readonly otherwise: string;
}

/** The folder of a package that is installed beside this one; undefined if it is not. */
export function packageFolder(name: string): string | undefined {
  try {
    return dirname(createRequire(installedFile('index.js')).resolve(`${name}/package.json`));
  } catch {
    return undefined;
  }
}

/** The version of this installation. */
export const installedVersion = (): string =>
  (JSON.parse(readFileSync(installedFile('../package.json'), 'utf8')) as { version: string }).version;

/** Reads the manifest of a package. Throws if it is damaged or for another version. */
export function readOwnPackage(name: string, folder: string, otherwise = ''): OwnPackage {
  const fail = (problem: string) => damagedPackage({ name, otherwise }, 'manifest.json', problem);
  let bytes: Buffer;
  let data: unknown;
  try {
    bytes = readBoundedFile(join(folder, 'manifest.json'), MAX_MANIFEST_BYTES);
    data = JSON.parse(bytes.toString('utf8'));
  } catch (cause) {
    throw fail((cause as Error).message);
  }
  const { sandbox, files } = checked(manifest, data, (path) => fail(`it has an invalid value at ${path}`));
  const version = installedVersion();
  if (sandbox !== version)
    throw new SandboxError(
      'not_installed',
      `${name} is for version ${sandbox} of llm-wasm-sandbox, and this is version ${version}. Install the same ` +
        `version: npm install ${name}@${version}.${otherwise}`,
    );
  return { name, folder, sha256: sha256Hex(bytes), version, files, otherwise };
}

/** The error for a file of a package that cannot be used. */
export function damagedPackage(
  { name, otherwise }: Pick<OwnPackage, 'name' | 'otherwise'>,
  path: string,
  problem: string,
): SandboxError {
  return new SandboxError(
    'image_invalid',
    `The file ${path} of ${name} is damaged: ${problem}. Install ${name} again.${otherwise}`,
  );
}

export const OTHER_DIGEST = 'its SHA-256 is not the one in manifest.json';

/** The path of a file of a package, which is not read; undefined if the package does not have it. */
export const pathInPackage = ({ folder, files }: OwnPackage, path: string): string | undefined =>
  Object.hasOwn(files, path) ? join(folder, path) : undefined;

/** The contents of a file of a package; undefined if the package does not have it. */
export function readPackageFile(own: OwnPackage, path: string, maxBytes: number): Buffer | undefined {
  const at = pathInPackage(own, path);
  if (at === undefined) return undefined;
  let bytes: Buffer;
  try {
    bytes = readBoundedFile(at, maxBytes);
  } catch (cause) {
    throw damagedPackage(own, path, (cause as Error).message);
  }
  if (sha256Hex(bytes) !== own.files[path]!.sha256) throw damagedPackage(own, path, OTHER_DIGEST);
  return bytes;
}

/** Reads all files of a package and throws if one is damaged. */
export function verifyPackage(own: OwnPackage): void {
  for (const path of Object.keys(own.files)) readPackageFile(own, path, MAX_CONTENT_BYTES);
}
