/** `packages remove`: removes added packages and the dependencies that only they need. */
import { COMPANION } from '../../../host/companion-package.ts';
import {
  findAdded,
  isOfCompanion,
  readAddedPackages,
  withRequirements,
  writeAddedPackages,
} from '../../../packages/added-packages.ts';
import { UsageError } from '../../exit-codes.ts';
import { exclusive } from './exclusive.ts';

export const packagesRemove = exclusive(async (names) => {
  const added = readAddedPackages();
  const removed = names.map((name) => {
    const found = findAdded(added, name);
    if (found === undefined)
      throw new UsageError(`${name} is not an added package. "packages list" shows the added packages.`);
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
