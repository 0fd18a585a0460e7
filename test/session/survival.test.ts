import { createSandbox, type RuntimeName, type Sandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
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

describe.each(['python', 'javascript'] as const)('everything in a %s session', (runtime) => {
  const survivors = SURVIVORS[runtime];
  const expected = Object.fromEntries(survivors.map((one) => [one.name, one.expected]));

  test('survives to the next call', async () => {
    await using sandbox = await createSandbox({ runtime, auto_persist_globals: true });
    await makeAll(sandbox, survivors);
    expect(await showAll(sandbox, survivors)).toEqual(expected);
  });

  test('survives hibernation', async () => {
    await using sandbox = await createSandbox({ runtime, auto_persist_globals: true });
    await makeAll(sandbox, survivors);
    await crowdOut(runtime);
    expect(await showAll(sandbox, survivors)).toEqual(expected);
  });

  test('is in a fork too, and the two are independent afterwards', async () => {
    await using sandbox = await createSandbox({ runtime, auto_persist_globals: true });
    await makeAll(sandbox, survivors);
    await using fork = await sandbox.fork();
    expect(await showAll(fork, survivors)).toEqual(expected);
    expect(await showAll(sandbox, survivors)).toEqual(expected);
    await fork.writeFile('only-here', 'x');
    expect((await sandbox.listFiles()).map((file) => file.path)).not.toContain('only-here');
  });

  test('is as it was after a rollback to a checkpoint', async () => {
    await using sandbox = await createSandbox({ runtime, auto_persist_globals: true });
    await makeAll(sandbox, survivors);
    await sandbox.checkpoint('here');
    for (let round = 0; round < 2; round++) {
      expect(await showAll(sandbox, survivors)).toEqual(expected);
      await sandbox.rollback('here');
    }
    expect(await showAll(sandbox, survivors)).toEqual(expected);
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
