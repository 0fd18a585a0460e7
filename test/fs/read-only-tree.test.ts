import { describe, expect, it } from 'vitest';
import { readOnlyTree } from '../../packages/core/src/fs/flat-entries.ts';
import { visitTree } from '../../packages/core/src/fs/nodes.ts';
import { codeOf, dir, file, link } from './support.ts';

const SAMPLE = [dir('d'), file('d/f', 'some text'), file('empty'), link('l', 'd/f'), file('z', '12345678')];

describe('readOnlyTree', () => {
  it('rejects entries that do not form a tree', () => {
    expect(codeOf(() => readOnlyTree([file('a/b')]))).toBe('image_invalid');
  });

  it('builds read-only nodes', () => {
    const seen: string[] = [];
    const root = readOnlyTree(SAMPLE, 3);
    visitTree(root, (path, node) => seen.push(`${node.kind} ${path} ${node.readonly} ${node.nlink}`));
    expect(seen.sort()).toEqual([
      'dir d true 1',
      'file d/f true 1',
      'file empty true 1',
      'file z true 1',
      'symlink l true 1',
    ]);
    expect(root.ino).toBe(3 * 2 ** 24);
  });
});
