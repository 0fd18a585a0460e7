/** The interface of a `session` subcommand. */
import type { StoreFlags } from '../../shared-options.ts';
import type { SessionContext } from './context.ts';

export interface SessionFlags extends StoreFlags {
  readonly json?: boolean;
  readonly out?: string;
  readonly hidden?: boolean;
  readonly list?: boolean;
  readonly delete?: boolean;
  readonly session?: string;
  readonly olderThan?: number;
  readonly dryRun?: boolean;
  readonly includeVeryOld?: boolean;
  readonly force?: boolean;
}

interface SessionOutput {
  readonly json: unknown;
  /** Text for standard output. Bytes are written unchanged. */
  readonly text: string | Uint8Array;
  /** Additional information for standard error. */
  readonly notes?: readonly string[];
  /** Parts of the request that failed, for standard error. The exit code is then `EXIT.unavailable`. */
  readonly problems?: readonly string[];
}

/** `args` has the positional arguments in the order of the subcommand's row. */
export type SessionAction = (
  context: SessionContext,
  args: readonly (string | undefined)[],
  flags: SessionFlags,
) => Promise<SessionOutput>;
