/** `packages add`: adds packages by name, from wheels, or from the packages.json of another machine. */
import { basename } from 'node:path';
import {
  type AddedPackage,
  findAdded,
  isDamaged,
  MAX_LOCK_BYTES,
  parseAddedPackages,
  readAddedPackages,
} from '../../../packages/added-packages.ts';
import { parseWheelName } from '../../../packages/check-wheel-contents.ts';
import { type PackageRequest, PRESETS } from '../../../packages/resolve-packages.ts';
import { normalisedName, parseRequirement } from '../../../packages/wheel-metadata.ts';
import { wheelsAt } from '../../../packages/wheel-sources.ts';
import { printNote } from '../../diagnostics.ts';
import { UsageError } from '../../exit-codes.ts';
import { readLocalFile } from '../../local-files.ts';
import { exclusive } from './exclusive.ts';
import { installAndReport } from './install-packages.ts';

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
export function readRequests(given: readonly string[]): { requests: PackageRequest[]; files: string[] } {
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
