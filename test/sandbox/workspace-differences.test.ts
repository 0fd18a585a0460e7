/** A worker receives the difference from the files it already has. The program must see the files of the host anyway. */
import { createPool, createSandbox } from 'llm-wasm-sandbox';
import { expect, test } from 'vitest';

/** Prints every path below /app with its contents. */
const LIST = `
import os
for folder, folders, files in sorted(os.walk('.')):
    for name in sorted(files):
        path = os.path.join(folder, name)[2:]
        print(path, open(path).read())
`;

test.each(['thread', 'process'] as const)(
  'a program sees what the host and earlier programs have written (%s)',
  { tags: 'full' },
  async (isolation) => {
    await using pool = createPool({ isolation, maxWorkers: 1, optimization: 'demand' });
    await using fresh = await createSandbox({ runtime: 'python', pool });
    await using session = await createSandbox({ runtime: 'python', pool, auto_persist_globals: true });
    const start = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`d${i % 3}/f${i}`, String(i)]));
    for (const sandbox of [fresh, session]) {
      const model = new Map(Object.entries(start));
      const expectFiles = async () => {
        const { stdout, stderr } = await sandbox.execute(LIST);
        const wanted = [...model].map(([path, text]) => `${path} ${text}`).sort();
        expect({ stderr, files: stdout.split('\n').filter(Boolean).sort() }).toEqual({
          stderr: '',
          files: wanted,
        });
        expect((await sandbox.listFiles()).map(({ path }) => path)).toEqual([...model.keys()].sort());
      };
      await sandbox.execute('0', { files: start });
      await expectFiles();
      await sandbox.writeFile('d0/f0', 'host');
      model.set('d0/f0', 'host');
      await sandbox.deleteFile('d1/f1');
      model.delete('d1/f1');
      await expectFiles();
      const changed = await sandbox.execute(
        'import os, shutil\nos.rename("d2", "moved")\nopen("d0/f3", "w").write("guest")\nos.remove("d0/f6")\nshutil.rmtree("d1")',
      );
      expect(changed.files_modified).toEqual(['d0/f3']);
      for (const path of [...model.keys()]) {
        if (path.startsWith('d2/')) model.set(path.replace('d2', 'moved'), model.get(path)!);
        if (path.startsWith('d1/') || path.startsWith('d2/') || path === 'd0/f6') model.delete(path);
      }
      model.set('d0/f3', 'guest');
      await sandbox.writeFile('d1/again', 'host');
      model.set('d1/again', 'host');
      await expectFiles();
      await sandbox.clearFiles();
      model.clear();
      await expectFiles();
    }
  },
);

test('a call that fails in the worker does not affect the files of the next one', async () => {
  await using pool = createPool({ maxWorkers: 1, optimization: 'demand' });
  await using sandbox = await createSandbox({ runtime: 'python', pool });
  await sandbox.writeFile('a', '1');
  await sandbox.execute('open("b", "w").write("2")\nwhile True: pass', { fuel_budget: 200_000_000 });
  await sandbox.execute('import os\nos.kill(os.getpid(), 9) if hasattr(os, "kill") else None');
  await sandbox.writeFile('c', '3');
  expect((await sandbox.execute(LIST)).stdout).toBe('a 1\nb 2\nc 3\n');
});
