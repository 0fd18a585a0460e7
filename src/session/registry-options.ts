/** The options and reports of a registry of sessions, and the schemas that check the options. */
import { z } from 'zod';
import type { Variable } from '../runtimes/variable.ts';
import type { SandboxOptions } from '../sandbox/create-parts.ts';
import type { WorkspaceFile } from '../sandbox/workspace.ts';
import { type Commit, commitMode, type PolicyInput, sessionId, sessionStore } from '../schema.ts';
import type { SessionRecord, SessionStore } from '../stores/store.ts';
import type { CheckpointInfo } from './make-checkpoint.ts';
import { type SessionLimits, sessionLimits } from './registry-limits.ts';

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

/** Options of `prune`. */
export interface PruneOptions {
  /** Time in hours since the last use after which sessions are deleted. */
  readonly older_than_hours: number;
  /** Whether to report the sessions without deleting them. Default: false. */
  readonly dry_run?: boolean;
  /**
   * Whether to delete sessions that should have been deleted over a year ago. Otherwise they are kept and listed in `errors`,
   * because a clock that is far ahead makes every session look old. Default: false.
   */
  readonly include_very_old?: boolean;
}

/** Options of `import`. */
export interface ImportOptions {
  /** Name of the imported session. Default: the name of the exported session. */
  readonly session_id?: string;
  /** Limits that replace those of the exported session. Set them for a file from an untrusted source. */
  readonly policy?: Omit<PolicyInput, 'mounts'>;
}

/** Options of `openSessions`. */
export interface SessionsOptions {
  /** Store of the sessions. Default: a new `memoryStore`. */
  readonly store?: SessionStore;
  /** Limits of the registry. Limits that are left out have defaults. */
  readonly limits?: Partial<SessionLimits>;
  /**
   * When calls are saved, for sessions that do not set `commit`: before the call returns (`answer`), or afterwards
   * (`background`). Default: `background`.
   */
  readonly commit?: Commit;
  /**
   * When a session holds its lease, which excludes other processes. `open`: as long as the session is open. `call`: during
   * each operation, so processes that share the store take turns. `call` requires a store with `revision`, such as
   * `postgresStore`. Default: `open`.
   */
  readonly lease?: 'open' | 'call';
  /**
   * Maximum time in seconds that an operation waits for a session that another process is using. Applies with
   * `lease: 'call'`. Default: 20. Maximum: 3,600.
   */
  readonly lease_wait_seconds?: number;
}

/** Options of `get` and `info`. */
export type OpenOptions = Omit<SandboxOptions, 'store' | 'runtime' | 'session_id'>;

/** Options of `create`. */
export type CreateOptions = Omit<SandboxOptions, 'store'>;

/** How `create` treats an existing session. */
export interface CreateMode {
  /** Whether to throw `session_exists` instead of opening an existing session. Default: false. */
  readonly exclusive?: boolean;
}

export const sessionsOptions = z.strictObject({
  store: sessionStore.optional(),
  limits: sessionLimits.prefault({}),
  commit: commitMode.default('background'),
  lease: z.enum(['open', 'call']).default('open'),
  lease_wait_seconds: z.number().min(0).max(3600).default(20),
});
export const createMode = z.strictObject({ exclusive: z.boolean().default(false) });
export const importOptions = z.strictObject({
  session_id: sessionId.optional(),
  policy: z.looseObject({}).optional(),
});
export const pruneOptions = z.strictObject({
  older_than_hours: z.number('must be a number of hours').min(0, 'must be 0 or more'),
  dry_run: z.boolean().default(false),
  include_very_old: z.boolean().default(false),
});
