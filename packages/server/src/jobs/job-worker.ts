/**
 * Runs jobs until it is stopped. The result of a program and the end of its job are one statement, so a job has exactly one
 * result, even if it ran more than once. Jobs are retried only after host failures, not because a program failed.
 */
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ErrorCode } from '@llm-wasm-sandbox/core/internal';
import {
  type BatchResult,
  createPool,
  createSandbox,
  DEFAULT_MAXIMUMS,
  installedRuntimes,
  type JobEvent,
  type JobWorkerOptions,
  jobWorkerOptions,
  type PolicyInput,
  type Pool,
  parse,
  runBatchProgram,
  toStoreError,
} from '@llm-wasm-sandbox/core/internal';
import {
  closeJobStore,
  connect,
  encodeOutcome,
  isTenantQueue,
  type JobStore,
  openJobStore,
  type StoredJob,
} from './pg-boss-store.ts';

/** How long an idle worker waits before it looks for jobs again. */
const POLL_MS = 500;
const COMPLETE_ATTEMPTS = 6;
/** Errors that the program itself causes. A retry would not help. */
const PROGRAM_ERRORS: readonly ErrorCode[] = [
  'invalid_argument',
  'invalid_path',
  'file_not_found',
  'quota_exceeded',
];

/**
 * Runs jobs until the signal is aborted. Resolves when the last program has ended. Throws `invalid_argument` if the options
 * are invalid, or `store_failed` if the database is not reachable when the worker starts.
 */
export async function runJobWorker(options: JobWorkerOptions): Promise<void> {
  const {
    jobs = availableParallelism(),
    maintenanceSeconds,
    ...checked
  } = parse(jobWorkerOptions, options, 'options');
  await using pool = createPool({ maxWorkers: jobs });
  for (const runtime of installedRuntimes()) {
    // Reports an unusable policy now, instead of as the result of every job.
    await using _ = await createSandbox({ runtime, policy: options.policy ?? {}, pool });
  }
  const store = await openJobStore(checked, {
    supervise: true,
    maintenanceIntervalSeconds: maintenanceSeconds,
    superviseIntervalSeconds: maintenanceSeconds,
  });
  const worker = new JobWorker(
    store,
    pool,
    { ...checked, jobs, policy: options.policy ?? {} },
    checked.onJob,
  );
  checked.onReady?.();
  try {
    await worker.run(checked.signal ?? new AbortController().signal, checked.shutdownSeconds);
  } finally {
    await closeJobStore(store);
  }
}

interface WorkerLimits {
  readonly jobs: number;
  readonly tenantJobs?: number | undefined;
  readonly policy: PolicyInput;
}

class JobWorker {
  readonly #running = new Set<Promise<void>>();
  readonly #abort = new AbortController();
  #lastQueue = '';

  constructor(
    readonly store: JobStore,
    readonly pool: Pool,
    readonly limits: WorkerLimits,
    readonly onJob: ((event: JobEvent) => void) | undefined,
  ) {}

  async run(stop: AbortSignal, shutdownSeconds: number): Promise<void> {
    const stopped = onAbort(stop);
    while (!stop.aborted) {
      const started = await this.#startJobs(stop);
      const isFull = this.#running.size >= this.limits.jobs;
      if (started > 0 && !isFull) continue;
      await Promise.race([stopped, ...this.#running, ...(isFull ? [] : [sleep(POLL_MS)])]);
    }
    const drained = Promise.all(this.#running);
    const timer = setTimeout(() => this.#abort.abort(), shutdownSeconds * 1000);
    await drained;
    clearTimeout(timer);
  }

  /** Starts one job of each tenant in turn. Returns the number of jobs started. */
  async #startJobs(stop: AbortSignal): Promise<number> {
    let started = 0;
    for (const queue of await this.#queues()) {
      if (stop.aborted || this.#running.size >= this.limits.jobs) break;
      if (await this.#startJob(queue)) started++;
    }
    return started;
  }

  /** The queues with jobs that can start, beginning after the one that was used last. */
  async #queues(): Promise<string[]> {
    if (this.#running.size >= this.limits.jobs) return [];
    const { boss, schema } = this.store;
    const pending = `SELECT FROM ${schema}.job j WHERE j.name = q.name AND j.state < 'active' AND j.start_after < now()`;
    const statement = `SELECT name FROM ${schema}.queue q WHERE EXISTS (${pending}) ORDER BY name`;
    try {
      const { rows } = await boss.getDb().executeSql(statement, []);
      const names = rows.map(({ name }) => String(name)).filter(isTenantQueue);
      return [
        ...names.filter((name) => name > this.#lastQueue),
        ...names.filter((name) => name <= this.#lastQueue),
      ];
    } catch {
      // The database is not reachable: the next poll tries again.
      return [];
    }
  }

  async #startJob(queue: string): Promise<boolean> {
    // If the database is not reachable, the next poll tries again.
    const job = await this.#fetch(queue).catch(() => undefined);
    if (job === undefined) return false;
    this.#lastQueue = queue;
    const running = this.#run(job)
      .catch(() => {})
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
    return true;
  }

  async #fetch(queue: string): Promise<StoredJob | undefined> {
    const { store } = this;
    const { tenantJobs } = this.limits;
    const fetch = async () => (await store.boss.fetch(queue, { batchSize: 1, includeMetadata: true }))[0];
    if (tenantJobs === undefined) return fetch();
    // One worker at a time counts and starts jobs of a tenant. Closing the connection releases the lock.
    await using client = await connect(store);
    await client.query('SELECT pg_advisory_lock(hashtextextended($1, 0))', [queue]);
    const active = `SELECT FROM ${store.schema}.job WHERE name = $1 AND state = 'active'`;
    const { rowCount } = await client.query(active, [queue]);
    return rowCount! < tenantJobs ? await fetch() : undefined;
  }

  /** Runs a job and records its end. If the database stays unreachable, the job expires and is retried. */
  async #run(job: StoredJob): Promise<void> {
    const { tenant, timeout_seconds, program } = job.data;
    const own = this.limits.policy;
    const limit = Math.min(timeout_seconds, own.timeout_seconds ?? DEFAULT_MAXIMUMS.timeout_seconds);
    const context = {
      pool: this.pool,
      policy: { ...own, timeout_seconds: limit },
      signal: this.#abort.signal,
      maximums: DEFAULT_MAXIMUMS,
    };
    const outcome = await runBatchProgram(JSON.parse(program), 0, context);
    const failure = hostFailure(outcome);
    const wasStopped = this.#abort.signal.aborted && outcome.result?.metadata.trap_reason === 'cancelled';
    const { boss } = this.store;
    const job_id = job.id;
    if (failure !== undefined) {
      await persistently(() => (wasStopped ? this.#return(job) : boss.fail(job.name, job.id, failure)));
      this.onJob?.({ job_id, tenant, outcome: wasStopped ? 'returned' : 'retried' });
      return;
    }
    const { affected } = await persistently(() => boss.complete(job.name, job.id, encodeOutcome(outcome)));
    // Otherwise, another worker has recorded a result.
    if (affected > 0)
      this.onJob?.({ job_id, tenant, outcome: 'completed', success: outcome.result?.success === true });
    else this.onJob?.({ job_id, tenant, outcome: 'discarded' });
  }

  /**
   * Returns a job to its queue as if it had not been started. A job that expired in the meantime has a higher
   * number of attempts and is left alone.
   */
  async #return({ name, id, retryCount }: StoredJob): Promise<void> {
    const { boss, schema } = this.store;
    await boss.getDb().executeSql(
      `UPDATE ${schema}.job SET state = 'retry', started_on = NULL
       WHERE name = $1 AND id = $2 AND state = 'active' AND retry_count = $3`,
      [name, id, retryCount],
    );
  }
}

/** Why the host could not run a program to its end; undefined if the program has a result of its own. */
function hostFailure({ result, error }: BatchResult): { code: string; message: string } | undefined {
  if (error !== undefined) return PROGRAM_ERRORS.includes(error.code) ? undefined : { ...error };
  const reason = result?.metadata.trap_reason;
  if (reason === 'worker_lost' || reason === 'cancelled')
    return { code: 'internal', message: result!.metadata.trap_message ?? reason };
  return undefined;
}

/** Runs a statement again if it fails, a limited number of times with growing delays. It must be idempotent. */
async function persistently<T>(statement: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await statement();
    } catch (cause) {
      if (attempt >= COMPLETE_ATTEMPTS) throw toStoreError(cause, 'record the result of a job');
      await sleep(100 * 2 ** attempt);
    }
  }
}

const onAbort = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
