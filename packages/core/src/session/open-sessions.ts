/**
 * The open sessions of a registry, by name, and how they are closed. Invariant: at most one session object of a name is
 * open. A session that loses its last state when it is closed is reported by `closeAll`.
 */
import { SandboxError } from '../errors.ts';
import type { Session } from './session.ts';

interface OpenEntry {
  readonly opening: Promise<Session>;
  /** Undefined until it is open. */
  session: Session | undefined;
  /** Resolves when `release` has closed it; never rejects. */
  releasing?: Promise<void>;
  lastRequestedMs: number;
}

export class OpenSessions {
  readonly #entries = new Map<string, OpenEntry>();
  /** Sessions whose last state was lost when they were closed, with the error. */
  readonly #unsaved = new Map<string, unknown>();

  /** Adds a session that is being opened. It is removed if that fails. */
  add(session_id: string, opening: Promise<Session>): void {
    const entry: OpenEntry = { opening, session: undefined, lastRequestedMs: Date.now() };
    this.#entries.set(session_id, entry);
    opening.then(
      (session) => {
        entry.session = session;
      },
      () => {
        if (this.#entries.get(session_id) === entry) this.#entries.delete(session_id);
      },
    );
  }

  /** Removes a session that was closed. */
  remove(session: Session): void {
    const { session_id } = session;
    if (this.#entries.get(session_id)?.session === session) this.#entries.delete(session_id);
  }

  has(session_id: string): boolean {
    return this.#entries.has(session_id);
  }

  /** The names of all sessions that are open or being opened. */
  names(): Iterable<string> {
    return this.#entries.keys();
  }

  /** The session if it is open already. */
  opened(session_id: string): Session | undefined {
    const session = this.#entries.get(session_id)?.session;
    return session?.isClosed ? undefined : session;
  }

  /** All sessions that are open already or being closed. */
  sessions(): Session[] {
    return [...this.#entries.values()].flatMap(({ session }) => session ?? []);
  }

  /** The session that is open or being opened. Counts as a request for it. */
  request(session_id: string): Promise<Session> | undefined {
    const entry = this.#entries.get(session_id);
    if (entry !== undefined) entry.lastRequestedMs = Date.now();
    return entry?.opening;
  }

  isRequestedSince(session_id: string, ms: number): boolean {
    return (this.#entries.get(session_id)?.lastRequestedMs ?? 0) > ms;
  }

  /** Waits for a session that is being closed. */
  async waitUntilClosed(session_id: string): Promise<void> {
    const entry = this.#entries.get(session_id);
    if (entry?.session?.isClosed) await entry.session.close();
    else await entry?.releasing;
  }

  /** Closes a session. Throws if it cannot be saved. */
  async release(session_id: string): Promise<void> {
    const entry = this.#entries.get(session_id);
    if (entry === undefined) return;
    const closing = entry.opening.then((session) =>
      session.close().catch((cause: unknown) => {
        this.#unsaved.set(session_id, cause);
        throw cause;
      }),
    );
    entry.releasing = closing.catch(() => {});
    await closing;
  }

  /** Closes the sessions that no operation uses and that were not requested for the given time. */
  closeIdle(idleMs: number): void {
    const since = Date.now() - idleMs;
    for (const [session_id, { session, lastRequestedMs }] of this.#entries)
      if (session?.isIdle === true && lastRequestedMs < since) void this.release(session_id).catch(() => {});
  }

  /** Discards the failure to save a session that is being deleted. */
  forgetFailure(session_id: string): void {
    this.#unsaved.delete(session_id);
  }

  /** Closes all sessions. Throws `store_failed` if any could not be saved when it was closed, now or earlier. */
  async closeAll(): Promise<void> {
    await Promise.allSettled([...this.#entries.keys()].map((session_id) => this.release(session_id)));
    const [first] = this.#unsaved.values();
    if (first === undefined) return;
    const names = [...this.#unsaved.keys()].join(', ');
    this.#unsaved.clear();
    const reason = first instanceof Error ? first.message : String(first);
    throw new SandboxError('store_failed', `These sessions could not be saved: ${names}. ${reason}`, {
      cause: first,
    });
  }
}
