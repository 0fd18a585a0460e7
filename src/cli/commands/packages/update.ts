/** `packages update`: replaces added packages with their newest compatible versions. */
import { findAdded, readAddedPackages, withRequirements } from '../../../packages/added-packages.ts';
import { printNote } from '../../diagnostics.ts';
import { UsageError } from '../../exit-codes.ts';
import { exclusive } from './exclusive.ts';
import { installAndReport } from './install-packages.ts';

export const packagesUpdate = exclusive(async (names, flags) => {
  const added = readAddedPackages();
  if (added.length === 0) printNote('there are no added packages');
  const wanted = names.map((name) => {
    const found = findAdded(added, name);
    if (found === undefined)
      throw new UsageError(`${name} is not an added package. "packages list" shows the added packages.`);
    return found;
  });
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
