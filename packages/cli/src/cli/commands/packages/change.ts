/** The subcommands of `packages` that change what is installed or approved. One of them runs at a time, across all processes of the user. */
import { basename } from 'node:path';
import {
  type AddedPackage,
  type ApprovedWheel,
  approveWheels,
  COMPANION,
  escapeControls,
  findAdded,
  formatBytes,
  formatFuel,
  installPackages,
  isDamaged,
  isOfCompanion,
  MAX_LOCK_BYTES,
  measureImport,
  normalisedName,
  type PackageRequest,
  PRESETS,
  parseAddedPackages,
  parseRequirement,
  parseWheelName,
  pyodideUrl,
  type ResolutionSources,
  readAddedPackages,
  readApprovedWheels,
  readPyodideLock,
  resolvePackages,
  unpackInThread,
  wheelsAt,
  withdrawApproval,
  withPackagesLock,
  withRequirements,
  writeAddedPackages,
} from '@llm-wasm-sandbox/core/internal';
import { paint } from '../../color.ts';
import { printLines, printNote } from '../../diagnostics.ts';
import { didYouMean } from '../../did-you-mean.ts';
import { UsageError } from '../../exit-codes.ts';
import { formatTable } from '../../format-table.ts';
import { readLocalFile } from '../../local-files.ts';
import { Progress } from '../../progress-line.ts';
import { type PackagesAction, type PackagesFlags, requirePackage } from './inspect.ts';

const report = (text: string) => printLines(escapeControls(text));

const reportVendored = (names: readonly string[]) => {
  for (const name of names) report(`${name} is vendored: programs can import it already`);
};

/** Runs an action with the sources that the flags select. `files` are wheels that the caller specified. */
async function withSources(
  files: readonly string[],
  { pip, pyodide }: Pick<PackagesFlags, 'pip' | 'pyodide'>,
  action: (sources: ResolutionSources) => Promise<void>,
): Promise<void> {
  const progress = new Progress(() => 'Searching for packages');
  // Dependencies that are found later make the work longer; the bar stays where it was.
  let done = 0;
  const pyodideLock = readPyodideLock();
  const similar = (name: string) =>
    [...pyodideLock.packages.keys()].filter((one) => one !== name && one[0] === name[0]);
  try {
    await action({
      files,
      pip,
      pyodideUrl: pyodide ? pyodideUrl(pyodideLock) : undefined,
      pyodideLock,
      unpack: unpackInThread,
      onStep: (text, share = 0) => {
        done = Math.max(done, share);
        progress.step(text, done);
      },
      suggest: (name) => didYouMean(name, similar(name)),
    });
  } finally {
    progress.end();
  }
}

/** Adds packages to those in `kept`. `files` are wheels that the caller specified. Must be called from an `exclusive` action. */
async function installAndReport(
  requests: readonly PackageRequest[],
  files: readonly string[],
  kept: readonly AddedPackage[],
  flags: Pick<PackagesFlags, 'pip' | 'pyodide'>,
): Promise<void> {
  await withSources(files, flags, async (sources) => {
    const installation = { sources, kept, measure: measureImport };
    const { added, vendored, warnings } = await installPackages(requests, installation);
    reportVendored(vendored);
    for (const text of warnings) printLines(`${paint('warning', 'warning:')} ${escapeControls(text)}`);
    for (const { name, version, source, wheel_bytes, fuel_first_import } of added)
      report(
        `added ${name} ${version} (${source}, ${formatBytes(wheel_bytes)}); first import ${formatFuel(fuel_first_import)} fuel`,
      );
  });
}

/** The action, which starts once no other command is changing the added packages. */
export const exclusive =
  (action: PackagesAction): PackagesAction =>
  (names, flags) =>
    withPackagesLock(
      () => action(names, flags),
      () => printNote('waiting for another command that changes the added packages'),
    );

const isPath = (text: string) => text.endsWith('.whl') || /[\\/]/.test(text) || text === '.';

/** Requests for exactly these wheels. */
function fileRequests(paths: readonly string[]): PackageRequest[] {
  return paths.map((path) => {
    const wheel = parseWheelName(basename(path));
    if (wheel === undefined) throw new UsageError(`${path} is not a valid wheel file name.`);
    return { name: normalisedName(wheel.name), specifiers: `==${wheel.version}`, isFile: true };
  });
}

function nameRequest(text: string): PackageRequest {
  const parsed = parseRequirement(text);
  if (parsed === undefined)
    throw new UsageError(`Expected a package name, a wheel or a folder, not ${JSON.stringify(text)}.`);
  return { name: parsed.name, specifiers: parsed.specifiers };
}

function lockRequests(path: string): PackageRequest[] {
  return parseAddedPackages(readLocalFile(path, MAX_LOCK_BYTES).toString('utf8'), path).map(
    ({ name, version, sha256 }) => ({
      name,
      specifiers: `==${version}`,
      sha256,
      isFile: true,
    }),
  );
}

/** The name of a package whose wheel is damaged requests the version that was added, so that it is added again. */
function repairRequest(request: PackageRequest, added: readonly AddedPackage[]): PackageRequest {
  const found = request.specifiers === '' ? findAdded(added, request.name) : undefined;
  return found !== undefined && isDamaged(found)
    ? { ...request, specifiers: `==${found.version}`, isFile: true, requested: found.requested }
    : request;
}

/** The packages that the operands of a command name, and the wheels among them. */
function readRequests(given: readonly string[]): { requests: PackageRequest[]; files: string[] } {
  const expanded = given.flatMap((one) => (Object.hasOwn(PRESETS, one) ? PRESETS[one]! : [one]));
  const files = expanded.filter(isPath).flatMap(wheelsAt);
  const named = expanded.filter((one) => !isPath(one)).map(nameRequest);
  return { requests: [...fileRequests(files), ...named], files };
}

export const packagesAdd = exclusive(async (given, flags) => {
  if (given.length === 0 && flags.lock === undefined)
    throw new UsageError('Specify package names, wheels or folders, or --lock FILE.');
  const added = readAddedPackages();
  const { requests: wanted, files } = readRequests(given);
  const requests = [
    ...wanted.map((one) => repairRequest(one, added)),
    ...(flags.lock === undefined ? [] : lockRequests(flags.lock)),
  ];
  // A wheel or a version replaces a package that was added before; a plain name does not.
  const replaced = new Set(requests.filter(({ specifiers }) => specifiers !== '').map(({ name }) => name));
  const kept = added.filter(({ name }) => !replaced.has(name));
  for (const { name } of requests) {
    const present = findAdded(kept, name);
    if (present !== undefined) printNote(`${name} ${present.version} is already added`);
  }
  await installAndReport(requests, files, kept, flags);
});

export const packagesUpdate = exclusive(async (names, flags) => {
  const added = readAddedPackages();
  if (added.length === 0) printNote('there are no added packages');
  const wanted = names.map((name) => requirePackage(name, added));
  const updated = withRequirements(names.length === 0 ? added : wanted, added);
  const requests = (names.length === 0 ? added.filter((one) => one.requested) : wanted).map(
    ({ name, requested }) => ({ name, specifiers: '', isFile: true, requested }),
  );
  await installAndReport(
    requests,
    [],
    added.filter((one) => !updated.includes(one)),
    flags,
  );
});

export const packagesRemove = exclusive(async (names) => {
  const added = readAddedPackages();
  const removed = names.map((name) => {
    const found = requirePackage(name, added);
    if (isOfCompanion(found))
      throw new UsageError(`${name} is part of an npm package. Uninstall ${COMPANION} to remove it.`);
    return found;
  });
  const requested = added.filter((one) => one.requested && !removed.includes(one));
  const kept = withRequirements(requested, added);
  const needed = removed.find((one) => kept.includes(one));
  if (needed !== undefined) {
    const users = kept.filter(({ requires }) => requires.includes(needed.name)).map(({ name }) => name);
    const list = users.join(', ');
    throw new UsageError(`${needed.name} is required by ${list}. Remove ${list} as well.`);
  }
  writeAddedPackages(kept);
  const gone = added.filter((one) => !kept.includes(one)).map(({ name }) => name);
  process.stdout.write(`removed ${gone.join(', ')}\n`);
});

export const packagesLock = exclusive(async (given, flags) => {
  if (flags.remove) return withdraw(given);
  if (given.length === 0) return listApproved(readApprovedWheels());
  const { requests, files } = readRequests(given);
  await withSources(files, flags, async (sources) => {
    const { packages, vendored } = await resolvePackages(requests, [], sources);
    approveWheels(packages);
    reportVendored(vendored);
    for (const { name, version, sha256 } of packages)
      report(`approved ${name} ${version} (SHA-256 ${sha256})`);
  });
});

function listApproved(approved: readonly ApprovedWheel[]): void {
  const rows = approved.map(({ name, version, sha256 }) => [name, version, sha256]);
  if (rows.length > 0) console.log(formatTable(['PACKAGE', 'VERSION', 'SHA-256'], rows));
  else console.log('No wheels are approved. Approve some with "llm-wasm-sandbox packages lock NAME".');
}

function withdraw(given: readonly string[]): void {
  if (given.length === 0) throw new UsageError('Specify the names of approved packages.');
  const names = new Set(given.map(normalisedName));
  const approved = new Set(readApprovedWheels().map(({ name }) => name));
  const unknown = [...names].find((name) => !approved.has(name));
  if (unknown !== undefined)
    throw new UsageError(`${unknown} is not approved. "packages lock" without names lists the approvals.`);
  withdrawApproval(names);
  for (const name of names) report(`withdrew the approval of ${name}`);
}
