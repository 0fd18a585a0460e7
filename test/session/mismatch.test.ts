/** Saved states that do not fit the installed interpreter are rejected with the reason; their files stay readable. */
import { createSandbox, diskStore, memoryStore, type RuntimeName, type SessionStore } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { DELTA_FORMAT } from '../../packages/core/src/engine/delta.ts';
import { alteredDelta } from '../support/altered-delta.ts';
import { folderOfTest } from '../support/folders.ts';

const BEGIN: Record<RuntimeName, string> = {
  python: 'x = 1\nprint(open("kept.txt", "w").write("kept"))',
  javascript: 'let x = 1; std.open("kept.txt", "w").puts("kept")',
  bash: 'x=1; printf kept > kept.txt',
};

/** Programs that print a number. */
const PRINT: Record<RuntimeName, (expression: string) => string> = {
  python: (expression) => `print(${expression})`,
  javascript: (expression) => `console.log(${expression})`,
  bash: (expression) => `echo $((${expression}))`,
};

interface Alteration {
  readonly format?: number;
  readonly facts?: Record<string, unknown>;
  readonly says: string;
}

const ALTERATIONS: Record<string, Alteration> = {
  'another runtime': {
    facts: { runtime: 'cobol' },
    says: 'was created with another runtime (cobol, expected ',
  },
  'another module': { facts: { module: 'm'.repeat(64) }, says: 'was created with another module (mmmm' },
  'other packages': {
    facts: { layers: 'l'.repeat(64) },
    says: 'was created with another set of packages (llll',
  },
  'another boot image': {
    facts: { base: 'b'.repeat(64) },
    says: 'was created with another boot image (bbbb',
  },
  'an older format': { format: 1, says: `has format 1, but this version reads ${DELTA_FORMAT}` },
  'a newer format': { format: 9, says: `has format 9, but this version reads ${DELTA_FORMAT}` },
};

/** Headers that the engine never writes, with a valid digest: the store checks bytes, not their meaning. */
const NONSENSE: Record<string, Record<string, unknown>> = {
  'no layers': { memory: undefined },
  'layers that are not there': { memory: [1e9] },
  'layers of negative length': { memory: [-1, 10] },
  'a thousand layers': { memory: new Array(1000).fill(0) },
  'an empty layer': { memory: [0] },
  'no descriptors': { kernel: null },
  'descriptors without a file': { kernel: { cwd: '/app', umask: 18, files: [], slots: [7], pipes: [] } },
  'no globals': { globals: null },
  'globals that are not numbers': { globals: { __stack_pointer: 'x' } },
  'more pages than a memory can have': { pages: 1e9 },
};

const stores: Record<string, () => SessionStore> = {
  memory: () => memoryStore(),
  disk: () => diskStore(folderOfTest()),
};

async function alteredSession(
  runtime: RuntimeName,
  store: SessionStore,
  { format, facts = {} }: Omit<Alteration, 'says'>,
) {
  const first = await createSandbox({ runtime, session_id: 'one', store });
  expect((await first.execute(BEGIN[runtime])).stderr).toBe('');
  await first.close();
  const stored = (await store.read('one'))!;
  const delta = alteredDelta(stored.state.delta!, format ?? DELTA_FORMAT, facts);
  await store.write({ ...stored, state: { ...stored.state, delta } });
  return createSandbox({ runtime, session_id: 'one', store });
}

async function keptFile(store: SessionStore): Promise<unknown> {
  const found = (await store.readWorkspace('one'))!;
  return [found.damage, Buffer.from(found.workspace.get('kept.txt')!.data!).toString()];
}

describe.each(['python', 'javascript', 'bash'] as const)('saved %s state', (runtime) => {
  test.each(Object.keys(ALTERATIONS))(
    'with %s is rejected with the reason, and its files stay readable',
    async (name) => {
      const alteration = ALTERATIONS[name]!;
      const store = stores[runtime === 'python' ? 'disk' : 'memory']!();
      await using sandbox = await alteredSession(runtime, store, alteration);
      for (let round = 0; round < 2; round++) {
        const refusal = expect(sandbox.execute('x')).rejects;
        await refusal.toMatchObject({
          code: 'image_invalid',
          message: expect.stringContaining(alteration.says),
        });
      }
      expect(await sandbox.readFile('kept.txt', 'utf8')).toBe('kept');
      await sandbox.close();
      expect(await keptFile(store)).toEqual([undefined, 'kept']);
    },
  );

  test.each(Object.keys(NONSENSE))(
    'with %s is rejected as damaged without ending the worker',
    async (name) => {
      const store = memoryStore();
      await using sandbox = await alteredSession(runtime, store, { facts: NONSENSE[name]! });
      await expect(sandbox.execute('x')).rejects.toMatchObject({
        code: 'image_invalid',
        message: expect.stringMatching(/^The saved state is damaged \(.+\)\. Its files can still be read; /),
      });
      await using other = await createSandbox({ runtime });
      expect((await other.execute(PRINT[runtime]('1 + 1'))).stdout).toBe('2\n');
      expect(await sandbox.readFile('kept.txt', 'utf8')).toBe('kept');
    },
  );

  test('can be replaced by a rollback to a valid checkpoint', async () => {
    const store = memoryStore();
    const first = await createSandbox({ runtime, session_id: 'one', store });
    await first.execute(BEGIN[runtime]);
    await first.checkpoint('good');
    await first.close();
    const stored = (await store.read('one'))!;
    const delta = alteredDelta(stored.state.delta!, 1, {});
    await store.write({ ...stored, state: { ...stored.state, delta } });
    await using sandbox = await createSandbox({ runtime, session_id: 'one', store });
    await expect(sandbox.execute('x')).rejects.toMatchObject({ code: 'image_invalid' });
    await sandbox.rollback('good');
    expect((await sandbox.execute(PRINT[runtime]('x'))).stdout).toBe('1\n');
  });
});

test('opening a session with other preloaded packages fails and names the preloaded ones', async () => {
  const store = diskStore(folderOfTest());
  const first = await createSandbox({ runtime: 'python', session_id: 'one', store });
  await first.execute(BEGIN.python);
  await first.close();
  const stored = (await store.read('one'))!;
  await store.write({ ...stored, record: { ...stored.record, preload: ['yaml'] } });
  await expect(createSandbox({ runtime: 'python', session_id: 'one', store })).rejects.toMatchObject({
    code: 'session_mismatch',
    message: expect.stringContaining('the preloaded modules yaml'),
  });
  expect(await keptFile(store)).toEqual([undefined, 'kept']);
});
