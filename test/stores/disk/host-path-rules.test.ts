import { describe, expect, test } from 'vitest';
import { atOnce } from '../../../packages/core/src/concurrency/slices.ts';
import { outdatedPaths } from '../../../packages/core/src/stores/disk/external-edits.ts';
import {
  type HostPathRules,
  mirrorableEntries,
} from '../../../packages/core/src/stores/disk/host-path-rules.ts';
import { files } from '../fixtures.ts';

const linux: HostPathRules = { platform: 'linux', foldsCase: false, rootBytes: 20 };

function mirrored(contents: Record<string, string>, rules: HostPathRules): string[] {
  const entries = [...files(contents).values()].sort((a, b) => (a.path < b.path ? -1 : 1));
  return [...atOnce(mirrorableEntries(entries, rules)).keys()];
}

describe('workspace mirror', () => {
  test('examines each entry in a step of its own, so that many do not block the main thread', () => {
    const entries = [...files({ a: '', b: '-> a', c: '' }).values()];
    expect([...mirrorableEntries(entries, linux)]).toHaveLength(3);
    const outdated = new Map<string, string | null>();
    const target = new Map(entries.map((entry) => [entry.path, entry]));
    expect([...outdatedPaths(undefined, target, outdated)]).toHaveLength(3);
    expect([...outdated]).toEqual([
      ['a', null],
      ['b', null],
      ['c', null],
    ]);
  });

  test('does not mirror symbolic links', () => {
    expect(mirrored({ f: '', l: '-> f', up: '-> ../../secret', 'd/abs': '-> /etc/passwd' }, linux)).toEqual([
      'd',
      'f',
    ]);
  });

  test('mirrors only the first of several names that the file system treats as equal, with its contents', () => {
    const names = { README: 'a', readme: 'b', 'Dir/x': '', 'dir/y': '', 'caf\u00e9': '', 'cafe\u0301': '' };
    expect(mirrored(names, { ...linux, foldsCase: true })).toEqual(['Dir', 'Dir/x', 'README', 'cafe\u0301']);
    expect(mirrored(names, linux).length).toBe(8);
  });

  test('does not mirror names that are invalid on Windows on that platform', () => {
    const odd = [
      'a:b',
      'a\\b',
      '..\\..\\up',
      'con',
      'NUL.txt',
      'dot.',
      'space ',
      'q?',
      'tab\t',
      'aux/inner',
      'COM\u00b9',
    ];
    const names = Object.fromEntries([...odd, 'fine.txt', 'console'].map((name) => [name, 'x']));
    expect(mirrored(names, { ...linux, platform: 'win32' })).toEqual(['console', 'fine.txt']);
    expect(mirrored(names, linux).length).toBe(odd.length + 3);
  });

  test('does not mirror paths that are too long for the host', () => {
    const deep = `${'d/'.repeat(1900)}f`;
    expect(mirrored({ [deep]: '' }, linux)).toContain(deep);
    expect(mirrored({ [deep]: '' }, { ...linux, rootBytes: 300 })).not.toContain(deep);
    expect(mirrored({ [deep]: '' }, { ...linux, platform: 'darwin' })).not.toContain(deep);
  });
});
