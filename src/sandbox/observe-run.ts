/** Observes the run of a program in a worker: its output, its requests, its progress and its outcome. */
import { SandboxError } from '../errors.ts';
import type { PausedExecution } from '../schema.ts';
import type { JobHandle, JobObserver } from '../worker/pool/job-handle.ts';
import type { RunOutcome } from '../worker/protocol/messages.ts';
import type { Call } from './call-options.ts';
import type { ProgramPackages } from './packages-on-demand.ts';
import { stoppedByHost } from './to-result.ts';

/** How often `onProgress` is called. */
const PROGRESS_INTERVAL_MS = 100;

/** How a call ended, and how long it waited before it started. */
export interface FinishedCall {
  readonly outcome: RunOutcome;
  readonly queueMs: number;
  /** The packages of the program; undefined if they are those of the sandbox. */
  readonly packages?: ProgramPackages;
  /** The program that is paused after the call. */
  readonly paused?: PausedExecution | undefined;
}

/** Receives the output of a run and answers the requests of its program. */
export function observerOf(call: Call): JobObserver {
  const { stdin, output, results, onInputError, tools, packages, processes } = call;
  return {
    output: (stream, bytes) => output.output(stream, bytes),
    result: (result) => results.add(result),
    answer: async (request) => {
      if (request.type === 'drain') await output.drained();
      else if (request.type === 'stdin')
        try {
          return { bytes: await stdin.read() };
        } catch (cause) {
          onInputError(cause);
        }
      else if (request.type === 'packages') return { packages: packages?.answer(request) ?? request.names };
      else if (request.type === 'image')
        return processes === undefined ? {} : { image: await processes.answer(request) };
      else return (await tools?.answer(request)) ?? {};
      return {};
    },
  };
}

/** Waits for the outcome of a run and reports its progress meanwhile. */
export async function outcomeOf(
  job: JobHandle,
  { limits, onProgress, output }: Pick<Call, 'limits' | 'onProgress' | 'output'>,
): Promise<RunOutcome> {
  const started = performance.now();
  const report = () =>
    output.guard(() => onProgress?.({ fuel_consumed: job.fuelSpent, fuel_budget: limits.fuel_budget }));
  const timer = onProgress && setInterval(report, PROGRESS_INTERVAL_MS);
  try {
    const result = await job.result;
    if (result.type === 'done') return result.outcome;
    if (result.type === 'lost') return stoppedByHost('worker_lost', performance.now() - started);
    throw new SandboxError(
      'internal',
      `A worker replied to a run with the unexpected message "${result.type}".`,
    );
  } finally {
    clearInterval(timer);
  }
}
