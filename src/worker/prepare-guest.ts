/**
 * Provides the guest of a job: the cached one of its session, or one in the state of the image with the saved state of the
 * session applied.
 */
import { applyDelta } from '../engine/delta.ts';
import type { RunContext } from '../engine/run-context.ts';
import { SandboxError } from '../errors.ts';
import { applyHostEdit } from '../fs/apply-host-edits.ts';
import type { TreeEdit } from '../fs/flat-entries.ts';
import { FsError } from '../fs/fs-error.ts';
import type { FileTree } from '../fs/immutable-file-tree.ts';
import type { Kernel } from '../kernel/syscalls.ts';
import { createVolume } from './guest-volume.ts';
import type { JobCallbacks } from './job-callbacks.ts';
import type { LoadedImage } from './load-image.ts';
import type { RunJob } from './protocol.ts';
import type { SessionGuest } from './session-guests.ts';
import { timed } from './startup-phases.ts';

interface PreparedGuest {
  readonly current: SessionGuest;
  /** An outdated guest of the same session, to be released. */
  readonly stale?: SessionGuest | undefined;
}

/** `beginRun` comes before the volume is filled, because it starts the clock that dates the files. */
export function prepareGuest(
  loaded: LoadedImage,
  job: RunJob,
  workspace: FileTree | undefined,
  maxPages: number,
  context: RunContext,
  guests: JobCallbacks['guests'],
): PreparedGuest {
  const { session } = job;
  const { cached, stale } = session && !session.discardState ? guests.take(session.id, session.version) : {};
  if (session && cached) {
    const { kernel } = cached.guest;
    cached.guest.beginRun(context);
    if (applyEdit(kernel, session.edits)) {
      kernel.renumberNodes();
      return { current: cached };
    }
  }
  if (workspace === undefined)
    throw new SandboxError(
      'internal',
      'The thread does not have the guest of the session. Run the call again.',
    );
  const { pool } = loaded;
  const guest = timed('instantiate', () => pool.acquire(maxPages));
  guest.beginRun(context);
  const volume = createVolume(loaded.layers, job, () => guest.now());
  guest.kernel.volume = volume;
  const capture = volume.asHost(() => {
    volume.fill('/app', workspace);
    if (session?.delta === undefined) return undefined;
    volume.fill('/tmp', session.tmp);
    return applyDelta(guest, loaded.image, session.delta);
  });
  if (session !== undefined) guest.kernel.renumberNodes();
  return { current: { guest, capture, pool }, stale: cached ?? stale };
}

/**
 * Applies an edit of the host to a live guest. Returns false if that is impossible, or if it removes a file or directory that
 * the guest has open; the guest must then be restored.
 */
function applyEdit(kernel: Kernel, edit: TreeEdit): boolean {
  if (edit.removed.length + edit.entries.length === 0) return true;
  const { volume } = kernel;
  try {
    return volume.asHost(() => applyHostEdit(volume, '/app', edit, kernel.nodesInUse()));
  } catch (cause) {
    if (cause instanceof FsError) return false;
    throw cause;
  }
}
