/** `packages lock`: approves wheels, which programs may then get on demand. */
import { approveWheels } from '../../../packages/approved-wheels.ts';
import { resolvePackages } from '../../../packages/resolve-packages.ts';
import { UsageError } from '../../exit-codes.ts';
import { readRequests } from './add.ts';
import { exclusive } from './exclusive.ts';
import { report, reportVendored, withSources } from './find-packages.ts';

export const packagesLock = exclusive(async (given, flags) => {
  if (given.length === 0) throw new UsageError('Specify package names, wheels or folders.');
  const { requests, files } = readRequests(given);
  await withSources(files, flags, async (sources) => {
    const { packages, vendored } = await resolvePackages(requests, [], sources);
    approveWheels(packages);
    reportVendored(vendored);
    for (const { name, version, sha256 } of packages)
      report(`approved ${name} ${version} (SHA-256 ${sha256})`);
  });
});
