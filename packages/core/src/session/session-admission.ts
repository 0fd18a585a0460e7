/**
 * Admits new sessions to a store: the only place where a registry checks how many there may be and how many bytes
 * they may take. Invariant: checks run one at a time, so that no two callers take the last place.
 */
import { SerialQueue } from '../concurrency/serial-queue.ts';
import { SandboxError } from '../errors.ts';
import { formatCount, formatItems } from '../quantities.ts';
import type { SessionLimits } from '../schema.ts';
import type { SessionStore } from '../stores/store.ts';
import { sessionExists } from './session-errors.ts';

export class SessionAdmission {
  /** Names of sessions that are being created and are not in the store yet. */
  readonly #reserved = new Set<string>();
  readonly #checks = new SerialQueue();

  /** `openIds` returns the names of the open sessions, some of which may not be in the store yet. */
  constructor(
    readonly store: SessionStore,
    readonly limits: SessionLimits,
    readonly openIds: () => Iterable<string>,
  ) {}

  /**
   * Reserves a place for a session and returns a function that releases it. A session that exists needs no place; with
   * `mustBeNew` it is rejected with `session_exists`. Throws `session_limit` if there is no place.
   */
  reserve(session_id: string, mustBeNew: boolean): Promise<() => void> {
    return this.#checks.run(() => this.#admit(session_id, mustBeNew));
  }

  async #admit(session_id: string, mustBeNew: boolean): Promise<() => void> {
    const { records, damaged } = await this.store.list();
    const ids = new Set([
      ...records.map((record) => record.session_id),
      ...this.openIds(),
      ...this.#reserved,
    ]);
    if (ids.has(session_id) || damaged.includes(session_id)) {
      if (mustBeNew) throw sessionExists(session_id);
      return () => {};
    }
    await this.#checkLimits(ids);
    this.#reserved.add(session_id);
    return () => this.#reserved.delete(session_id);
  }

  async #checkLimits(ids: ReadonlySet<string>): Promise<void> {
    const { max_sessions, max_total_bytes } = this.limits;
    const advice = 'Delete or prune sessions that are no longer needed';
    if (ids.size >= max_sessions) {
      const fact = `The store already has ${formatItems(ids.size, 'session')}, and the limit is ${max_sessions}`;
      throw new SandboxError('session_limit', `${fact}. ${advice}.`);
    }
    const sizes = await Promise.all([...ids].map((session_id) => this.store.size(session_id)));
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    if (bytes < max_total_bytes) return;
    const fact = `All sessions together take ${formatItems(bytes, 'byte')}, and the limit is ${formatCount(max_total_bytes)}`;
    throw new SandboxError('session_limit', `${fact}. ${advice}.`);
  }
}
