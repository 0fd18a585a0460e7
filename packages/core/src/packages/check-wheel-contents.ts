/**
 * Selects the files of a Python wheel that a guest can use: pure files and libraries for WebAssembly. A wheel with libraries
 * for another machine is rejected unless the package is known to work without them.
 */
import { invalidArgument } from '../errors.ts';
import { type PackageFile, packageFileDigest } from './package-files.ts';
import { NATIVE_PLATFORM, NATIVE_TAGS, PYTHON_TAG } from './python-abi.ts';
import { ZIP_LIMITS } from './read-zip.ts';
import type { VendoredPackage } from './vendored-package-table.ts';
import { normalisedName } from './wheel-metadata.ts';

/** Files that an interpreter loads as code. Only those with an ending of LIBRARY can be for WebAssembly. */
const LOADED = /\.(so(\.\d+)*|pyd|dylib|dll)$/;
const LIBRARY = /\.so(\.\d+)*$/;
const WASM_MAGIC = [0x00, 0x61, 0x73, 0x6d];
/** The first bytes of libraries for other systems; the ending tells the rest. */
const ELF_MAGIC = [0x7f, 0x45, 0x4c, 0x46];
/** The ABI tags of the libraries that guests can load: "none" has libraries that do not use the interpreter. */
const ABI_TAGS: ReadonlySet<string> = new Set([PYTHON_TAG, 'abi3', 'none']);
/** Sources, headers, static archives and launchers, which no interpreter loads; type stubs, and installation records except metadata, entry points and licences. */
const EXCLUDED =
  /\.(c|cc|cpp|h|hpp|a|lib|exe|pyx|pxd|pxi|pyi|pyc)$|(^|\/)__pycache__\/|\.dist-info\/(?!METADATA$|entry_points\.txt$|licenses\/|LICEN[CS]E)|^[^/]+\.data\//;

/** Lines with the longest names and digests for the most files. */
const MAX_RECORD_BYTES = ZIP_LIMITS.members * (ZIP_LIMITS.nameBytes + 100);

const TEST_IMPORT = /^(from|import) +[\w.]*\.tests[ .]/m;
const TESTS = /(^|\/)tests\//;

interface WheelName {
  readonly name: string;
  readonly version: string;
  /** ABI and platform tags. */
  readonly abis: readonly string[];
  readonly platforms: readonly string[];
}

/** Parses the file name of a wheel; undefined if it is not one. */
export function parseWheelName(file: string): WheelName | undefined {
  const match = /^([A-Za-z0-9_.]+)-([A-Za-z0-9_.!+]+)(-\d[^-]*)?-[^-]+-([^-]+)-([^-]+)\.whl$/.exec(file);
  if (match === null) return undefined;
  const [, name, version, , abis, platforms] = match as unknown as string[];
  return { name: name!, version: version!, abis: abis!.split('.'), platforms: platforms!.split('.') };
}

/** Whether a file is a library that guests can load. */
export function isSideModule({ path, data }: PackageFile): boolean {
  return LIBRARY.test(path) && startsWith(data, WASM_MAGIC);
}

const startsWith = (data: Uint8Array, magic: readonly number[]) => magic.every((byte, i) => data[i] === byte);

const isForOtherMachine = (file: PackageFile) => LOADED.test(file.path) && !isSideModule(file);

/** What a file is that an interpreter would load, but guests cannot. */
function describeLibrary({ path, data }: PackageFile): string {
  if (startsWith(data, ELF_MAGIC)) return 'a library of machine code for Linux';
  if (/\.(pyd|dll)$/.test(path)) return 'a library for Windows';
  return path.endsWith('.dylib') ? 'a library for macOS' : 'not a WebAssembly module';
}

/** Throws if the libraries of a wheel do not match its tags, or are for WebAssembly but for another interpreter. */
export function checkTags(
  label: string,
  { abis, platforms }: WheelName,
  files: readonly PackageFile[],
): void {
  const other = platforms.includes(NATIVE_PLATFORM) ? files.find(isForOtherMachine) : undefined;
  if (other !== undefined)
    throw damaged(
      label,
      `${other.path} is ${describeLibrary(other)}, although the wheel is for ${NATIVE_PLATFORM}`,
    );
  if (!files.some(isSideModule)) return;
  if (abis.some((abi) => ABI_TAGS.has(abi)) && platforms.includes(NATIVE_PLATFORM)) return;
  throw invalidArgument(
    `${label} is built for ${abis.join('.')}-${platforms.join('.')}, which guests cannot load. ` +
      `Use a wheel for ${NATIVE_TAGS}, or a pure Python package.`,
  );
}

/**
 * Returns the files of a wheel that a guest can use, without `omitted_files` and tests. Throws if it contains machine
 * code, unless `compiled` says that the package works without it. `label` names the wheel in the error.
 */
export function usableFiles(
  label: string,
  files: readonly PackageFile[],
  { compiled, omitted_files }: Pick<VendoredPackage, 'compiled' | 'omitted_files'>,
): PackageFile[] {
  const binary = files.find(isForOtherMachine);
  if (binary !== undefined && compiled !== 'optional') {
    throw invalidArgument(
      `${label} contains compiled code (${binary.path}), which guests cannot load: it is ${describeLibrary(binary)}. ` +
        `Use a pure Python package, or a wheel for ${NATIVE_TAGS}.`,
    );
  }
  const isOmitted = ({ path }: PackageFile) => EXCLUDED.test(path) || omitted_files?.test(path) === true;
  const kept = files.filter((file) => !isForOtherMachine(file) && !isOmitted(file));
  return kept.some(importsTests) ? kept : kept.filter(({ path }) => !TESTS.test(path));
}

/** Whether a module that is not a test imports a package named "tests", as bottleneck does. */
const importsTests = ({ path, data }: PackageFile) =>
  path.endsWith('.py') && !TESTS.test(path) && TEST_IMPORT.test(new TextDecoder().decode(data));

/** Throws unless the wheel's RECORD lists each of these files with its digest. */
export function checkRecord(label: string, files: readonly PackageFile[]): void {
  const record = files.find(({ path }) => /^[^/]+\.dist-info\/RECORD$/.test(path));
  if (record === undefined) throw damaged(label, 'it has no RECORD');
  if (record.data.length > MAX_RECORD_BYTES) throw damaged(label, 'its RECORD is too large');
  const listed = new Map<string, string>();
  // A wheel has fewer files, so what follows is not about them.
  for (const line of new TextDecoder().decode(record.data).split(/\r?\n/, 2 * ZIP_LIMITS.members)) {
    const match = /^"?(.*?)"?,(?:sha256=([\w-]*))?,\d*$/.exec(line);
    if (match !== null) listed.set(match[1]!.replaceAll('""', '"'), match[2] ?? '');
  }
  for (const file of files) {
    const { path } = file;
    if (/\.dist-info\/RECORD(\.\w+)?$/.test(path)) continue;
    const found = packageFileDigest(file).toString('base64url');
    if (listed.get(path) !== found) throw damaged(label, `${path} does not match its RECORD`);
  }
}

/** Throws unless the wheel contains the package of its file name. */
export function checkWheelName(label: string, { name }: WheelName, files: readonly PackageFile[]): void {
  const names = files.flatMap(({ path }) => /^([^/]+?)(?:-[^-/]*)?\.dist-info\//.exec(path)?.[1] ?? []);
  const other = names.find((found) => normalisedName(found) !== normalisedName(name));
  if (other === undefined) return;
  throw invalidArgument(
    `${label} contains another package than its file name says: ${other}. Use a wheel under its original file name.`,
  );
}

const damaged = (label: string, problem: string) =>
  invalidArgument(`${label} is a damaged wheel: ${problem}. Download it again.`);
