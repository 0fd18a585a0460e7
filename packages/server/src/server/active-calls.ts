/**
 * The running and queued calls of a tenant, which can be cancelled. With a database, calls of other servers can be
 * cancelled as well: each server looks for requests while it has calls that have been active for a while.
 */

import { type Cancellations, linkSignals } from '@llm-wasm-sandbox/core/internal';

/** Interval at which requests of other servers are looked for. Shorter calls cost no query. */
const CANCELLATION_POLL_MS = 1000;

/** A call that can be cancelled until it is disposed of. */
export interface ActiveCall extends Disposable {
  readonly signal: AbortSignal;
}

interface TrackedCall {
  readonly session_id: string;
  readonly startedMs: number;
  readonly controller: AbortController;
}

export class ActiveCalls {
  readonly #calls = new Set<TrackedCall>();
  #timer: NodeJS.Timeout | undefined;

  /** `shared` is undefined if there are no other servers. */
  constructor(readonly shared: Cancellations | undefined) {}

  /** Begins a call, which is cancelled with `source`. */
  begin(session_id: string, source: AbortSignal): ActiveCall {
    const controller = new AbortController();
    const call = { session_id, startedMs: performance.now(), controller };
    this.#calls.add(call);
    this.#watch();
    const unlink = linkSignals(controller, source);
    const end = () => {
      unlink();
      this.#calls.delete(call);
    };
    return { signal: controller.signal, [Symbol.dispose]: end };
  }

  /** Cancels the calls of a session, or of all sessions, on this server; returns their number. */
  cancel(session_id?: string): number {
    const calls = [...this.#calls].filter(
      (call) => session_id === undefined || call.session_id === session_id,
    );
    for (const { controller } of calls) controller.abort();
    return calls.length;
  }

  /** Asks the other servers that share the database to cancel the calls of a session. Returns false if there is no database. */
  async cancelElsewhere(session_id: string): Promise<boolean> {
    await this.shared?.request(session_id);
    return this.shared !== undefined;
  }

  /** Running and queued calls of a session, or of all sessions. */
  count(session_id?: string): number {
    if (session_id === undefined) return this.#calls.size;
    return [...this.#calls].filter((call) => call.session_id === session_id).length;
  }

  #watch(): void {
    if (this.shared === undefined || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => this.#pollRequests(this.shared!), CANCELLATION_POLL_MS).unref();
  }

  async #pollRequests(shared: Cancellations): Promise<void> {
    const askedMs = performance.now();
    const calls = [...this.#calls];
    if (calls.length > 0) {
      const ids = [...new Set(calls.map(({ session_id }) => session_id))];
      // If the database cannot be reached, the next attempt finds the request.
      const ages = await shared.ages(ids).catch(() => new Map<string, number>());
      for (const { session_id, startedMs, controller } of calls) {
        const ageMs = ages.get(session_id);
        // The request does not apply to calls that started after it.
        if (ageMs !== undefined && ageMs < askedMs - startedMs) controller.abort();
      }
    }
    this.#timer = undefined;
    if (this.#calls.size > 0) this.#watch();
  }
}
