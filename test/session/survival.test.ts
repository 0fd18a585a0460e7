import { createSandbox, diskStore, type RuntimeName, type Sandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { scratch } from '../stores/support.ts';
import { startChild } from './process.ts';
import { SURVIVORS, type Survivor } from './state.ts';

const program = (runtime: RuntimeName, expression: string) =>
  runtime === 'python' ? `print(${expression})` : `console.log(${expression})`;

async function makeAll(sandbox: Sandbox, survivors: readonly Survivor[]) {
  for (const { name, make } of survivors) {
    const result = await sandbox.execute(make);
    expect({ name, stderr: result.stderr, state: result.metadata.state }).toEqual({
      name,
      stderr: '',
      state: 'committed',
    });
  }
}

/** What every survivor shows, in order; looking at one may change it, as using it does. */
async function showAll(sandbox: Sandbox, survivors: readonly Survivor[]) {
  const shown: Record<string, string> = {};
  for (const { name, show } of survivors) {
    const result = await sandbox.execute(program(sandbox.runtime, show));
    shown[name] = result.stderr || result.stdout.trimEnd();
  }
  return shown;
}

type Shown = Record<string, string>;

/** What can happen to a session between two calls; each shows everything, once or more, after it has. */
const JOURNEYS: Record<string, (runtime: RuntimeName, survivors: readonly Survivor[]) => Promise<Shown[]>> = {
  async 'survives to the next call'(runtime, survivors) {
    await using sandbox = await begin(runtime, survivors);
    return [await showAll(sandbox, survivors)];
  },

  async 'survives hibernation'(runtime, survivors) {
    await using sandbox = await begin(runtime, survivors);
    await crowdOut(runtime);
    return [await showAll(sandbox, survivors)];
  },

  async 'is there in a new process'(runtime, survivors) {
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

  async 'was made by a process that is gone'(runtime, survivors) {
    const dir = scratch();
    const session_id = 'left';
    const programs = survivors.map(({ make }) => make);
    const other = startChild('run', dir, { runtime, session_id, programs });
    await other.ended;
    expect(other.lines.map((line) => JSON.parse(line).stderr)).toEqual(survivors.map(() => ''));
    await using sandbox = await createSandbox({ runtime, session_id, store: diskStore(dir) });
    return [await showAll(sandbox, survivors)];
  },

  async 'is in a fork too, and the two are independent afterwards'(runtime, survivors) {
    await using sandbox = await begin(runtime, survivors);
    await using fork = await sandbox.fork();
    const shown = [await showAll(fork, survivors), await showAll(sandbox, survivors)];
    await fork.writeFile('only-here', 'x');
    expect((await sandbox.listFiles()).map((file) => file.path)).not.toContain('only-here');
    return shown;
  },

  async 'is as it was after a rollback to a checkpoint'(runtime, survivors) {
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

async function begin(runtime: RuntimeName, survivors: readonly Survivor[]): Promise<Sandbox> {
  const sandbox = await createSandbox({ runtime, auto_persist_globals: true });
  await makeAll(sandbox, survivors);
  return sandbox;
}

describe.each(['python', 'javascript'] as const)('everything in a %s session', (runtime) => {
  const survivors = SURVIVORS[runtime];
  const expected = Object.fromEntries(survivors.map((one) => [one.name, one.expected]));

  test.each(Object.keys(JOURNEYS))('%s', async (journey) => {
    const all = await JOURNEYS[journey]!(runtime, survivors);
    expect(all.length).toBeGreaterThan(0);
    for (const shown of all) expect(shown).toEqual(expected);
  });
});

/** Runs so many other sessions that no worker can have kept the guest of one before them. */
async function crowdOut(runtime: RuntimeName) {
  const others = await Promise.all(
    Array.from({ length: 24 }, () => createSandbox({ runtime, auto_persist_globals: true })),
  );
  await Promise.all(others.map((other) => other.execute(program(runtime, '1'))));
  await Promise.all(others.map((other) => other.close()));
}
