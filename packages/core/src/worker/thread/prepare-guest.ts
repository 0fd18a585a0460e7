/**
 * Provides the guest of a job: the cached one of its session, or one in the state of the image with the saved state of the
 * session applied.
 */
import { applyDelta } from '../../engine/delta.ts';
import { PAGE_BYTES } from '../../engine/image-identity.ts';
import type { RunContext } from '../../engine/run-context.ts';
import { SandboxError } from '../../errors.ts';
import { applyHostEdit } from '../../fs/apply-host-edits.ts';
import type { TreeEdit } from '../../fs/flat-entries.ts';
import { FsError } from '../../fs/fs-error.ts';
import type { FileTree } from '../../fs/immutable-file-tree.ts';
import { isSyscallError } from '../../kernel/syscall-error.ts';
import type { Kernel } from '../../kernel/syscalls.ts';
import { programFile } from '../../runtimes/registry/program-files.ts';
import { commandLayers } from '../guest-processes/process-commands.ts';
import { MAX_STORED_CODE, type RunJob } from '../protocol/messages.ts';
import { timed } from '../protocol/startup-phases.ts';
import { createVolume } from './guest-volume.ts';
import type { JobCallbacks } from './job-callbacks.ts';
import type { LoadedImage } from './load-image.ts';
import type { SessionGuest } from './session-guests.ts';

export interface PreparedGuest {
  readonly current: SessionGuest;
  /** An outdated guest of the same session, to be released. */
  readonly stale?: SessionGuest | undefined;
}

/** A job with what the thread has for it. */
export interface ReceivedJob {
  readonly id: number;
  readonly job: RunJob;
  readonly loaded: LoadedImage;
  /** Absent if the job contains none. */
  readonly workspace: FileTree | undefined;
}

const encoder = new TextEncoder();

/** The pages of memory that a guest may have. */
export const pagesIn = (memoryBytes: number) => Math.floor(memoryBytes / PAGE_BYTES);

/** `beginRun` comes before the volume is filled, because it starts the clock that dates the files. */
export function prepareGuest(
  { job, loaded, workspace }: ReceivedJob,
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
  const guest = timed('instantiate', () => pool.acquire(pagesIn(job.limits.memory_bytes)));
  guest.beginRun(context);
  const volume = createVolume([...loaded.layers, ...commandLayers()], job, () => guest.now());
  guest.kernel.volume = volume;
  guest.kernel.cwd = volume.home;
  const capture = volume.asHost(() => {
    volume.fill('/app', workspace);
    if (session?.delta === undefined) {
      enterFolder(guest.kernel, job.limits.cwd);
      return undefined;
    }
    volume.fill('/tmp', session.tmp);
    return applyDelta(guest, loaded.image, session.delta);
  });
  if (session !== undefined) guest.kernel.renumberNodes();
  return { current: { guest, capture, pool }, stale: cached ?? stale };
}

/**
 * Adds the file of a program to the workspace and returns its path. A cell has no file, and neither has a program of which only
 * the beginning was stored while it was paused.
 */
export function addProgramFile({ volume, calls }: Kernel, { program, tools }: RunJob): string {
  const { code, language, file_name } = program;
  const path = programFile(language, calls + 1, file_name);
  const isCut = tools?.resumed !== undefined && code.length >= MAX_STORED_CODE;
  if (file_name === null || isCut) return path;
  const at = path.lastIndexOf('/') + 1;
  const mode = code.startsWith('#!') ? 0o755 : 0o644;
  return path.slice(0, at) + volume.addUnlisted(path.slice(at), encoder.encode(code), mode);
}

/** The first program starts in this folder of the workspace, if it exists. */
function enterFolder(kernel: Kernel, folder: string | undefined): void {
  if (folder === undefined) return;
  try {
    kernel.chdir(folder);
  } catch (cause) {
    if (!isSyscallError(cause)) throw cause;
  }
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
