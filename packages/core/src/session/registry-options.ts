/** The options and reports of a registry of sessions. */
import type { z } from 'zod';
import type { Variable } from '../results/variable.ts';
import type { SandboxOptions } from '../sandbox/create-parts.ts';
import type { WorkspaceFile } from '../sandbox/workspace-files.ts';
import type { importOptions, PolicyInput, sessionsOptions } from '../schema.ts';
import type { SessionRecord, SessionStore } from '../stores/store.ts';
import type { CheckpointInfo } from './make-checkpoint.ts';

/** The record of a session, with its files, variables, checkpoints and sizes. */
export interface SessionInfo extends SessionRecord {
  /** Files of the workspace, sorted by path. */
  readonly files: readonly WorkspaceFile[];
  /** Total size of the files in bytes. */
  readonly workspace_bytes: number;
  /** Size of the session in the store, in bytes. */
  readonly stored_bytes: number;
  /** Global variables of the session. */
  readonly variables: readonly Variable[];
  /** Checkpoints, oldest first. */
  readonly checkpoints: readonly CheckpointInfo[];
}

/** The result of `prune`. */
export interface PruneReport {
  /** Sessions that were deleted or, with `dry_run`, would be deleted, and the size of each in bytes. */
  readonly pruned: readonly { readonly session_id: string; readonly bytes: number }[];
  /** Total size of the sessions in `pruned`, in bytes. */
  readonly reclaimed_bytes: number;
  /** Sessions that could not be deleted, very old sessions that were kept, and damaged sessions. */
  readonly errors: readonly { readonly session_id: string; readonly error: string }[];
  /** Value of the option `dry_run`. */
  readonly dry_run: boolean;
}

/** Options of `import`. */
export interface ImportOptions extends Omit<z.input<typeof importOptions>, 'policy'> {
  /** Limits that replace those of the exported session. Set them for a file from an untrusted source. */
  readonly policy?: Omit<PolicyInput, 'mounts' | 'network'>;
}

/** Options of `openSessions`. */
export interface SessionsOptions extends Omit<z.input<typeof sessionsOptions>, 'store'> {
  /** Store of the sessions. Default: a new `memoryStore`. */
  readonly store?: SessionStore;
}

/** Options of `get` and `info`. */
export type OpenOptions = Omit<SandboxOptions, 'store' | 'runtime' | 'session_id'>;

/** Options of `create`. */
export type CreateOptions = Omit<SandboxOptions, 'store'>;
