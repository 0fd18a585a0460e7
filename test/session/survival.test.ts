import { createSandbox, diskStore, type RuntimeName, type Session } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { scratch } from '../stores/fixtures.ts';
import { startChild } from './process.ts';
import { SURVIVORS, type Survivor } from './state.ts';

const program = (runtime: RuntimeName, expression: string) =>
  runtime === 'python' ? `print(${expression})` : `console.log(${expression})`;

async function makeAll(sandbox: Session, survivors: readonly Survivor[]) {
  for (const { name, make } of survivors) {
    const result = await sandbox.execute(make);
    expect({ name, stderr: result.stderr, state: result.metadata.state }).toEqual({
      name,
      stderr: '',
      state: 'committed',
    });
  }
}

/** Prints every value in order. Printing may change a value, for example by advancing a generator. */
async function showAll(sandbox: Session, survivors: readonly Survivor[]) {
  const shown: Record<string, string> = {};
  for (const { name, show } of survivors) {
    const result = await sandbox.execute(program(sandbox.runtime, show));
    shown[name] = result.stderr || result.stdout.trimEnd();
  }
  return shown;
}

type Shown = Record<string, string>;

/** Events between two calls of a session. Each prints all values afterwards, once or several times. */
const JOURNEYS: Record<string, (runtime: RuntimeName, survivors: readonly Survivor[]) => Promise<Shown[]>> = {
  async 'is available in the next call'(runtime, survivors) {
    await using sandbox = await begin(runtime, survivors);
    return [await showAll(sandbox, survivors)];
  },

  async 'is restored after its guest was evicted'(runtime, survivors) {
    await using sandbox = await begin(runtime, survivors);
    await crowdOut(runtime);
    return [await showAll(sandbox, survivors)];
  },

  async 'is available in a new process'(runtime, survivors) {
    const dir = scratch();
    const session_id = 'moving';
    await using sandbox = await createSandbox({ runtime, session_id, store: diskStore(dir) });
    await makeAll(sandbox, survivors);
    await sandbox.close();
    const programs = survivors.map(({ show }) => program(runtime, show));
    const other = startChild('run', dir, { runtime, session_id, programs });
    await other.ended;
    const shown = survivors.map(({ name }, i): [string, string] => {
      const { stdout, stderr } = JSON.parse(other.lines[i] ?? '{"stderr":"nothing"}');
      return [name, stderr || stdout.trimEnd()];
    });
    return [Object.fromEntries(shown)];
  },

  async 'is available after the process that created it exited'(runtime, survivors) {
    const dir = scratch();
    const session_id = 'left';
    const programs = survivors.map(({ make }) => make);
    const other = startChild('run', dir, { runtime, session_id, programs });
    await other.ended;
    expect(other.lines.map((line) => JSON.parse(line).stderr)).toEqual(survivors.map(() => ''));
    await using sandbox = await createSandbox({ runtime, session_id, store: diskStore(dir) });
    return [await showAll(sandbox, survivors)];
  },

  async 'is copied to a fork that is independent afterwards'(runtime, survivors) {
    await using sandbox = await begin(runtime, survivors);
    await using fork = await sandbox.fork();
    const shown = [await showAll(fork, survivors), await showAll(sandbox, survivors)];
    await fork.writeFile('only-here', 'x');
    expect((await sandbox.listFiles()).map((file) => file.path)).not.toContain('only-here');
    return shown;
  },

  async 'is restored by a rollback to a checkpoint'(runtime, survivors) {
    await using sandbox = await begin(runtime, survivors);
    await sandbox.checkpoint('here');
    const shown: Shown[] = [];
    for (let round = 0; round < 3; round++) {
      shown.push(await showAll(sandbox, survivors));
      await sandbox.rollback('here');
    }
    return shown;
  },
};

async function begin(runtime: RuntimeName, survivors: readonly Survivor[]): Promise<Session> {
  const sandbox = await createSandbox({ runtime, auto_persist_globals: true });
  await makeAll(sandbox, survivors);
  return sandbox;
}

describe.each(['python', 'javascript'] as const)('every value in a %s session', (runtime) => {
  const survivors = SURVIVORS[runtime];
  const expected = Object.fromEntries(survivors.map((one) => [one.name, one.expected]));

  test.each(Object.keys(JOURNEYS))('%s', async (journey) => {
    const all = await JOURNEYS[journey]!(runtime, survivors);
    expect(all.length).toBeGreaterThan(0);
    for (const shown of all) expect(shown).toEqual(expected);
  });
});

/** Runs enough other sessions to evict the guest of an earlier session from every worker. */
async function crowdOut(runtime: RuntimeName) {
  const others = await Promise.all(
    Array.from({ length: 24 }, () => createSandbox({ runtime, auto_persist_globals: true })),
  );
  await Promise.all(others.map((other) => other.execute(program(runtime, '1'))));
  await Promise.all(others.map((other) => other.close()));
}
