/**
 * State of a server that outlives a request: settings, tenants, worker pool and metrics. The sessions, files and statistics
 * of a tenant are reachable only through its `Tenant` object.
 */

import { availableParallelism } from 'node:os';
import {
  AUTO,
  type ClientError,
  type Coordination,
  checkSources,
  clientError,
  createMemoryStore,
  createSandbox,
  DEFAULT_RUNTIME,
  type EventLogger,
  type GuestAssets,
  LOCAL_TENANT,
  type MinuteLimiter,
  memoryBlobs,
  memoryCoordination,
  type OpenedStore,
  openSessions,
  openStore,
  PACKAGE_RUNTIME,
  policy,
  pollUntil,
  readPackageSet,
  requestedPackages,
  SandboxError,
  type SessionBlobs,
  type SessionRegistry,
  type SessionStore,
  tenantFolder,
  unpackInThread,
  WORKERS_PER_CORE,
  WorkerPool,
} from '@llm-wasm-sandbox/core/internal';
import { RateLimiterMemory, RateLimiterPostgres } from 'rate-limiter-flexible';
import { Gateway } from '../gateway/gateway.ts';
import { readToolsConfig } from '../gateway/tools-config.ts';
import { basePolicy } from './base-policy.ts';
import { HTTP_LIMITS } from './http-settings.ts';
import { MainThreadAllowance } from './main-thread-allowance.ts';
import { ServerMetrics } from './metrics.ts';
import { networkOfTenants, type TenantNetwork } from './network-config.ts';
import { errorFields, withoutLogErrors, withoutProgramData } from './safe-log.ts';
import type { ServerSettings } from './settings.ts';
import { SharedFuel } from './shared-fuel.ts';
import { noTelemetry, type Telemetry } from './telemetry.ts';
import { type PolicyMaximums, Tenant } from './tenant.ts';
import { sandboxesFolder, TokenTable, timelinesFolder } from './tokens.ts';

/** How long calls may take to end after they have been cancelled, including the grace period of their programs. */
const CANCEL_MS = 3000;
/** Minimum time between two readiness checks. */
const PROBE_INTERVAL_MS = 5000;

/** Whether programs can run. */
export type Readiness = 'starting' | 'ready' | 'failed';

const DEFAULT_LIMITS = Object.fromEntries(
  Object.entries(policy.parse({})).filter(([, value]) => typeof value === 'number'),
) as PolicyMaximums;

/** What clients cannot raise exceeds its default only in sessions that were imported or that another program stored. */
const maximums = (settings: ServerSettings): PolicyMaximums => ({
  ...DEFAULT_LIMITS,
  fuel_budget: settings.max_fuel_budget,
  memory_bytes: settings.max_memory_bytes,
  timeout_seconds: settings.max_timeout_seconds,
});

/** The packages of the settings, by default all added ones. */
const packageSources = ({ packages }: ServerSettings) => packages ?? requestedPackages();

/** Opens the store that the settings name; undefined if sessions are kept in memory. */
function openSettingsStore(settings: ServerSettings): OpenedStore | undefined {
  if (settings.store === undefined) return undefined;
  const { store_max_tenant_bytes: maxTenantBytes, store_ttl_seconds: ttlSeconds } = settings;
  return openStore(settings.store, {
    leaseSeconds: settings.lease_seconds,
    ...(maxTenantBytes !== undefined && { maxTenantBytes }),
    ...(ttlSeconds !== undefined && { ttlSeconds }),
  });
}

/** The tenant of the command line, which a server without tokens shares. */
const tenantInStore = (tenant: string) => (tenant === LOCAL_TENANT ? '' : tenant);

/** Options of a server that are not settings. */
export interface ServerOptions {
  /** Version that the server reports to clients. Default: `0.0.0`. */
  readonly version?: string;
  /** Receives log events and spans. Default: both are discarded. */
  readonly telemetry?: Telemetry;
  /** Returns the session store of a tenant. Default: the store that the setting `store` determines. */
  readonly storeFor?: (tenant: string) => SessionStore;
  /** @internal */
  readonly limits?: Partial<typeof HTTP_LIMITS>;
}

/** @internal */
export class ServerState {
  readonly startedAt = Date.now();
  readonly pool: WorkerPool;
  readonly metrics: ServerMetrics;
  readonly mainThread: MainThreadAllowance;
  readonly telemetry: Telemetry;
  readonly version: string;
  readonly limits: typeof HTTP_LIMITS;
  /** The tools that programs may call; undefined without a tools configuration. */
  readonly gateway: Gateway | undefined;
  /** Sources of the packages that programs can import. */
  readonly packages: readonly string[];
  readonly tokens: TokenTable;
  readonly #networkOf: (tenant: string) => TenantNetwork;
  readonly #sandboxLog: EventLogger;
  readonly #tenants = new Map<string, Tenant>();
  readonly #storeFor: (tenant: string) => SessionStore;
  readonly #store: OpenedStore | undefined;
  /** What the servers that share a store agree on. */
  readonly coordination: Coordination;
  /** Counts the requests of tenants to all servers that share the store. */
  readonly requestLimiter: MinuteLimiter;
  #sessionCount = 0;
  #readiness: Readiness = 'starting';
  #probedAt = 0;
  #isClosed = false;

  constructor(
    readonly settings: ServerSettings,
    options: ServerOptions = {},
  ) {
    this.tokens = new TokenTable(settings);
    this.#networkOf = networkOfTenants(settings);
    this.packages = packageSources(settings);
    checkSources(this.packages);
    if (options.storeFor === undefined) this.#store = openSettingsStore(settings);
    const coordination = this.#store?.coordination ?? memoryCoordination();
    this.coordination = coordination;
    if (coordination.isShared && this.packages.includes(AUTO))
      throw new SandboxError(
        'invalid_argument',
        'packages: "auto" cannot be combined with a PostgreSQL store, because the servers must have the same packages. Add them with "packages add" on each machine.',
      );
    this.requestLimiter = coordination.limiter(
      { RateLimiterMemory, RateLimiterPostgres },
      'requests',
      settings.rate_per_minute,
    );
    const { fuel_per_minute } = settings;
    const sharedFuel =
      coordination.isShared && fuel_per_minute !== undefined
        ? new SharedFuel(coordination, fuel_per_minute)
        : undefined;
    const cores = availableParallelism();
    const tenants = Math.max(1, settings.tokens.length);
    const poolOptions = {
      maxWorkers: settings.max_concurrent ?? Math.max(WORKERS_PER_CORE * cores, tenants),
      maxRunningPerTenant: Math.ceil((settings.max_concurrent ?? WORKERS_PER_CORE * cores) / 2),
      maxQueuedPerTenant: settings.max_queued,
      expectedTenants: tenants,
      maxHeldBytes: settings.max_held_bytes,
      maxHeldBytesPerTenant: settings.max_held_bytes / 2,
      isolation: settings.isolation,
      optimization: settings.optimization,
      ...(fuel_per_minute !== undefined && { fuelPerMinutePerTenant: fuel_per_minute }),
    };
    this.pool = new WorkerPool(poolOptions, { fuel: sharedFuel });
    this.mainThread = new MainThreadAllowance(settings.cpu_seconds_per_minute);
    const telemetry = options.telemetry ?? noTelemetry;
    this.telemetry = { ...telemetry, log: withoutLogErrors(telemetry.log) };
    const { log } = this.telemetry;
    this.#sandboxLog = withoutProgramData(log);
    this.version = options.version ?? '0.0.0';
    this.limits = { ...HTTP_LIMITS, ...options.limits };
    const { tools_config } = settings;
    if (tools_config !== undefined)
      this.gateway = new Gateway(readToolsConfig(tools_config), { version: this.version, log });
    this.#storeFor =
      options.storeFor ??
      ((id) =>
        this.#store?.storeFor(tenantInStore(id), tenantFolder(id), settings.max_sessions) ??
        createMemoryStore(this.pool.held.open(id)));
    this.metrics = new ServerMetrics({
      running: () => this.pool.running,
      queued: () => this.pool.queued,
      sessions: () => this.#sessionCount,
      heldBytes: () => this.pool.heldBytes,
    });
  }

  /** The tenant with this id; created on first use. */
  tenant(id: string): Tenant {
    let tenant = this.#tenants.get(id);
    if (tenant === undefined) {
      const limits = { max_sessions: this.settings.max_sessions };
      const { commit } = this.settings;
      const store = this.#storeFor(id);
      const lease = store.revision === undefined ? 'open' : 'call';
      const sessions = openSessions({ store, limits, commit, lease });
      const network = this.#networkOf(id);
      tenant = new Tenant(id, sessions, this.pool, {
        policy: { ...basePolicy(this.settings), network: network.policy },
        network,
        maximums: maximums(this.settings),
        logger: this.#sandboxLog,
        packages: this.packages,
        coordination: this.coordination,
        storeName: tenantInStore(id),
        workspaces: this.#workspaces(id),
        timelines: this.#timelines(id),
        sandboxRecords: this.#sandboxRecords(id),
      });
      this.#tenants.set(id, tenant);
    }
    return tenant;
  }

  /** The default workspace is a session of a separate tenant, so it is not listed and does not count towards `max_sessions`. */
  #workspaces(id: string): SessionRegistry | undefined {
    if (!this.coordination.isShared) return undefined;
    const { commit } = this.settings;
    const store = this.#store!.storeFor(`${tenantInStore(id)}/default`, '');
    return openSessions({ store, commit, lease: 'call' });
  }

  /** The timelines of the playground, if it is on and sessions are stored. */
  #timelines(id: string): SessionBlobs | undefined {
    return this.settings.playground
      ? this.#store?.blobsFor(tenantInStore(id), timelinesFolder(id), 'session_blobs')
      : undefined;
  }

  /** The records of sandboxes of E2B, in the store if there is one. */
  #sandboxRecords(id: string): SessionBlobs {
    return this.#store?.blobsFor(tenantInStore(id), sandboxesFolder(id), 'sandboxes') ?? memoryBlobs();
  }

  /** Logs an error of a connection. */
  logTransportError(cause: Error): void {
    const fields = errorFields(cause);
    this.telemetry.log.warn({ event: 'transport.error', ...fields }, 'transport error');
  }

  /** Logs an error of the server that a request has met. */
  logRequestError(cause: unknown): void {
    this.telemetry.log.error({ event: 'http.error', err: cause }, 'request failed');
  }

  /** An error as clients may see it. Errors of the server are logged. */
  clientError(cause: unknown): ClientError {
    const error = clientError(cause);
    if (error.isHostError) this.logRequestError(cause);
    return error;
  }

  /** Updates the `sessions` gauge. */
  async countSessions(): Promise<void> {
    const lists = await Promise.all([...this.#tenants.values()].map(({ sessions }) => sessions.list()));
    this.#sessionCount = lists.reduce((sum, { length }) => sum + length, 0);
  }

  /** Running and queued calls of all tenants. */
  get activeCalls(): number {
    return [...this.#tenants.values()].reduce((sum, tenant) => sum + tenant.calls.count(), 0);
  }

  /** Waits up to `shutdown_seconds` until no call is active, then cancels the rest, so that they are answered as well. */
  async drain(): Promise<void> {
    const isIdle = () => this.activeCalls === 0;
    await pollUntil(isIdle, this.settings.shutdown_seconds * 1000);
    for (const tenant of this.#tenants.values()) tenant.calls.cancel();
    await pollUntil(isIdle, CANCEL_MS);
  }

  /** Starts the first thread before the first call asks for it. The call reports any error. */
  async prepare(): Promise<void> {
    const assets = await this.#firstAssets().catch(() => undefined);
    const { memory_bytes } = this.settings;
    if (assets === undefined || this.#isClosed || memory_bytes < assets.minMemoryBytes) return;
    this.pool.prepareFirst(assets, memory_bytes);
  }

  /**
   * Whether programs can run. The first call starts a probe program; until it has run, the result is `starting`. After a
   * failure, calls start another probe, at most every few seconds.
   */
  readiness(): Readiness {
    const isDue = Date.now() - this.#probedAt > PROBE_INTERVAL_MS;
    if (this.#probedAt === 0 || (this.#readiness === 'failed' && isDue)) void this.#probe();
    return this.#readiness;
  }

  /** Runs an empty program, and checks the store. */
  async #probe(): Promise<void> {
    this.#probedAt = Date.now();
    const { memory_bytes } = this.settings;
    try {
      await this.coordination.check();
      await using sandbox = await createSandbox({
        runtime: DEFAULT_RUNTIME,
        policy: { memory_bytes },
        pool: this.pool,
      });
      const { success, metadata } = await sandbox.execute('');
      if (!success && !this.#isClosed)
        throw new Error(`An empty program failed: ${metadata.trap_message ?? metadata.error?.type}.`);
      this.#readiness = 'ready';
    } catch (cause) {
      this.#readiness = 'failed';
      this.telemetry.log.error({ event: 'server.not_ready', err: cause }, 'programs cannot run');
    }
  }

  /** The assets of calls without a session. */
  async #firstAssets(): Promise<GuestAssets> {
    const { pool, settings } = this;
    if (this.packages.length === 0 || this.packages.includes(AUTO) || DEFAULT_RUNTIME !== PACKAGE_RUNTIME)
      return pool.images.boot(DEFAULT_RUNTIME);
    const extension = { preload: [], packages: await readPackageSet(this.packages, unpackInThread) };
    const build = { tenant: LOCAL_TENANT, limits: settings, signal: undefined };
    return pool.images.extended(DEFAULT_RUNTIME, extension, build);
  }

  /** Cancels running calls and saves all sessions. Throws if a session could not be saved, after everything is closed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.gateway?.close();
    const results = await Promise.allSettled([...this.#tenants.values()].map((tenant) => tenant.close()));
    await this.pool.close();
    await this.#store?.close();
    const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    for (const cause of failures)
      this.telemetry.log.error({ event: 'server.unsaved_sessions', err: cause }, 'sessions not saved');
    if (failures.length > 0) throw failures[0];
  }
}
