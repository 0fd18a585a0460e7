/** Programs that run independently of each other, in a batch or as jobs, and the options for running them. */
import * as z from 'zod';
import { described, optionalField, wholeNumber } from './fields.ts';
import { languageName } from './names.ts';
import { policy } from './policy.ts';
import { executeOptions } from './sandbox-options.ts';

const { args, timeout_seconds, fuel_budget, inject_setup, profile } = executeOptions.shape;
export const batchProgram = z.strictObject({
  id: optionalField(
    z.union([z.string().max(200), z.number()]),
    'Identifies the program. It is copied to the result.',
  ),
  code: z.string().describe('Source code of the program.'),
  language: languageName.optional().describe('Language of the program. Default: Python.'),
  stdin: z.string().optional().describe('Standard input of the program.'),
  files: optionalField(
    z.record(z.string(), z.string()),
    'Files to write into the workspace before the run: contents by path.',
  ),
  args,
  timeout_seconds: described(
    timeout_seconds,
    'Maximum wall-clock time for this program in seconds. It cannot exceed a limit that the policy sets. Default: that of the policy.',
  ),
  fuel_budget: described(
    fuel_budget,
    'Maximum number of WebAssembly instructions for this program. It cannot exceed a limit that the policy sets. Default: that of the policy.',
  ),
  inject_setup,
  profile,
});
/** A program of a batch. */
export interface BatchProgram extends z.input<typeof batchProgram> {}

const concurrency = wholeNumber(1, 1024).optional();

export const batchOptions = z.strictObject({
  policy: policy.optional().describe('Limits of every program.'),
  jobs: described(
    concurrency,
    'Maximum number of programs that run concurrently. Default: the number of CPU cores.',
  ),
  signal: optionalField(
    z.instanceof(AbortSignal),
    'Cancels the running programs. No further programs are started.',
  ),
});
/** Options of `runBatch`. */
export interface BatchOptions extends z.input<typeof batchOptions> {}

export const jobStoreOptions = z.strictObject({
  connectionString: described(
    z
      .string()
      .regex(/^postgres(ql)?:\/\//, 'must be an address that starts with postgres://')
      .refine(
        (address) => URL.canParse(address),
        'must be a valid URL, with special characters percent-encoded',
      ),
    'URL of the database, such as `postgres://user:password@host:5432/database`. Requires the packages `pg` and `pg-boss`.',
  ),
  schema: described(
    z
      .string()
      .regex(
        /^[a-z_][a-z0-9_]{0,49}$/,
        'must consist of up to 50 lower-case letters, digits and underscores, and start with a letter or an underscore',
      )
      .default('llm_wasm_sandbox_jobs'),
    'Schema of the tables.',
  ),
});
/** The database in which jobs are stored. */
export interface JobStoreOptions extends z.input<typeof jobStoreOptions> {}

export const jobQueueOptions = z.strictObject({
  ...jobStoreOptions.shape,
  tenant: described(
    z.string().max(200).default(''),
    'Tenant that submits and reads the jobs. Default: the empty string.',
  ),
  leaseSeconds: described(
    z.number().min(1).max(86_400).default(60),
    'A worker is considered crashed if it has not recorded the result this many seconds after the time limit of the program. Another worker then retries the job.',
  ),
});
/** Options of `openJobQueue`. */
export interface JobQueueOptions extends z.input<typeof jobQueueOptions> {}

export const submitOptions = z.strictObject({
  priority: described(
    wholeNumber(-1_000_000, 1_000_000).default(0),
    'Priority of the jobs, at least -1,000,000. Within a tenant, jobs with a higher priority run first.',
  ),
});
/** Options of `submit` and `submitMany`. */
export interface SubmitOptions extends z.input<typeof submitOptions> {}

/** What happened to a job in this worker. */
export interface JobEvent {
  /** Identifies the job. */
  readonly job_id: string;
  /** Tenant that submitted the job. */
  readonly tenant: string;
  /**
   * `completed`: the job has a result. `retried`: the host failed, and the job is retried if attempts are left. `returned`:
   * the worker was stopped, and the job is in the queue again without having used an attempt. `discarded`: the lease had
   * expired, and the result was not recorded, because another worker ran the job.
   */
  readonly outcome: 'completed' | 'retried' | 'returned' | 'discarded';
  /** Whether the program succeeded. Present only if `outcome` is `completed`. */
  readonly success?: boolean;
}

const callback = <T extends readonly unknown[]>() =>
  z.custom<(...values: T) => void>((value) => typeof value === 'function', 'must be a function').optional();

export const jobWorkerOptions = z.strictObject({
  ...jobStoreOptions.shape,
  jobs: batchOptions.shape.jobs,
  tenantJobs: described(
    concurrency,
    'Maximum number of programs of one tenant that run concurrently, across all workers. Default: no limit.',
  ),
  policy: optionalField(
    policy,
    'Limits of every program. If the policy does not set `fuel_budget` or `timeout_seconds`, each program can set its own: at most 1,000,000,000,000 instructions and 300 seconds.',
  ),
  shutdownSeconds: described(
    z.number().min(0).max(86_400).default(30),
    'Time in seconds that running programs have to finish after the signal is aborted. After that, their jobs return to the queue.',
  ),
  maintenanceSeconds: described(
    wholeNumber(1, 3600).default(10),
    'Interval in seconds at which the worker looks for jobs of crashed workers.',
  ),
  signal: z.instanceof(AbortSignal).optional().describe('Stops the worker.'),
  onReady: described(
    callback<[]>(),
    'Called once, when the worker has connected to the database and starts to wait for jobs.',
  ),
  onJob: callback<[event: JobEvent]>().describe('Receives an event when a run of a job has ended.'),
});
/** Options of `runJobWorker`. */
export interface JobWorkerOptions extends z.input<typeof jobWorkerOptions> {}
