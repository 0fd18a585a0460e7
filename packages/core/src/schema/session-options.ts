/** The options of a registry of sessions. */
import * as z from 'zod';
import { described, optionalField, wholeNumber } from './fields.ts';
import { sessionId } from './names.ts';
import { commitMode, sessionStore } from './sandbox-options.ts';

const MiB = 1024 * 1024;

export const sessionLimits = z.strictObject({
  max_sessions: described(wholeNumber(1, 100_000).default(1000), 'Maximum number of sessions in the store.'),
  max_total_bytes: described(
    wholeNumber(1).default(8192 * MiB),
    'Total size of all sessions in bytes at which new sessions are refused.',
  ),
  idle_hours: described(
    z
      .number()
      .positive()
      .max(24 * 3660)
      .default(24 * 30),
    'Time in hours after which unused sessions are deleted.',
  ),
});
/** Limits of a registry of sessions. */
export interface SessionLimits extends z.infer<typeof sessionLimits> {}

export const sessionsOptions = z.strictObject({
  store: sessionStore.optional().describe('Store of the sessions. Default: a new `memoryStore`.'),
  limits: described(
    sessionLimits.prefault({}),
    'Limits of the registry. Limits that are left out have defaults.',
  ),
  commit: described(
    commitMode.default('background'),
    'When calls are saved, for sessions that do not set `commit`: before the call returns (`answer`), or afterwards (`background`).',
  ),
  lease: described(
    z.enum(['open', 'call']).default('open'),
    'When a session holds its lease, which excludes other processes. `open`: as long as the session is open. `call`: during each operation, so processes that share the store take turns. `call` requires a store with `revision`, such as `postgresStore`.',
  ),
  lease_wait_seconds: described(
    z.number().min(0).max(3600).default(20),
    "Maximum time in seconds that an operation waits for a session that another process is using. Applies with `lease: 'call'`.",
  ),
});

export const createMode = z.strictObject({
  exclusive: described(
    z.boolean().default(false),
    'Whether to throw `session_exists` instead of opening an existing session.',
  ),
});
/** How `create` treats an existing session. */
export interface CreateMode extends z.input<typeof createMode> {}

export const importOptions = z.strictObject({
  session_id: optionalField(
    sessionId,
    'Name of the imported session. Default: the name of the exported session.',
  ),
  policy: optionalField(
    z.looseObject({}),
    'Limits that replace those of the exported session. Set them for a file from an untrusted source.',
  ),
});

export const pruneOptions = z.strictObject({
  older_than_hours: described(
    z.number('must be a number of hours').min(0, 'must be 0 or more'),
    'Time in hours since the last use after which sessions are deleted.',
  ),
  dry_run: z.boolean().default(false).describe('Whether to report the sessions without deleting them.'),
  include_very_old: described(
    z.boolean().default(false),
    'Whether to delete sessions that should have been deleted over a year ago. Otherwise they are kept and listed in `errors`, because a clock that is far ahead makes every session look old.',
  ),
});
/** Options of `prune`. */
export interface PruneOptions extends z.input<typeof pruneOptions> {}
