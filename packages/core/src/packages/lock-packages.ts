/** Lets one process at a time change the added packages of the user. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SandboxError } from '../errors.ts';
import { packagesFolder } from '../host/user-folders.ts';
import { ensureFolderPath } from '../stores/disk/safe-files.ts';
import { acquireLease, type WriterLease } from '../stores/disk/writer-lease.ts';

const RETRY_MS = 200;
const MAX_WAIT_MS = 10 * 60_000;

/** Runs an action once no other process is changing the added packages. `onWait` is called if it has to wait. */
export async function withPackagesLock<T>(action: () => Promise<T>, onWait: () => void): Promise<T> {
  const lease = await acquire(onWait);
  try {
    return await action();
  } finally {
    await lease.release();
  }
}

async function acquire(onWait: () => void): Promise<WriterLease> {
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
    if (attempt === 0) onWait();
    await sleep(RETRY_MS);
  }
}
