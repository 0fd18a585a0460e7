/** Lets only one command at a time change the added packages, across all processes of the user. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SandboxError } from '../../../errors.ts';
import { packagesFolder } from '../../../host/user-folders.ts';
import { ensureFolderPath } from '../../../stores/disk/safe-files.ts';
import { acquireLease, type WriterLease } from '../../../stores/disk/writer-lease.ts';
import { printNote } from '../../diagnostics.ts';
import type { PackagesAction } from './subcommand.ts';

const RETRY_MS = 200;
const MAX_WAIT_MS = 10 * 60_000;

/** The action, which starts once no other command is changing the added packages. */
export const exclusive =
  (action: PackagesAction): PackagesAction =>
  async (names, flags) => {
    const lease = await lockPackages();
    try {
      await action(names, flags);
    } finally {
      await lease.release();
    }
  };

async function lockPackages(): Promise<WriterLease> {
  const folder = packagesFolder();
  const startedAt = performance.now();
  for (let attempt = 0; ; attempt++) {
    try {
      await ensureFolderPath(folder);
      return await acquireLease(join(folder, '.locks'), 'packages', 'packages');
    } catch (cause) {
      if (!(cause instanceof SandboxError) || cause.code !== 'session_busy')
        throw new SandboxError('store_failed', `Cannot lock ${folder}: ${(cause as Error).message}`, {
          cause,
        });
      if (performance.now() - startedAt > MAX_WAIT_MS)
        throw new SandboxError(
          'store_failed',
          `Another command is changing the packages in ${folder}. Try again when it has ended.`,
          { cause },
        );
    }
    if (attempt === 0) printNote('waiting for another command that changes the added packages');
    await sleep(RETRY_MS);
  }
}
