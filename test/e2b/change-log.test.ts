/** The log of changes that all watchers of a sandbox share. */
import { describe, expect, test } from 'vitest';
import { nextTurn } from '../../packages/core/src/concurrency/slices.ts';
import { FileTree } from '../../packages/core/src/fs/immutable-file-tree.ts';
import { ChangeLog } from '../../packages/server/src/e2b/change-log.ts';

const file = (path: string, mode = 0o644) =>
  ({ path, kind: 'file', mode, mtimeMs: 0, data: new Uint8Array([1]) }) as const;
const treeOf = (count: number, prefix = 'f') =>
  FileTree.from(Array.from({ length: count }, (_, i) => file(`${prefix}${i}`)));
const update = (log: ChangeLog, tree: FileTree) => log.update(async () => tree, nextTurn);

describe('the log of changes', () => {
  test('reads the files once for all watchers that wait for the same update', async () => {
    const log = new ChangeLog(treeOf(0));
    let reads = 0;
    const read = async () => {
      reads++;
      return treeOf(1000);
    };
    await Promise.all(Array.from({ length: 32 }, () => log.update(read, nextTurn)));
    expect(reads).toBe(1);
    expect(log.end).toBe(2000);
    await log.update(read, nextTurn);
    expect(reads).toBe(2);
  });

  test('has each kind of change, without contents', async () => {
    const [a, b, c] = [file('a'), file('b'), file('c')];
    const log = new ChangeLog(FileTree.from([a, b, c]));
    const moved = { ...b, path: 'd' };
    await update(
      log,
      FileTree.from([{ ...a, mode: 0o600 }, file('c'), moved, { ...a, path: 'e', kind: 'dir' }]),
    );
    expect(log.from(0, 10)!.map(({ path, type }) => [path, type])).toEqual([
      ['b', 'RENAME'],
      ['a', 'CHMOD'],
      ['c', 'WRITE'],
      ['d', 'CREATE'],
      ['d', 'WRITE'],
      ['e', 'CREATE'],
    ]);
    for (const { entry } of log.from(1, 10)!) expect(entry).not.toHaveProperty('data');
    expect(log.from(1, 10)![0]!.entry).toMatchObject({ path: 'a', mode: 0o600, size: 1 });
  });

  test('computes a difference in steps', () => {
    const steps = treeOf(0).differenceSteps(treeOf(9500));
    let count = 0;
    while (steps.next().done !== true) count++;
    expect(count).toBeGreaterThan(8);
  });

  test('drops the oldest changes, but none of the last difference', async () => {
    const log = new ChangeLog(treeOf(0));
    await update(log, treeOf(5000));
    await update(log, treeOf(5000, 'g'));
    expect(log.from(0, 1)).toBeUndefined();
    expect(log.from(log.end - 20_000, 1)).toHaveLength(1);
    await update(log, treeOf(30_000, 'h'));
    expect(log.from(log.end - 65_000, 100_000)).toHaveLength(65_000);
    expect(log.from(log.end - 65_001, 1)).toBeUndefined();
    log.dropBefore(log.end - 5);
    expect(log.from(log.end - 5, 10)).toHaveLength(5);
    expect(log.from(log.end, 10)).toEqual([]);
  });

  test('goes on after an update that fails', async () => {
    const log = new ChangeLog(treeOf(0));
    await expect(log.update(() => Promise.reject(new Error('gone')), nextTurn)).rejects.toThrow('gone');
    await update(log, treeOf(1));
    expect(log.end).toBe(2);
  });
});
