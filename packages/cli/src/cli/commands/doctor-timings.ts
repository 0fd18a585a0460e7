/** `doctor --timings`: the phases of a cold start in this process, with a new worker thread for each runtime. */

import { performance } from 'node:perf_hooks';
import type { PhaseDurations } from '@llm-wasm-sandbox/core/internal';
import {
  createSandbox,
  formatDuration,
  installedRuntimes,
  LANGUAGES,
  measureFirstRun,
  THREAD_PHASES,
} from '@llm-wasm-sandbox/core/internal';
import { formatTable } from '../format-table.ts';

interface ColdStart {
  readonly total: number;
  readonly again: number;
  readonly durations: PhaseDurations;
}

/** A phase that was not executed has no duration. */
const formatPhase = (duration: number | undefined) =>
  duration === undefined ? '-' : formatDuration(duration);

/** Returns a table with one column for each runtime. */
export async function coldStartTable(): Promise<string> {
  const processMs = performance.nodeTiming.bootstrapComplete;
  const codeMs = performance.now() - processMs;
  const beforeLibrary = performance.now();
  const libraryMs = performance.now() - beforeLibrary;
  const starts: ColdStart[] = [];
  const runtimes = installedRuntimes();
  for (const runtime of runtimes) {
    let total = 0;
    let again = 0;
    const durations = await measureFirstRun(async (pool) => {
      const started = performance.now();
      await using sandbox = await createSandbox({ runtime, pool });
      await sandbox.execute(LANGUAGES[runtime].checkProgram);
      total = performance.now() - started;
      await sandbox.execute(LANGUAGES[runtime].checkProgram);
      again = performance.now() - started - total;
    });
    starts.push({ total, again, durations });
  }
  const same = (milliseconds: number) => starts.map(() => formatDuration(milliseconds));
  return formatTable(
    ['PHASE', ...runtimes],
    [
      ['start the process', ...same(processMs)],
      ['load the command line', ...same(codeMs)],
      ['load the library', ...same(libraryMs)],
      ...THREAD_PHASES.map((phase) => [
        phase.replaceAll('_', ' '),
        ...starts.map(({ durations }) => formatPhase(durations[phase])),
      ]),
      ['new sandbox and first call', ...starts.map(({ total }) => formatDuration(total))],
      ['second call', ...starts.map(({ again }) => formatDuration(again))],
    ],
  );
}
