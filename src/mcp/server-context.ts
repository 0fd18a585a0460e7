/**
 * What a server keeps between requests: its callers and the queue they share. A caller's things can be reached through
 * that caller only.
 */
import { basename, join, resolve } from 'node:path';
import type { PolicyInput } from '../schema.ts';
import { openSessions } from '../session/registry.ts';
import { diskStore } from '../stores/disk/disk-store.ts';
import { memoryStore } from '../stores/memory/memory-store.ts';
import type { SessionStore } from '../stores/store.ts';
import { sharedPool } from '../worker/guest-assets.ts';
import { Turns } from './fair-scheduler.ts';
import { ServerMetrics } from './metrics.ts';
import { type Observer, silentObserver } from './observability.ts';
import type { ServerSettings } from './settings.ts';
import { Caller, type Ceilings } from './tenant.ts';

/** Programs at a time for each core: a caller's own slow each other down to a half, those of all to a quarter. */
const PER_CORE = { total: 4, perCaller: 2 } as const;
/** The caller of a server that cannot tell callers apart. */
export const LOCAL_CALLER = 'local';

/** The part of a policy that every sandbox of this server has. */
export function basePolicy(settings: ServerSettings): PolicyInput {
  const { fuel_budget, memory_bytes, timeout_seconds, external_files } = settings;
  return { fuel_budget, memory_bytes, timeout_seconds, mounts: externalMounts(external_files) };
}

const ceilings = (settings: ServerSettings): Ceilings => ({
  fuel_budget: settings.max_fuel_budget,
  memory_bytes: settings.max_memory_bytes,
  timeout_seconds: settings.max_timeout_seconds,
});

/** One path is /external itself, several are found under it by their names. */
function externalMounts(paths: readonly string[]) {
  const at = (path: string) => (paths.length === 1 ? '/external' : `/external/${basename(resolve(path))}`);
  return paths.map((path) => ({ host_path: path, guest_path: at(path) }));
}

/** Each caller has a folder of its own, whose name cannot lead elsewhere. */
function storeFor({ data_dir }: ServerSettings, caller: string): SessionStore {
  return data_dir === undefined ? memoryStore() : diskStore(join(data_dir, `caller-${caller}`));
}

export interface HouseOptions {
  readonly version?: string;
  readonly observer?: Observer;
  /** Where the sessions of a caller are kept; by default as the settings say. */
  readonly storeOf?: (caller: string) => SessionStore;
}

export class House {
  readonly startedAt = Date.now();
  readonly turns: Turns;
  readonly metrics: ServerMetrics;
  readonly observer: Observer;
  readonly version: string;
  readonly #callers = new Map<string, Caller>();
  readonly #storeOf: (caller: string) => SessionStore;
  #sessions = 0;

  constructor(
    readonly settings: ServerSettings,
    options: HouseOptions = {},
  ) {
    const callers = Math.max(1, settings.tokens.length);
    const total = settings.max_concurrent ?? Math.max(PER_CORE.total * sharedPool().size, callers);
    const perCaller = settings.max_concurrent_per_caller ?? PER_CORE.perCaller * sharedPool().size;
    this.turns = new Turns({ total, perCaller, queued: settings.max_queued, callers });
    // Whoever has its turn here does not wait for another one there.
    sharedPool().allow(total);
    this.observer = options.observer ?? silentObserver;
    this.version = options.version ?? '0.0.0';
    this.#storeOf = options.storeOf ?? ((id) => storeFor(settings, id));
    this.metrics = new ServerMetrics({
      running: () => this.turns.running,
      queued: () => this.turns.queued,
      sessions: () => this.#sessions,
    });
  }

  caller(id: string): Caller {
    let caller = this.#callers.get(id);
    if (caller === undefined) {
      const limits = { max_sessions: this.settings.max_sessions };
      const sessions = openSessions({ store: this.#storeOf(id), limits });
      caller = new Caller(
        id,
        sessions,
        basePolicy(this.settings),
        ceilings(this.settings),
        this.observer.log,
      );
      this.#callers.set(id, caller);
    }
    return caller;
  }

  /** Brings the number of sessions up to date, for those who look at it. */
  async countSessions(): Promise<void> {
    const lists = await Promise.all([...this.#callers.values()].map(({ sessions }) => sessions.list()));
    this.#sessions = lists.reduce((sum, { length }) => sum + length, 0);
  }

  get busy(): number {
    return [...this.#callers.values()].reduce((sum, caller) => sum + caller.busy, 0);
  }

  /** Stops what is under way and writes all sessions to their store. */
  async close(): Promise<void> {
    await Promise.allSettled([...this.#callers.values()].map((caller) => caller.close()));
  }
}
