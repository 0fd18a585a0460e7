/** How the program of a call runs, whatever becomes of its interpreter: its output, its requests, its progress, its outcome. */
import { SandboxError } from '../errors.ts';
import type { PausedExecution } from '../schema.ts';
import type { SessionRecord } from '../stores/store.ts';
import type { ImageExtension } from '../worker/pool/guest-assets.ts';
import type { JobHandle, JobObserver } from '../worker/pool/job-handle.ts';
import type { RunOutcome } from '../worker/protocol/messages.ts';
import type { Call } from './call-options.ts';
import type { ImageResolver } from './image-resolver.ts';
import { stoppedByHost } from './to-result.ts';

/** How often `onProgress` is called. */
const PROGRESS_INTERVAL_MS = 100;

/** How a call ended, and how long it waited before it started. */
export interface FinishedCall {
  readonly outcome: RunOutcome;
  readonly queueMs: number;
  /** The packages of the program; undefined if they are those of the sandbox. */
  readonly packages?: ImageExtension;
  /** The program that is paused after the call. */
  readonly paused?: PausedExecution | undefined;
}

/** Runs the programs of a sandbox: each in a fresh interpreter, or all in one that persists. */
export interface Interpreter {
  /** The record of its session; undefined without a session. */
  readonly record: SessionRecord | undefined;
  /** Why a program cannot pause until its tool calls are answered; undefined if it can. */
  readonly cannotPause: string | undefined;
  /** Runs a call when its turn comes and applies its changes. */
  run(call: Call): Promise<FinishedCall>;
}

/** Starts a program, again from the beginning if it needs packages that can be added. */
export async function untilComplete(
  { onDemand }: ImageResolver,
  call: Call,
  start: () => Promise<FinishedCall>,
): Promise<FinishedCall> {
  if (onDemand !== undefined || call.packages?.areOfProcesses) call.output.keepForRepetition();
  for (;;) {
    const finished = await start();
    if (!call.packages?.mustRestart || call.signal.aborted) return finished;
    const { fuelConsumed, durationMs } = finished.outcome;
    const { fuel_budget, timeout_seconds } = call.limits;
    call.packages.restarting(Math.max(fuelConsumed / fuel_budget, durationMs / 1000 / timeout_seconds));
    call.output.repeat();
    call.results.clear();
  }
}

/** Receives the output of a run and answers the requests of its program. */
export function observerOf(call: Call): JobObserver {
  const { stdin, output, results, onInputError, tools, packages } = call;
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
        return packages?.areOfProcesses ? { image: await packages.answerImage(request) } : {};
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
