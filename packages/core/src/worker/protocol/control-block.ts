/** What a thread gets when it starts, and the words that it shares with the main thread while a job runs. */

/** The `workerData` of a thread. */
export interface WorkerSettings {
  readonly control: SharedArrayBuffer;
  /** The words that all threads of a host share. */
  readonly hostBlock: SharedArrayBuffer;
  /** The thread must not start unless the permission model of Node.js applies to it. */
  readonly mustBeRestricted: boolean;
  /** The process ends after one job, so no guest is prepared for another one. */
  readonly isOneShot: boolean;
  /** When the main thread started it, in milliseconds since 1970. */
  readonly startedAt: number;
}

/** Words of a worker's control block in shared memory. */
export const CONTROL = {
  cancelledJob: 0,
  fuelMillions: 1,
  /** Changes when a guest that waits has to check again: an answer was sent, or its job was cancelled. */
  answers: 2,
  /** See host/thread-critical-sections.ts. */
  section: 3,
  /** The last job whose program has started, and when, by `sharedClockMs`. */
  startedJob: 4,
  startedMs: 5,
  words: 6,
} as const;
/** Milliseconds of a clock that all threads of a process share, as a word that overflows. */
export function sharedClockMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return (seconds * 1000 + nanoseconds / 1e6) | 0;
}
/** The word of a control block that protects the critical sections of its thread. */
export const sectionWord = (control: Int32Array) => control.subarray(CONTROL.section, CONTROL.section + 1);
/** Words that all threads of a host share: 1 while long-running programs have to yield; the number of jobs that run. */
export const HOST_BLOCK = { yieldFlag: 0, activeJobs: 1, words: 2 } as const;
/** Fuel per unit of `CONTROL.fuelMillions`. */
export const FUEL_UNIT = 1_000_000;
