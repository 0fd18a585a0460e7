/**
 * Counts differences between the fuel profiles of the same program: in fresh interpreters, in sessions whose interpreter
 * is still in memory, and in sessions that were closed and restored from their store.
 */
import { createSandbox, memoryStore } from 'llm-wasm-sandbox';
import { formatFuel } from '../../packages/core/dist/quantities.js';
import { markdown } from './measure.mjs';
import { PROFILED_PROGRAMS, withRepetitions } from './profile-cost.mjs';

const RUNS = 6;
const OPTIONS = { fuel_budget: 100_000_000 };

const SETUP = {
  python: 'data = list(range(100))',
  javascript: 'var data = Array.from({ length: 100 }, (_, i) => i)',
};

/** Ways to get an interpreter for a run. Each returns a result of the program. */
const GUESTS = {
  'fresh interpreter': async (runtime, code, options) => {
    const sandbox = await createSandbox({ runtime });
    try {
      return await sandbox.execute(code, options);
    } finally {
      await sandbox.close();
    }
  },
  'session, continued': (runtime, code, options) => inSession(runtime, code, options, false),
  'session, restored': (runtime, code, options) => inSession(runtime, code, options, true),
};

async function inSession(runtime, code, options, isRestored) {
  const store = memoryStore();
  const session = { runtime, store, session_id: 'determinism' };
  let sandbox = await createSandbox(session);
  try {
    await sandbox.execute(SETUP[runtime]);
    if (isRestored) {
      await sandbox.close();
      sandbox = await createSandbox(session);
    }
    return await sandbox.execute(code, options);
  } finally {
    await sandbox.close();
  }
}

/** The parts of a result that must be the same. */
const observed = ({ metadata }) =>
  JSON.stringify([metadata.fuel_profile, metadata.stopped_at, metadata.fuel_analysis]);

export async function table() {
  const rows = [];
  for (const [runtime, programs] of Object.entries(PROFILED_PROGRAMS)) {
    for (const profile of [false, true]) {
      const inSessions = new Map();
      let [runs, samples, different] = [0, 0, 0];
      for (const [kind, run] of Object.entries(GUESTS)) {
        for (const [name, code] of Object.entries(programs)) {
          // A session has the same profile whether it was continued or restored.
          let expected = kind.startsWith('session') ? inSessions.get(name) : undefined;
          for (let i = 0; i < RUNS; i++) {
            const result = await run(runtime, withRepetitions(code, 1000), { ...OPTIONS, profile });
            const text = observed(result);
            expected ??= text;
            if (text !== expected) different++;
            runs++;
            samples += result.metadata.fuel_profile.samples;
          }
          if (kind.startsWith('session')) inSessions.set(name, expected);
        }
      }
      rows.push([runtime, profile ? 'detailed' : 'always on', runs, samples, different]);
    }
  }
  return markdown(
    'Determinism of the fuel profile',
    `For each runtime, three programs run until they reach a limit of ${formatFuel(OPTIONS.fuel_budget)} fuel, ${RUNS} times in each of three settings: in fresh interpreters, in sessions, and in sessions that were closed and restored. A run counts as different if its profile, its fuel analysis, the line at which it stopped or the variables at that line differ from those of the first run. Runs in restored sessions are compared with runs in sessions that were not closed. The figures do not depend on the machine.`,
    ['runtime', 'profile', 'runs', 'samples', 'different runs'],
    rows,
  );
}
