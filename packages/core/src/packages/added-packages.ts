/**
 * The packages that `packages add` installed for this user. packages.json records the SHA-256 of each wheel, of its files
 * and of its libraries. A wheel that does not match is rejected.
 *
 * <packages>/packages.json, and <packages>/wheels/<SHA-256 of the wheel>/<file name>
 */
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as z from 'zod';
import { invalidArgument, SandboxError } from '../errors.ts';
import { sha256Hex } from '../framing/digest.ts';
import { COMPANION, companionPath, readCompanionFile } from '../host/companion-package.ts';
import { ensurePrivateFolder } from '../host/ensure-writable-folder.ts';
import { listFolder } from '../host/list-folder.ts';
import { readBoundedFile } from '../host/read-bounded-file.ts';
import { replaceFileSync } from '../host/replace-file.ts';
import { addedPackagesFile, packagesFolder } from '../host/user-folders.ts';
import { DEFAULT_LIMITS } from '../schema/default-limits.ts';
import type { PackageFacts } from '../schema.ts';
import { parseOnce } from './parse-once.ts';
import { NATIVE_PLATFORM } from './python-abi.ts';
import { MAX_WHEEL_BYTES } from './read-zip.ts';
import { HEAVY_SHARE } from './vendored-package-table.ts';
import { normalisedName } from './wheel-metadata.ts';

/** Size of a packages.json. */
export const MAX_LOCK_BYTES = 16 * 1024 * 1024;

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const fuel = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const name = z.string().regex(/^[a-z0-9][a-z0-9-]{0,100}$/);
const moduleName = z
  .string()
  .regex(
    /^[A-Za-z_]\w{0,100}$/,
    'expected at most 101 letters, digits and underscores, not starting with a digit',
  );

/** The record of a package. Names and versions become arguments of pip. */
export const addedPackage = z.strictObject({
  name,
  version: z.string().regex(/^[\w.!+-]{1,100}$/),
  file: z.string().regex(/^[\w.!+-]{1,200}\.whl$/),
  sha256,
  wheel_bytes: z.number().int().min(0).default(0),
  source: z.enum(['file', 'pip', 'pyodide']),
  /** Added by name or file, not only as a dependency. */
  requested: z.boolean(),
  /** Names of the added packages that it depends on. */
  requires: z.array(name).max(500),
  /** Digest of the files that guests see. */
  contents_sha256: sha256,
  libraries: z.array(z.strictObject({ path: z.string().min(1).max(1000), sha256 })).max(2000),
  import_names: z.array(moduleName).max(1000),
  /** Imports that were measured; none if the package has no modules of its own. */
  measured_imports: z.array(z.string().regex(/^[A-Za-z_]\w{0,100}(\.[A-Za-z_]\w{0,100}){0,3}$/)).max(10),
  fuel_first_import: fuel,
  fuel_cached_import: fuel,
  use: z.string().max(200),
  licence: z.string().max(200),
});
const addedPackages = z.strictObject({
  format: z.literal(1),
  platform: z.string(),
  packages: z.array(addedPackage).max(2000),
});

/** A package that was added, as packages.json describes it. */
export type AddedPackage = Readonly<z.infer<typeof addedPackage>>;

/** Throws if a wheel cannot be recorded in packages.json. Wheels are untrusted. */
export function checkDescription(wheel: Partial<AddedPackage> & Pick<AddedPackage, 'file'>): void {
  const { success, error } = addedPackage.partial().safeParse(wheel);
  if (success) return;
  const { path, message } = error.issues[0]!;
  const [field, index] = path;
  const value =
    typeof index === 'number' ? (wheel[field as keyof AddedPackage] as unknown[])[index] : undefined;
  const shown = typeof value === 'string' ? ` ${JSON.stringify(value.slice(0, 40))}` : '';
  throw invalidArgument(`${wheel.file} cannot be added: ${String(field)}${shown} is not valid (${message}).`);
}

const ownPath = ({ sha256, file }: Pick<AddedPackage, 'sha256' | 'file'>) =>
  join(packagesFolder(), 'wheels', sha256, file);

const pathInCompanion = ({ sha256, file }: Pick<AddedPackage, 'sha256' | 'file'>) =>
  companionPath(`packages/wheels/${sha256}/${file}`);

/** The path of a wheel: in the companion package, or in the folder of the user. */
export const wheelPath = (wheel: Pick<AddedPackage, 'sha256' | 'file'>) =>
  pathInCompanion(wheel) ?? ownPath(wheel);

/** How to replace the damaged wheel of a package. */
export const repairAdvice = (wheel: AddedPackage) =>
  pathInCompanion(wheel) === undefined
    ? `Run "llm-wasm-sandbox packages add ${wheel.name}" to add it again.`
    : `Install ${COMPANION} again.`;

/** The text of a packages.json; undefined if it does not exist. */
function readLock(path: string): string | undefined {
  try {
    return readBoundedFile(path, MAX_LOCK_BYTES).toString('utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new SandboxError('store_failed', `Cannot read the added packages: ${(cause as Error).message}`);
  }
}

const parseLock = parseOnce(parseAddedPackages);

const packagesIn = (text: string | undefined, path: string) =>
  text === undefined ? [] : parseLock(text, path);

/** The packages that the user added, sorted by name. */
const readOwnPackages = () => packagesIn(readLock(addedPackagesFile()), addedPackagesFile());

/** The packages of the companion package. */
function readCompanionPackages(): readonly AddedPackage[] {
  const path = 'packages/packages.json';
  return packagesIn(readCompanionFile(path, MAX_LOCK_BYTES)?.toString('utf8'), `${COMPANION}/${path}`);
}

/** Whether a package is not added by the user but part of the companion package. */
export const isOfCompanion = ({ name, sha256 }: AddedPackage) =>
  findAdded(readOwnPackages(), name) === undefined &&
  readCompanionPackages().some((one) => one.sha256 === sha256);

/** The added packages, and those of the companion package that the user has not added in another version. */
export function readAddedPackages(): readonly AddedPackage[] {
  const own = readOwnPackages();
  const others = readCompanionPackages().filter(({ name }) => findAdded(own, name) === undefined);
  return others.length === 0 ? own : [...own, ...others].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Parses the contents of a packages.json. */
export function parseAddedPackages(text: string, path: string): readonly AddedPackage[] {
  let data: z.infer<typeof addedPackages>;
  try {
    data = addedPackages.parse(JSON.parse(text));
  } catch {
    throw new SandboxError(
      'store_failed',
      `${path} is damaged. Delete it and add the packages again with "llm-wasm-sandbox packages add".`,
    );
  }
  if (data.platform !== NATIVE_PLATFORM)
    throw invalidArgument(
      `${path} lists packages for ${data.platform}, but guests need ${NATIVE_PLATFORM}. Delete it and add the packages again.`,
    );
  return data.packages;
}

/**
 * Replaces the list of added packages and deletes wheels that it does not contain. Must be called from an `exclusive` action
 * of the command line.
 */
export function writeAddedPackages(packages: readonly AddedPackage[]): void {
  const companion = new Set(readCompanionPackages().map(({ sha256 }) => sha256));
  const sorted = packages
    .filter(({ sha256 }) => !companion.has(sha256))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const lock = addedPackages.parse({ format: 1, platform: NATIVE_PLATFORM, packages: sorted });
  const path = addedPackagesFile();
  if (sorted.length === 0) rmSync(path, { force: true });
  else writeFileOfPackages(path, `${JSON.stringify(lock, null, 2)}\n`);
  deleteUnusedWheels();
}

/** Deletes the wheels that packages.json does not contain. */
export function deleteUnusedWheels(): void {
  const wheels = join(packagesFolder(), 'wheels');
  const used = new Set(readOwnPackages().map((one) => one.sha256));
  for (const folder of listFolder(wheels))
    if (!used.has(folder)) rmSync(join(wheels, folder), { recursive: true, force: true });
}

/** Copies a wheel to its folder, unless it is in the companion package. */
export function storeWheel(wheel: Pick<AddedPackage, 'sha256' | 'file'>, bytes: Uint8Array): void {
  if (pathInCompanion(wheel) === undefined) writeFileOfPackages(ownPath(wheel), bytes);
}

/** Writes a file in the folder of the packages. */
export function writeFileOfPackages(path: string, content: string | Uint8Array): void {
  try {
    ensurePrivateFolder(dirname(path));
    replaceFileSync(path, content);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const isFull = code === 'ENOSPC' || code === 'EDQUOT';
    const problem = isFull
      ? 'there is not enough disk space. Free some space, or set'
      : `${message}. Make the folder writable, or set`;
    throw new SandboxError(
      'store_failed',
      `Cannot write ${path}: ${problem} LLM_WASM_SANDBOX_PACKAGES_DIR to another folder.`,
    );
  }
}

/** Whether the wheel of an added package is missing or has changed. */
export function isDamaged(added: AddedPackage): boolean {
  try {
    return sha256Hex(readBoundedFile(wheelPath(added), MAX_WHEEL_BYTES)) !== added.sha256;
  } catch {
    return true;
  }
}

/** The names of the packages that were added by name or file. Programs that specify no packages use these. */
export const requestedPackages = () =>
  readAddedPackages()
    .filter(({ requested }) => requested)
    .map((one) => one.name);

/** The versions of the added packages, as `name==version`. */
export const addedVersions = () => readAddedPackages().map(({ name, version }) => `${name}==${version}`);

/** The added packages that these sources name, and those that they need; all if no sources are given. */
export function selectAdded(sources: readonly string[] | undefined): AddedPackage[] {
  const added = readAddedPackages();
  if (sources === undefined || sources.includes('auto')) return [...added];
  const named = sources.map((source) => findAdded(added, source)).filter((one) => one !== undefined);
  return withRequirements(named, added);
}

/** An added package, by any spelling of its name. */
export function findAdded(packages: readonly AddedPackage[], wanted: string): AddedPackage | undefined {
  const plain = normalisedName(wanted);
  return packages.find((one) => one.name === plain);
}

/** The packages and their dependencies. */
export function withRequirements(
  wanted: readonly AddedPackage[],
  packages: readonly AddedPackage[],
): AddedPackage[] {
  const byName = new Map(packages.map((one) => [one.name, one]));
  const found = new Set(wanted);
  for (const one of found) {
    for (const required of one.requires) {
      const other = byName.get(required);
      if (other !== undefined) found.add(other);
    }
  }
  return [...found];
}

/** The facts that listings, guidance and fuel reports use. */
export function addedFacts(added: AddedPackage): PackageFacts {
  return {
    language: 'python',
    name: added.name,
    import_names: added.import_names,
    version: added.version,
    heavy: added.fuel_first_import > HEAVY_SHARE * DEFAULT_LIMITS.fuel_budget,
    measured_imports: added.measured_imports,
    fuel_first_import: added.fuel_first_import,
    fuel_cached_import: added.fuel_cached_import,
    warm: false,
    use: added.use,
    licence: added.licence,
  };
}
