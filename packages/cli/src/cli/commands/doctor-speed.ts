/** Measures the speed of a runtime on this machine, in fuel per second. */

import { createSandbox, LANGUAGES, type RuntimeName } from '@llm-wasm-sandbox/core/internal';

/** Fuel of one run. */
const FUEL = 200_000_000;
/** Measuring ends when this many runs in a row are not faster than the best one: V8 has then optimised the interpreter. */
const RUNS_WITHOUT_GAIN = 4;
const GAIN = 1.05;
/** Measuring also ends after this time. */
const MAX_MS = 5000;
/** Time limit of one run, sufficient even on a slow or busy machine. */
const TIMEOUT_SECONDS = 120;

export async function measureSpeed(runtime: RuntimeName): Promise<number> {
  const policy = {
    fuel_budget: FUEL,
    timeout_seconds: TIMEOUT_SECONDS,
    error_guidance: false,
    fuel_analysis: false,
  };
  await using sandbox = await createSandbox({ runtime, policy });
  const startedAt = performance.now();
  let best = 0;
  for (let i = 0; i < RUNS_WITHOUT_GAIN && performance.now() - startedAt < MAX_MS; i++) {
    const { fuel_consumed, duration_ms, metadata } = await sandbox.execute(LANGUAGES[runtime].speedProgram);
    if (metadata.trap_reason !== 'out_of_fuel')
      throw new Error(
        `cannot measure the speed: a run ended with ${metadata.trap_reason}. Try again on an idle machine, or run "npm run build"`,
      );
    const speed = (fuel_consumed / duration_ms) * 1000;
    if (speed > best * GAIN) i = -1;
    best = Math.max(best, speed);
  }
  return best;
}
