/** Submits programs as jobs and reads their results. Workers in other processes run them (`runJobWorker`). */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BatchError } from '@llm-wasm-sandbox/core/internal';
import {
  type BatchProgram,
  batchProgram,
  type ErrorCode,
  type JobQueueOptions,
  jobQueueOptions,
  parse,
  policy,
  SandboxError,
  type SandboxResult,
  type SubmitOptions,
  submitOptions,
  toStoreError,
} from '@llm-wasm-sandbox/core/internal';
import * as z from 'zod';
import {
  closeJobStore,
  createTenantQueue,
  decodeOutcome,
  inTransaction,
  type JobData,
  type JobStore,
  openJobStore,
  queueOf,
} from './pg-boss-store.ts';

/** Maximum number of jobs per SQL statement. */
const INSERT_CHUNK = 500;
const MAX_PROGRAM_CHARS = 16 * 1024 * 1024;
const POLL_MS = { first: 50, last: 1000 };

/**
 * The state of a job. `queued`: the job is waiting. `running`: a worker is running the job. `completed`: the job has ended
 * with a result. `failed`: the host repeatedly failed to run the job, and the job is not retried.
 */
export type JobState = 'queued' | 'running' | 'completed' | 'failed';

/** A job and, if the job has ended, its result. */
export interface SubmittedJob {
  /** Identifies the job. */
  readonly job_id: string;
  /** State of the job. */
  readonly state: JobState;
  /** Id of the program, if it has one and the job is completed. */
  readonly id?: string | number;
  /** Result of the program, even if the program failed. */
  readonly result?: SandboxResult;
  /** Why the program could not be run. */
  readonly error?: BatchError;
  /** Number of times that the job was started. Runs that ended because their worker was stopped do not count. */
  readonly attempts: number;
}

const STATES: Readonly<Record<string, JobState>> = {
  created: 'queued',
  retry: 'queued',
  active: 'running',
  completed: 'completed',
};

/** The job queue of one tenant. Created by `openJobQueue`. */
export class JobQueue {
  readonly #store: JobStore;
  readonly #tenant: string;
  readonly #leaseSeconds: number;

  /** @internal */
  constructor(store: JobStore, tenant: string, leaseSeconds: number) {
    this.#store = store;
    this.#tenant = tenant;
    this.#leaseSeconds = leaseSeconds;
  }

  /** Submits a program. Returns the id of the job. Throws `invalid_argument` if the program is invalid. */
  async submit(program: BatchProgram, options: SubmitOptions = {}): Promise<string> {
    return (await this.submitMany([program], options))[0]!;
  }

  /**
   * Submits either all programs or none. Returns the ids of the jobs in the order of the programs. Throws
   * `invalid_argument` if a program is invalid.
   */
  async submitMany(programs: readonly BatchProgram[], options: SubmitOptions = {}): Promise<string[]> {
    const { priority } = parse(submitOptions, options, 'options');
    const name = queueOf(this.#tenant);
    const jobs = programs.map((program, i) => this.#job(name, program, i, priority));
    await this.#withErrors('submit the programs', async () => {
      await createTenantQueue(this.#store, name);
      if (jobs.length <= INSERT_CHUNK) return this.#store.insert(name, jobs);
      return inTransaction(this.#store, async (db) => {
        for (let start = 0; start < jobs.length; start += INSERT_CHUNK)
          await this.#store.insert(name, jobs.slice(start, start + INSERT_CHUNK), db);
      });
    });
    return jobs.map(({ id }) => id);
  }

  #job(name: string, input: BatchProgram, i: number, priority: number) {
    const program = parse(batchProgram, input, `programs[${i}]`);
    const text = JSON.stringify(program);
    if (text.length > MAX_PROGRAM_CHARS)
      throw new SandboxError(
        'invalid_argument',
        `programs[${i}]: longer than ${MAX_PROGRAM_CHARS} characters.`,
      );
    const timeout_seconds = program.timeout_seconds ?? policy.parse({}).timeout_seconds;
    const data: JobData = { tenant: this.#tenant, timeout_seconds, program: text };
    const expireInSeconds = Math.ceil(timeout_seconds + this.#leaseSeconds);
    // Jobs that are submitted together have the same time, and start in the order of their ids.
    const id = i.toString(16).padStart(8, '0') + randomUUID().slice(8);
    return { id, name, data, priority, expireInSeconds };
  }

  /** Returns a job and, if the job has ended, its result. Returns undefined if this tenant has no such job. */
  async result(job_id: string): Promise<SubmittedJob | undefined> {
    const id = parse(z.guid(), job_id, 'job_id');
    const options = { includeArchive: true };
    const job = await this.#withErrors('read the job', () =>
      this.#store.boss.getJobById(queueOf(this.#tenant), id, options),
    );
    if (job === null) return undefined;
    const state = STATES[job.state] ?? 'failed';
    const attempts = job.retryCount + (job.startedOn === null ? 0 : 1);
    const outcome = state === 'completed' ? decodeOutcome(job.output) : undefined;
    if (outcome !== undefined) return { job_id, state, attempts, ...outcome };
    return { job_id, state, attempts, ...(state === 'failed' && { error: failureOf(job.output) }) };
  }

  /**
   * Waits until jobs have ended, and yields them in the given order. Ends early when the signal is aborted. Throws
   * `file_not_found` if this tenant has no such job.
   */
  async *results(
    job_ids: Iterable<string>,
    { signal }: { readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<SubmittedJob, void, undefined> {
    for (const id of job_ids) {
      for (let wait = POLL_MS.first; ; wait = Math.min(wait * 2, POLL_MS.last)) {
        if (signal?.aborted) return;
        const found = await this.result(id);
        if (found === undefined)
          throw new SandboxError(
            'file_not_found',
            `This tenant has no job ${id}. Check the id and the tenant.`,
          );
        if (found.state === 'completed' || found.state === 'failed') {
          yield found;
          break;
        }
        await sleep(wait, undefined, { ...(signal && { signal }) }).catch(() => {});
      }
    }
  }

  /** Closes the connections to the database. */
  async close(): Promise<void> {
    await closeJobStore(this.#store);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #withErrors<T>(operation: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      throw toStoreError(cause, operation);
    }
  }
}

const failure = z.object({ code: z.string().optional(), message: z.string() });

/** Why the host failed to run a job. */
function failureOf(output: unknown): BatchError {
  const value = (output as { value?: unknown } | null)?.value ?? output;
  const { data } = failure.safeParse(value);
  return {
    code: (data?.code ?? 'internal') as ErrorCode,
    message: data?.message ?? 'The host failed to run the job.',
  };
}

/**
 * Opens the job queue of a tenant. Creates the tables if they do not exist. Throws `not_installed` if the package `pg` or
 * `pg-boss` is missing, or `store_failed` if the database is not reachable.
 */
export async function openJobQueue(options: JobQueueOptions): Promise<JobQueue> {
  const { tenant, leaseSeconds, ...connection } = parse(jobQueueOptions, options, 'options');
  return new JobQueue(await openJobStore(connection, {}), tenant, leaseSeconds);
}
