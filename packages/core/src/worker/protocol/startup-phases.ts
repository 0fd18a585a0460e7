/** How long the phases of the first run in a thread take. Later runs do not change the figures. */
import { performance } from 'node:perf_hooks';

/** In the order of their execution. */
export const THREAD_PHASES = [
  'start_thread',
  'load_worker_code',
  'read_module',
  'verify_module',
  'compile_module',
  'open_layers',
  'read_image',
  'verify_image',
  'instantiate',
  'first_run',
] as const;
type ThreadPhase = (typeof THREAD_PHASES)[number];

/** Milliseconds of each phase that has been executed. */
export type PhaseDurations = Partial<Record<ThreadPhase, number>>;

export const durations: PhaseDurations = {};

/** Measures a phase if this is its first execution. */
export function timed<T>(phase: ThreadPhase, action: () => T): T {
  const startedMs = performance.now();
  try {
    return action();
  } finally {
    durations[phase] ??= performance.now() - startedMs;
  }
}

/** Records the start of this thread, which the main thread began at `startedAt`, in milliseconds since 1970. */
export function recordStart(startedAt: number): void {
  const enteredMs = performance.now();
  const bootstrapMs = performance.nodeTiming.bootstrapComplete;
  durations.start_thread = performance.timeOrigin + bootstrapMs - startedAt;
  durations.load_worker_code = enteredMs - bootstrapMs;
}
