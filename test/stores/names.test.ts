import { expect, test } from 'vitest';
import { type HostNames, layable } from '../../src/stores/disk/host-names.ts';
import { describeEntry } from '../../src/stores/format/manifest.ts';
import { files } from './support.ts';

const linux: HostNames = { platform: 'linux', foldsCase: false, rootBytes: 20 };

function laid(contents: Record<string, string>, host: HostNames): string[] {
  const entries = [...files(contents).values()].sort((a, b) => (a.path < b.path ? -1 : 1));
  return [...layable(entries.map(describeEntry), host).keys()];
}

test('links are not laid out, wherever they lead', () => {
  expect(laid({ f: '', l: '-> f', up: '-> ../../secret', 'd/abs': '-> /etc/passwd' }, linux)).toEqual([
    'd',
    'f',
  ]);
});

test('of names that a file system confuses the first is laid out, with what is in it', () => {
  const names = { README: 'a', readme: 'b', 'Dir/x': '', 'dir/y': '', 'caf\u00e9': '', 'cafe\u0301': '' };
  expect(laid(names, { ...linux, foldsCase: true })).toEqual(['Dir', 'Dir/x', 'README', 'cafe\u0301']);
  expect(laid(names, linux).length).toBe(8);
});

test('names that Windows misreads are laid out elsewhere only', () => {
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
  expect(laid(names, { ...linux, platform: 'win32' })).toEqual(['console', 'fine.txt']);
  expect(laid(names, linux).length).toBe(odd.length + 3);
});

test('paths that are too long where the store lies are not laid out', () => {
  const deep = `${'d/'.repeat(1900)}f`;
  expect(laid({ [deep]: '' }, linux)).toContain(deep);
  expect(laid({ [deep]: '' }, { ...linux, rootBytes: 300 })).not.toContain(deep);
  expect(laid({ [deep]: '' }, { ...linux, platform: 'darwin' })).not.toContain(deep);
});
