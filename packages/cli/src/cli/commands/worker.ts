/** `worker`: runs the jobs of `batch submit` until it is stopped. */
import {
  JOB_STORE_OPTION,
  JOBS_OPTION,
  jobStoreAddress,
  LIMIT_OPTIONS,
  type LimitFlags,
  limitPolicy,
} from '../batch-options.ts';
import type { CommandDetails } from '../command.ts';
import { printLines, printNote } from '../diagnostics.ts';
import { options } from '../shared-options.ts';

interface WorkerFlags extends LimitFlags {
  readonly store?: string;
  readonly jobs?: number;
  readonly tenantJobs?: number;
  readonly shutdownSeconds?: number;
}

async function work({ store, jobs, tenantJobs, shutdownSeconds, ...limits }: WorkerFlags): Promise<void> {
  const connectionString = jobStoreAddress(store);
  const { runJobWorker } = await import('@llm-wasm-sandbox/server/jobs');
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  process.once('SIGINT', stop).once('SIGTERM', stop).once('SIGHUP', stop);
  const counts = { completed: 0, retried: 0, returned: 0, discarded: 0 };
  await runJobWorker({
    connectionString,
    policy: limitPolicy(limits),
    signal: stopping.signal,
    ...(jobs !== undefined && { jobs }),
    ...(tenantJobs !== undefined && { tenantJobs }),
    ...(shutdownSeconds !== undefined && { shutdownSeconds }),
    onReady: () => printNote('waiting for jobs'),
    onJob: ({ outcome }) => {
      counts[outcome]++;
    },
  });
  const unfinished = counts.retried + counts.returned;
  const discarded = counts.discarded > 0 ? `, ${counts.discarded} discarded` : '';
  printLines(`Jobs: ${counts.completed} completed, ${unfinished} to be retried${discarded}.`);
}

export default {
  options: options({
    ...JOB_STORE_OPTION,
    ...JOBS_OPTION,
    '--tenant-jobs <N>':
      'Number of programs of one tenant to run at the same time, across all workers (default: no limit)',
    ...LIMIT_OPTIONS,
    '--shutdown-seconds <SECONDS>': 'How long programs may continue to run after SIGTERM (default: 30)',
  }),
  examples: ['worker --store postgres://db/jobs', 'worker --jobs 8 --tenant-jobs 2 --timeout 10'],
  action: (_, flags) => work(flags),
} satisfies CommandDetails<WorkerFlags>;
