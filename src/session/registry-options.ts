/** The options and reports of a registry of sessions, and the schemas that check the options. */
import { z } from 'zod';
import type { Variable } from '../runtimes/variable.ts';
import type { SandboxOptions } from '../sandbox/create-parts.ts';
import type { WorkspaceFile } from '../sandbox/workspace.ts';
import { type Commit, commitMode, type PolicyInput, sessionId, sessionStore } from '../schema.ts';
import type { SessionRecord, SessionStore } from '../stores/store.ts';
import type { CheckpointInfo } from './make-checkpoint.ts';
import { type SessionLimits, sessionLimits } from './registry-limits.ts';

/** Everything known about a session. */
export interface SessionInfo extends SessionRecord {
  /** The files of the workspace. */
  readonly files: readonly WorkspaceFile[];
  /** Size of the files. */
  readonly workspace_bytes: number;
  /** Size of the session in the store. */
  readonly stored_bytes: number;
  /** The global variables of the interpreter. */
  readonly variables: readonly Variable[];
  /** The checkpoints, oldest first. */
  readonly checkpoints: readonly CheckpointInfo[];
}

/** The sessions that `prune` deleted, or would delete. */
export interface PruneReport {
  /** The sessions, with the bytes that each took in the store. */
  readonly pruned: readonly { readonly session_id: string; readonly bytes: number }[];
  /** The bytes of all these sessions. */
  readonly reclaimed_bytes: number;
  /** Sessions that could not be deleted, and damaged ones. */
  readonly errors: readonly { readonly session_id: string; readonly error: string }[];
  /** Whether the sessions were only listed. */
  readonly dry_run: boolean;
}

/** Options of `prune`. */
export interface PruneOptions {
  /** Sessions that were last used at least this many hours ago are deleted. */
  readonly older_than_hours: number;
  /** List the sessions without deleting them; by default false. */
  readonly dry_run?: boolean;
}

/** Options of `import`. */
export interface ImportOptions {
  /** Name of the imported session; by default the name it was exported under. */
  readonly session_id?: string;
  /** Limits that replace those of the exported session. Set them for a file from an untrusted source. */
  readonly policy?: Omit<PolicyInput, 'mounts'>;
}

/** Options of `openSessions`. */
export interface SessionsOptions {
  /** Where the sessions are stored; by default in memory. */
  readonly store?: SessionStore;
  /** Limits that differ from the defaults. */
  readonly limits?: Partial<SessionLimits>;
  /**
   * Value of `commit` for sessions that do not set it: `background` (the default), or `answer` to save the session before a
   * call returns.
   */
  readonly commit?: Commit;
  /**
   * When a session holds its lease. `open`: while it is open, so no other process can use it; the default. `call`: during
   * each operation, so processes that share the store take turns. This requires a store with `revision`, such as
   * `postgresStore`.
   */
  readonly lease?: 'open' | 'call';
  /** With `lease: 'call'`, how long an operation waits for a session that another process is using; by default 20. */
  readonly lease_wait_seconds?: number;
}

/** Options for opening a session that exists. */
export type OpenOptions = Omit<SandboxOptions, 'store' | 'runtime' | 'session_id'>;

/** Options of `create`. */
export type CreateOptions = Omit<SandboxOptions, 'store'>;

/** How `create` treats a session that exists. */
export interface CreateMode {
  /** Throw `session_exists` instead of opening a session with the same name; by default false. */
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
});
