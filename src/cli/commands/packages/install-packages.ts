/** The common part of `packages add` and `packages update`: finds the wheels, tries the imports, and records the packages. */

import { escapeControls } from '../../../analysis/escape-controls.ts';
import { SandboxError } from '../../../errors.ts';
import {
  type AddedPackage,
  deleteUnusedWheels,
  storeWheel,
  wheelPath,
  withRequirements,
  writeAddedPackages,
} from '../../../packages/added-packages.ts';
import { readPyodideLock } from '../../../packages/pyodide-lock.ts';
import { NATIVE_PLATFORM } from '../../../packages/python-abi.ts';
import {
  type PackageRequest,
  type ResolvedPackage,
  resolvePackages,
} from '../../../packages/resolve-packages.ts';
import { pyodideUrl } from '../../../packages/wheel-sources.ts';
import { formatFuel } from '../../../quantities.ts';
import { unpackInThread } from '../../../worker/unpack-in-thread.ts';
import { paint } from '../../color.ts';
import { printLines } from '../../diagnostics.ts';
import { didYouMean } from '../../did-you-mean.ts';
import { Progress } from '../../progress-line.ts';
import { measureImport } from './measure-imports.ts';
import type { PackagesFlags } from './subcommand.ts';

const NOT_MEASURED = { fuel_first_import: 0, fuel_cached_import: 0 };

const report = (text: string) => printLines(escapeControls(text));
const warn = (text: string) => printLines(`${paint('warning', 'warning:')} ${escapeControls(text)}`);

/** Adds packages to those in `kept`. `files` are wheels that the caller specified. Must be called from an `exclusive` action. */
export async function installPackages(
  requests: readonly PackageRequest[],
  files: readonly string[],
  kept: readonly AddedPackage[],
  flags: Pick<PackagesFlags, 'pip' | 'pyodide'>,
): Promise<void> {
  const progress = new Progress(() => 'Searching for packages');
  try {
    await install(requests, files, kept, flags, progress);
  } finally {
    progress.end();
  }
}

async function install(
  requests: readonly PackageRequest[],
  files: readonly string[],
  kept: readonly AddedPackage[],
  { pip, pyodide }: Pick<PackagesFlags, 'pip' | 'pyodide'>,
  progress: Progress,
): Promise<void> {
  const pyodideLock = readPyodideLock();
  const sources = {
    files,
    pip,
    pyodideUrl: pyodide ? pyodideUrl(pyodideLock) : undefined,
    pyodideLock,
    unpack: unpackInThread,
    onStep: (text: string) => progress.step(text),
    suggest: (name: string) =>
      didYouMean(
        name,
        [...pyodideLock.packages.keys()].filter((one) => one !== name && one[0] === name[0]),
      ),
  };
  const { packages, vendored, conflicts } = await resolvePackages(requests, kept, sources);
  for (const name of vendored) report(`${name} is vendored: programs can import it already`);
  for (const conflict of conflicts) warn(conflict);
  const requestedNames = new Set(requests.filter((one) => one.requested !== false).map(({ name }) => name));
  const others = kept.map((one) => (requestedNames.has(one.name) ? { ...one, requested: true } : one));
  try {
    for (const one of packages) storeWheel(one, one.bytes);
    const measured = await tryImports(packages, others, progress);
    const all = [...others, ...measured];
    const needed = withRequirements(
      all.filter(({ requested }) => requested),
      all,
    );
    writeAddedPackages(needed);
    for (const { name, version, source, fuel_first_import } of measured)
      report(`added ${name} ${version} (${source}); first import ${formatFuel(fuel_first_import)} fuel`);
  } catch (cause) {
    deleteUnusedWheels();
    throw cause;
  }
}

async function tryImports(
  packages: readonly ResolvedPackage[],
  others: readonly AddedPackage[],
  progress: Progress,
): Promise<AddedPackage[]> {
  const wheels = [...others, ...packages].map(wheelPath);
  const measured: AddedPackage[] = [];
  for (const { bytes: _, ...one } of packages) {
    const [module] = one.measured_imports;
    if (module === undefined) {
      measured.push({ ...one, ...NOT_MEASURED });
      continue;
    }
    progress.step(`importing ${module}`);
    const outcome = await measureImport(module, wheels);
    if (!('failure' in outcome)) measured.push({ ...one, ...outcome });
    else if (one.requested)
      throw new SandboxError(
        'invalid_argument',
        `${one.name} was not added: importing ${module} fails: ${outcome.failure}. Add another version, or a wheel for ${NATIVE_PLATFORM}.`,
      );
    else {
      warn(`importing the dependency ${module} fails: ${outcome.failure}`);
      measured.push({ ...one, ...NOT_MEASURED, measured_imports: [] });
    }
  }
  return measured;
}
