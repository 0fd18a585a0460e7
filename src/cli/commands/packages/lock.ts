/** `packages lock`: approves wheels, which programs may then get on demand, lists the approvals, or withdraws them. */
import {
  type ApprovedWheel,
  approveWheels,
  readApprovedWheels,
  withdrawApproval,
} from '../../../packages/approved-wheels.ts';
import { resolvePackages } from '../../../packages/resolve-packages.ts';
import { normalisedName } from '../../../packages/wheel-metadata.ts';
import { UsageError } from '../../exit-codes.ts';
import { formatTable } from '../../format-table.ts';
import { readRequests } from './add.ts';
import { exclusive } from './exclusive.ts';
import { report, reportVendored, withSources } from './find-packages.ts';

export const packagesLock = exclusive(async (given, flags) => {
  if (flags.remove) return withdraw(given);
  if (given.length === 0) return list(readApprovedWheels());
  const { requests, files } = readRequests(given);
  await withSources(files, flags, async (sources) => {
    const { packages, vendored } = await resolvePackages(requests, [], sources);
    approveWheels(packages);
    reportVendored(vendored);
    for (const { name, version, sha256 } of packages)
      report(`approved ${name} ${version} (SHA-256 ${sha256})`);
  });
});

function list(approved: readonly ApprovedWheel[]): void {
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
