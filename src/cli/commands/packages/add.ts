/** `packages add`: adds packages by name, from wheels, or from the packages.json of another machine. */
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { parseAddedPackages, readAddedPackages } from '../../../packages/added-packages.ts';
import { type PackageRequest, PRESETS } from '../../../packages/resolve-packages.ts';
import { parseWheelName } from '../../../packages/wheel-files.ts';
import { normalisedName, parseRequirement } from '../../../packages/wheel-metadata.ts';
import { wheelsAt } from '../../../packages/wheel-sources.ts';
import { UsageError } from '../../exit-codes.ts';
import { exclusive } from './exclusive.ts';
import { installPackages } from './install.ts';

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
  return parseAddedPackages(readFileSync(path, 'utf8'), path).map(({ name, version, sha256 }) => ({
    name,
    specifiers: `==${version}`,
    sha256,
    isFile: true,
  }));
}

export const packagesAdd = exclusive(async (given, flags) => {
  if (given.length === 0 && flags.lock === undefined)
    throw new UsageError('Specify package names, wheels or folders, or --lock FILE.');
  const expanded = given.flatMap((one) => (Object.hasOwn(PRESETS, one) ? PRESETS[one]! : [one]));
  const files = expanded.filter(isPath).flatMap(wheelsAt);
  const requests = [
    ...fileRequests(files),
    ...expanded.filter((one) => !isPath(one)).map(nameRequest),
    ...(flags.lock === undefined ? [] : lockRequests(flags.lock)),
  ];
  // A wheel or a version replaces a package that was added before; a plain name does not.
  const replaced = new Set(requests.filter(({ specifiers }) => specifiers !== '').map(({ name }) => name));
  const kept = readAddedPackages().filter(({ name }) => !replaced.has(name));
  await installPackages(requests, files, kept, flags);
});
