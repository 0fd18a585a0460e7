import { createSandbox, diskStore, type RuntimeName, type Session } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { folderOfTest } from '../support/folders.ts';
import { PERSISTENT_VALUES, type PersistentValue } from './persistent-values.ts';
import { startSessionProcess } from './start-session-process.ts';

const program = (runtime: RuntimeName, expression: string) =>
  runtime === 'python' ? `print(${expression})` : `console.log(${expression})`;

async function makeAll(sandbox: Session, values: readonly PersistentValue[]) {
  for (const { name, make } of values) {
    const result = await sandbox.execute(make);
    expect({ name, stderr: result.stderr, state: result.metadata.state }).toEqual({
      name,
      stderr: '',
      state: 'committed',
    });
  }
}

/** Prints every value in order. Printing may change a value, for example by advancing a generator. */
async function showAll(sandbox: Session, values: readonly PersistentValue[]) {
  const shown: Record<string, string> = {};
  for (const { name, show } of values) {
    const result = await sandbox.execute(program(sandbox.runtime, show));
    shown[name] = result.stderr || result.stdout.trimEnd();
  }
  return shown;
}

type Shown = Record<string, string>;

/** Events between two calls of a session. Each prints all values afterwards, once or several times. */
const SCENARIOS: Record<
  string,
  (runtime: RuntimeName, values: readonly PersistentValue[]) => Promise<Shown[]>
> = {
  async 'is available in the next call'(runtime, values) {
    await using sandbox = await begin(runtime, values);
    return [await showAll(sandbox, values)];
  },

  async 'is restored after its guest was evicted'(runtime, values) {
    await using sandbox = await begin(runtime, values);
    await evictGuest(runtime);
    return [await showAll(sandbox, values)];
  },

  async 'is available in a new process'(runtime, values) {
    const dir = folderOfTest();
    const session_id = 'moving';
    await using sandbox = await createSandbox({ runtime, session_id, store: diskStore(dir) });
    await makeAll(sandbox, values);
    await sandbox.close();
    const programs = values.map(({ show }) => program(runtime, show));
    const other = startSessionProcess('run', dir, { runtime, session_id, programs });
    await other.ended;
    const shown = values.map(({ name }, i): [string, string] => {
      const { stdout, stderr } = JSON.parse(other.lines[i] ?? '{"stderr":"nothing"}');
      return [name, stderr || stdout.trimEnd()];
    });
    return [Object.fromEntries(shown)];
  },

  async 'is available after the process that created it exited'(runtime, values) {
    const dir = folderOfTest();
    const session_id = 'left';
    const programs = values.map(({ make }) => make);
    const other = startSessionProcess('run', dir, { runtime, session_id, programs });
    await other.ended;
    expect(other.lines.map((line) => JSON.parse(line).stderr)).toEqual(values.map(() => ''));
    await using sandbox = await createSandbox({ runtime, session_id, store: diskStore(dir) });
    return [await showAll(sandbox, values)];
  },

  async 'is copied to a fork that is independent afterwards'(runtime, values) {
    await using sandbox = await begin(runtime, values);
    await using fork = await sandbox.fork();
    const shown = [await showAll(fork, values), await showAll(sandbox, values)];
    await fork.writeFile('only-here', 'x');
    expect((await sandbox.listFiles()).map((file) => file.path)).not.toContain('only-here');
    return shown;
  },

  async 'is restored by a rollback to a checkpoint'(runtime, values) {
    await using sandbox = await begin(runtime, values);
    await sandbox.checkpoint('here');
    const shown: Shown[] = [];
    for (let round = 0; round < 3; round++) {
      shown.push(await showAll(sandbox, values));
      await sandbox.rollback('here');
    }
    return shown;
  },
};

async function begin(runtime: RuntimeName, values: readonly PersistentValue[]): Promise<Session> {
  const sandbox = await createSandbox({ runtime, auto_persist_globals: true });
  await makeAll(sandbox, values);
  return sandbox;
}

describe.each(['python', 'javascript'] as const)('every value in a %s session', (runtime) => {
  const values = PERSISTENT_VALUES[runtime];
  const expected = Object.fromEntries(values.map((one) => [one.name, one.expected]));

  const check = async (scenario: string) => {
    const all = await SCENARIOS[scenario]!(runtime, values);
    expect(all.length).toBeGreaterThan(0);
    for (const shown of all) expect(shown).toEqual(expected);
  };
  const names = Object.keys(SCENARIOS);
  test.each(names.filter((name) => !name.includes('process')))('%s', check);
  test.each(names.filter((name) => name.includes('process')))('%s', { tags: 'full' }, check);
});

// The store starts a thread that watches the folder before the only call, and that thread is not ready before the call ends.
test('a process ends after one call in a session with many files', { tags: 'full' }, async () => {
  const dir = folderOfTest();
  const session = { runtime: 'javascript', session_id: 'many' } as const;
  const sandbox = await createSandbox({ ...session, store: diskStore(dir) });
  const write = "for (let i = 0; i < 300; i++) std.open('f' + i, 'w').close()";
  expect((await sandbox.execute(write)).stderr).toBe('');
  await sandbox.close();
  const other = startSessionProcess('run', dir, {
    ...session,
    programs: ["console.log(std.loadFile('f299'))"],
  });
  await other.ended;
  expect(other.lines).toEqual([JSON.stringify({ stdout: '\n', stderr: '' })]);
});

/** Runs enough other sessions to evict the guest of an earlier session from every worker. */
async function evictGuest(runtime: RuntimeName) {
  const others = await Promise.all(
    Array.from({ length: 24 }, () => createSandbox({ runtime, auto_persist_globals: true })),
  );
  await Promise.all(others.map((other) => other.execute(program(runtime, '1'))));
  await Promise.all(others.map((other) => other.close()));
}
