/** `packages verify`: compares the added packages with their recorded digests. */
import { COMPANION, verifyCompanion } from '../../../host/companion-package.ts';
import { readAddedPackages } from '../../../packages/added-packages.ts';
import { readUserPackages } from '../../../packages/read-user-packages.ts';
import { unpackInThread } from '../../../worker/pool/unpack-in-thread.ts';
import { printNote } from '../../diagnostics.ts';
import { EXIT } from '../../exit-codes.ts';
import { formatTable } from '../../format-table.ts';
import { withProgress } from '../../progress-line.ts';
import type { PackagesAction } from './subcommand.ts';

export const packagesVerify: PackagesAction = async (_, { json }) => {
  const added = readAddedPackages();
  if (added.length === 0) printNote('there are no added packages');
  const rows = [];
  for (const { name, version, sha256, contents_sha256, libraries } of added) {
    const problem = await withProgress(`Verifying ${name}`, () => problemOf(contents_sha256, libraries));
    rows.push({ name, version, sha256, problem });
  }
  const companion = await withProgress(`Verifying ${COMPANION}`, async () => verifyCompanion());
  if (companion !== undefined) rows.push({ name: COMPANION, ...companion });
  if (json) process.stdout.write(`${JSON.stringify(rows, null, 2)}\n`);
  else if (rows.length > 0)
    console.log(
      formatTable(
        ['PACKAGE', 'VERSION', 'SHA-256', 'RESULT'],
        rows.map((one) => [one.name, one.version, one.sha256, one.problem ?? 'ok']),
      ),
    );
  if (rows.some(({ problem }) => problem !== null)) process.exitCode = EXIT.unavailable;
};

/** Reads the package as a sandbox does. */
async function problemOf(
  contents: string,
  libraries: readonly { readonly path: string; readonly sha256: string }[],
): Promise<string | null> {
  try {
    const { load } = await readUserPackages([`sha256:${contents}`], unpackInThread);
    const found = await load();
    const digests = new Map(found.libraries.map(({ path, sha256 }) => [path, sha256]));
    const changed = libraries.find(({ path, sha256 }) => digests.get(path) !== sha256);
    return changed === undefined ? null : `packages.json records a different digest for ${changed.path}`;
  } catch (cause) {
    return (cause as Error).message;
  }
}
