/**
 * Loads and saves the timeline of a session. Failures are reported to the log only: the session can be used without its
 * earlier steps, and a timeline that was not saved is lost with the server.
 */

import type { Session, SessionBlobs } from '@llm-wasm-sandbox/core/internal';
import { SerialQueue } from '@llm-wasm-sandbox/core/internal';
import {
  MAX_TIMELINE_BYTES,
  parseTimeline,
  type SavedTimeline,
  serializeTimeline,
} from './saved-timeline.ts';
import type { Timeline } from './timeline.ts';

export class TimelineSaver {
  readonly #saves = new SerialQueue();
  #isQueued = false;

  constructor(
    readonly storage: SessionBlobs | undefined,
    readonly session: Session,
    readonly report: (cause: unknown) => unknown,
  ) {}

  /** The saved timeline of the session, if there is one. */
  async load(): Promise<SavedTimeline | undefined> {
    const { storage, session, report } = this;
    try {
      const stored = await storage?.read(session.session_id, MAX_TIMELINE_BYTES);
      return stored === undefined ? undefined : parseTimeline(session.session, stored);
    } catch (cause) {
      report(cause);
      return undefined;
    }
  }

  /** Resolves when the saves so far have ended. */
  idle(): Promise<void> {
    return this.#saves.idle();
  }

  /** Saves the timeline as it is when the saves before this one have ended. `calls` is the number of calls that it shows. */
  save(timeline: Timeline, calls: () => number): Promise<void> {
    const { storage, session, report } = this;
    if (storage === undefined || this.#isQueued) return this.#saves.idle();
    this.#isQueued = true;
    return this.#saves.run(async () => {
      this.#isQueued = false;
      // The timeline of a deleted session is deleted too.
      if (session.isClosed) return;
      const { session_id, created_at } = session.session;
      const saved = serializeTimeline({ created_at, calls: calls() }, timeline);
      await storage.write(session_id, saved).catch(report);
    });
  }
}
