import { expect, it } from 'vitest';
import { packFiles, sortedFiles, unpackFiles } from '../../packages/core/src/packages/package-files.ts';

const bytes = (text: string) => new TextEncoder().encode(text);

it('packs files with any paths and contents', () => {
  const files = [
    { path: 'b/ü "x"\n.py', data: bytes('print(1)') },
    { path: 'a.py', data: bytes('') },
    { path: 'a/b.pyc', data: Uint8Array.of(0, 255, 10) },
  ];
  const unpacked = unpackFiles(packFiles(files)).map(({ path, data }) => ({ path, data: [...data] }));
  expect(unpacked).toEqual(files.map(({ path, data }) => ({ path, data: [...data] })));
  expect(unpackFiles(packFiles([]))).toEqual([]);
});

it('sorts files by code unit, as layers do', () => {
  const paths = ['b', 'a/c', 'a', 'a.py', 'B'];
  const files = paths.map((path) => ({ path, data: bytes(path) }));
  expect(sortedFiles(files).map(({ path }) => path)).toEqual(['B', 'a', 'a.py', 'a/c', 'b']);
});
