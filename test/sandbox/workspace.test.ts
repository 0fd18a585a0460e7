/** A workspace whose files other workspaces borrow. */
import { expect, test } from 'vitest';
import { Workspace } from '../../packages/core/src/sandbox/workspace.ts';
import { WorkspaceFiles } from '../../packages/core/src/sandbox/workspace-files.ts';

const LIMITS = { maxBytes: 100, maxFiles: 10 };

function workspaceOf(files: Record<string, string>, saves: string[][] = []): Workspace {
  const held = new WorkspaceFiles(() => 1, LIMITS);
  held.write(files);
  return new Workspace(held, 'tenant', {
    read: async (work) => work(held),
    write: async (work) => work(),
    save: async () => void saves.push(held.list().map(({ path }) => path)),
    hasInterpreter: true,
  });
}

const contentsOf = (workspace: Workspace) =>
  workspace.read((files) =>
    Object.fromEntries(
      files.list().map(({ path }) => [path, new TextDecoder().decode(files.contents(path))]),
    ),
  );

test('a borrower has the files of the owner during a call, and the owner gets what it changed', async () => {
  const owner = workspaceOf({ kept: 'a', changed: 'b' });
  const borrower = workspaceOf({ own: 'x' });
  const seen = await borrower.borrow(
    () => owner,
    async () => {
      const files = await contentsOf(borrower);
      await borrower.write({ changed: 'c', added: 'd' });
      await borrower.change((held) => held.delete('kept'));
      // The owner changes meanwhile.
      await owner.write({ other: 'e' });
      return files;
    },
  );
  expect(seen).toEqual({ kept: 'a', changed: 'b' });
  expect(await contentsOf(owner)).toEqual({ changed: 'c', added: 'd', other: 'e' });
});

test('calls that borrow run one after another, and too many are refused', async () => {
  const owner = workspaceOf({});
  const borrower = workspaceOf({});
  const log: string[] = [];
  const call = (name: string) =>
    borrower.borrow(
      () => owner,
      async () => {
        log.push(`${name} starts`);
        await borrower.write({ [name]: name });
        log.push(`${name} ends`);
      },
      1,
    );
  const calls = [call('a'), call('b'), call('c')];
  await expect(calls[2]).rejects.toMatchObject({ code: 'queue_full' });
  await Promise.all(calls.slice(0, 2));
  expect(log).toEqual(['a starts', 'a ends', 'b starts', 'b ends']);
  expect(await contentsOf(owner)).toEqual({ a: 'a', b: 'b' });
});

test('what a call changed before it failed stays with the borrower, and the next call has the files of the owner', async () => {
  const owner = workspaceOf({ kept: 'a' });
  const borrower = workspaceOf({});
  const failing = borrower.borrow(
    () => owner,
    async () => {
      await borrower.write({ kept: 'b', half: 'c' });
      throw new Error('failed');
    },
  );
  const next = borrower.borrow(
    () => owner,
    () => contentsOf(borrower),
  );
  await expect(failing).rejects.toThrow('failed');
  expect(await next).toEqual({ kept: 'a' });
  expect(await contentsOf(owner)).toEqual({ kept: 'a' });
});

test('a call whose owner cannot be opened does not start, and others can follow', async () => {
  const borrower = workspaceOf({ own: 'x' });
  const started: string[] = [];
  const call = (name: string, owner: () => Promise<Workspace>) =>
    borrower.borrow(owner, async () => void started.push(name));
  await expect(call('a', () => Promise.reject(new Error('no owner')))).rejects.toThrow('no owner');
  await call('b', async () => borrower);
  expect(started).toEqual(['b']);
  expect(await contentsOf(borrower)).toEqual({ own: 'x' });
});

test('a change is saved, and work that changes nothing is not', async () => {
  const saves: string[][] = [];
  const workspace = workspaceOf({}, saves);
  await workspace.write({});
  await workspace.edit(() => ({ removed: [], entries: [] }));
  expect(saves).toEqual([]);
  await workspace.write({ a: '1' });
  expect(saves).toEqual([['a']]);
  await expect(workspace.write({ b: 'x'.repeat(101) })).rejects.toMatchObject({ code: 'quota_exceeded' });
  expect(saves).toEqual([['a']]);
});
