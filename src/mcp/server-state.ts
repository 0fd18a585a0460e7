/**
 * What a server keeps between requests: its tenants and the queue they share. A tenant's things can be reached through
 * that tenant only.
 */
import { basename, join, resolve } from 'node:path';
import type { PolicyInput } from '../schema.ts';
import { openSessions } from '../session/registry.ts';
import { diskStore } from '../stores/disk/disk-store.ts';
import { memoryStore } from '../stores/memory/memory-store.ts';
import type { SessionStore } from '../stores/store.ts';
import { sharedPool } from '../worker/guest-assets.ts';
import { FairScheduler } from './fair-scheduler.ts';
import { ServerMetrics } from './metrics.ts';
import type { ServerSettings } from './settings.ts';
import { noTelemetry, type Telemetry } from './telemetry.ts';
import { type PolicyMaximums, Tenant } from './tenant.ts';

/** Programs at a time for each core: a tenant's own slow each other down to a half, those of all to a quarter. */
const PROGRAMS_PER_CORE = { total: 4, perTenant: 2 } as const;
/** The tenant of a server that cannot tell tenants apart. */
export const LOCAL_TENANT = 'local';

/** The part of a policy that every sandbox of this server has. */
export function basePolicy(settings: ServerSettings): PolicyInput {
  const { fuel_budget, memory_bytes, timeout_seconds, external_files } = settings;
  return { fuel_budget, memory_bytes, timeout_seconds, mounts: externalMounts(external_files) };
}

const maximums = (settings: ServerSettings): PolicyMaximums => ({
  fuel_budget: settings.max_fuel_budget,
  memory_bytes: settings.max_memory_bytes,
  timeout_seconds: settings.max_timeout_seconds,
});

/** One path is /external itself, several are found under it by their names. */
function externalMounts(paths: readonly string[]) {
  const at = (path: string) => (paths.length === 1 ? '/external' : `/external/${basename(resolve(path))}`);
  return paths.map((path) => ({ host_path: path, guest_path: at(path) }));
}

/** Each tenant has a folder of its own, whose name cannot lead elsewhere. */
function storeFor({ data_dir }: ServerSettings, tenant: string): SessionStore {
  return data_dir === undefined ? memoryStore() : diskStore(join(data_dir, `caller-${tenant}`));
}

export interface ServerOptions {
  readonly version?: string;
  readonly telemetry?: Telemetry;
  /** Where the sessions of a tenant are kept; by default as the settings say. */
  readonly storeFor?: (tenant: string) => SessionStore;
}

export class ServerState {
  readonly startedAt = Date.now();
  readonly scheduler: FairScheduler;
  readonly metrics: ServerMetrics;
  readonly telemetry: Telemetry;
  readonly version: string;
  readonly #tenants = new Map<string, Tenant>();
  readonly #storeOf: (tenant: string) => SessionStore;
  #sessions = 0;

  constructor(
    readonly settings: ServerSettings,
    options: ServerOptions = {},
  ) {
    const tenants = Math.max(1, settings.tokens.length);
    const total = settings.max_concurrent ?? Math.max(PROGRAMS_PER_CORE.total * sharedPool().size, tenants);
    const perTenant = settings.max_concurrent_per_caller ?? PROGRAMS_PER_CORE.perTenant * sharedPool().size;
    this.scheduler = new FairScheduler({ total, perTenant, queued: settings.max_queued, tenants });
    // Whoever has its turn here does not wait for another one there.
    sharedPool().allow(total);
    this.telemetry = options.telemetry ?? noTelemetry;
    this.version = options.version ?? '0.0.0';
    this.#storeOf = options.storeFor ?? ((id) => storeFor(settings, id));
    this.metrics = new ServerMetrics({
      running: () => this.scheduler.running,
      queued: () => this.scheduler.queued,
      sessions: () => this.#sessions,
    });
  }

  tenant(id: string): Tenant {
    let tenant = this.#tenants.get(id);
    if (tenant === undefined) {
      const limits = { max_sessions: this.settings.max_sessions };
      const sessions = openSessions({ store: this.#storeOf(id), limits });
      tenant = new Tenant(
        id,
        sessions,
        basePolicy(this.settings),
        maximums(this.settings),
        this.telemetry.log,
      );
      this.#tenants.set(id, tenant);
    }
    return tenant;
  }

  /** Brings the number of sessions up to date, for those who look at it. */
  async countSessions(): Promise<void> {
    const lists = await Promise.all([...this.#tenants.values()].map(({ sessions }) => sessions.list()));
    this.#sessions = lists.reduce((sum, { length }) => sum + length, 0);
  }

  get busy(): number {
    return [...this.#tenants.values()].reduce((sum, tenant) => sum + tenant.totalRunningCalls, 0);
  }

  /** Stops what is under way and writes all sessions to their store. */
  async close(): Promise<void> {
    await Promise.allSettled([...this.#tenants.values()].map((tenant) => tenant.close()));
  }
}
