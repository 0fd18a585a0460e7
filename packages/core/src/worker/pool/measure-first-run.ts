/** Measures the first run of a runtime in a new thread, phase by phase. */

import type { PhaseDurations } from '../protocol/startup-phases.ts';
import { createPool, type WorkerPool } from './pool.ts';

const LIMIT_MS = 60_000;

/** `run` must run one program in the pool. */
export async function measureFirstRun(run: (pool: WorkerPool) => Promise<void>): Promise<PhaseDurations> {
  await using pool = createPool({ maxWorkers: 1, optimization: 'demand' }) as WorkerPool;
  await run(pool);
  const turn = (await pool.acquire({ tenant: 'timings', key: 'timings' }))!;
  try {
    const result = await turn.run({ type: 'phases' }, undefined, { limitMs: LIMIT_MS }).result;
    return result.type === 'phases' ? result.durations : {};
  } finally {
    turn.release();
  }
}
