/** A tenant of the server, as far as protocols over its sessions use it. */
import type { PolicyInput, RuntimeName } from '../schema.ts';
import type { Session } from '../session/session.ts';
import type { SessionRegistry } from '../session/session-registry.ts';
import type { SessionBlobs } from '../stores/coordination.ts';

export interface SessionTenant {
  readonly id: string;
  readonly sessions: SessionRegistry;
  /** The sources of packages. */
  readonly packages: readonly string[];
  /** Limits of every session. */
  readonly policy: PolicyInput;
  readonly maximums: { readonly timeout_seconds: number };
  /** What protocols store beside a session. */
  readonly sandboxRecords: SessionBlobs;
  create(options: {
    readonly language: RuntimeName;
    readonly session_id: string;
    readonly policy: PolicyInput;
  }): Promise<Session>;
  session(session_id: string): Promise<Session>;
  fork(session_id: string, new_session_id: string): Promise<Session>;
  destroy(session_id: string): Promise<void>;
  /** Closes a session, which stays in the store, and cancels its programs. */
  release(session_id: string): Promise<void>;
  activeCalls(session_id: string): number;
  runCancellable<T>(
    session_id: string,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T>;
}
