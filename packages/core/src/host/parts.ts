/**
 * The parts of the installation that are npm packages of their own, so that `npm install --omit=optional` leaves them out. A
 * part has the same paths as the folder of the compiled code. A checkout, which has no packages, has the files there.
 * Descriptions with the digests of all files are in the main package, so a part cannot bring other contents.
 */
import { existsSync } from 'node:fs';
import { SandboxError } from '../errors.ts';
import { installedFile } from './install-folder.ts';
import {
  installedVersion,
  type OwnPackage,
  packageFolder,
  pathInPackage,
  readOwnPackage,
  verifyPackage,
} from './own-packages.ts';

interface InstallationPart {
  /** What the part contains; the subject of a sentence. */
  readonly contents: string;
  /** Paths of its files. */
  readonly files: RegExp;
  /** One of them. */
  readonly sample: string;
}

const PARTS = {
  packages: {
    contents: 'Vendored packages are',
    files: /^guests\/(?:python\/layer-1|javascript\/layer-2)\.pack$/,
    sample: 'guests/python/layer-1.pack',
  },
  charts: {
    contents: 'The renderer of charts and images is',
    files: /^guests\/charts\/[^/]+\.(?:image|wasm|ttf)$/,
    sample: 'guests/charts/vega.image',
  },
  programs: {
    contents: 'Commands that are C programs are',
    files: /^guests\/programs\/[^/]+\.(?:image|wasm|pack)$/,
    sample: 'guests/programs/toybox.wasm',
  },
} as const satisfies Record<string, InstallationPart>;

export type PartName = keyof typeof PARTS;
export const PART_NAMES = Object.keys(PARTS) as PartName[];
export const partPackage = (name: PartName) => `@llm-wasm-sandbox/${name}`;

/** The part that a file is in; undefined for files of the main package. */
export const partOfFile = (path: string): PartName | undefined =>
  PART_NAMES.find((name) => PARTS[name].files.test(path));

const packages = new Map<PartName, OwnPackage>();

/** The package of a part. Throws `not_installed` if it is not installed or has another version. */
function findPart(name: PartName): OwnPackage {
  const before = packages.get(name);
  if (before !== undefined) return before;
  const folder = packageFolder(partPackage(name));
  if (folder === undefined) {
    const command = `npm install ${partPackage(name)}@${installedVersion()}`;
    throw new SandboxError(
      'not_installed',
      `${PARTS[name].contents} in the optional package ${partPackage(name)}, which is not installed: ${command}`,
    );
  }
  const found = readOwnPackage(partPackage(name), folder);
  packages.set(name, found);
  return found;
}

/** The path of a file of the installation, which may be in a part. Throws `not_installed` if the part cannot be used. */
export function findFile(path: string): string {
  const own = installedFile(path);
  const part = partOfFile(path);
  if (part === undefined || existsSync(own)) return own;
  return pathInPackage(findPart(part), path) ?? own;
}

/** Whether the files of a part are those of a checkout. */
const isInCheckout = (name: PartName) => existsSync(installedFile(PARTS[name].sample));

/** Why a part cannot be used, and what to do; undefined if it can be used. */
export function partProblem(name: PartName): string | undefined {
  try {
    if (!isInCheckout(name)) findPart(name);
    return undefined;
  } catch (cause) {
    if (cause instanceof SandboxError) return cause.message;
    throw cause;
  }
}

/** The packages of the parts that are installed as packages. */
export const installedParts = (): string[] =>
  PART_NAMES.filter((name) => !isInCheckout(name))
    .map(partPackage)
    .filter((name) => packageFolder(name) !== undefined);

/** Verifies the files of a part that is installed as a package. */
export function verifyPart(name: PartName): void {
  if (!isInCheckout(name)) verifyPackage(findPart(name));
}
