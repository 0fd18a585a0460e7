/**
 * Selecting the files of wheels, and rejecting damaged ones.
 *
 * @module-tag full
 */
import { mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import {
  checkRecord,
  parseWheelName,
  usableFiles,
} from '../../packages/core/src/packages/check-wheel-contents.ts';
import { filesDigest } from '../../packages/core/src/packages/package-files.ts';
import { readZip } from '../../packages/core/src/packages/read-zip.ts';
import { fetchLockedPackages } from '../../packages/core/src/runtimes/python/build/fetch-locked-packages.ts';
import { folderOfFile } from '../support/folders.ts';
import { wheel } from './wheel-fixtures.ts';

const folder = folderOfFile();
afterEach(() => {
  vi.unstubAllEnvs();
});

const files = (...paths: string[]) => paths.map((path) => ({ path, data: new Uint8Array([1]) }));
const paths = (found: readonly { path: string }[]) => found.map(({ path }) => path);

describe('pure files of a wheel', () => {
  test('are sources and data without tests, stubs, records and bytecode', () => {
    const all = files(
      'p/__init__.py',
      'p/data.json',
      'p/x.pyi',
      'p/tests/test_x.py',
      'p/__pycache__/a.pyc',
      'p/_speedups.c',
      'p-1.dist-info/METADATA',
      'p-1.dist-info/entry_points.txt',
      'p-1.dist-info/licenses/LICENSE',
      'p-1.dist-info/RECORD',
      'p-1.data/scripts/p',
    );
    expect(paths(usableFiles('p', all, {}))).toEqual([
      'p/__init__.py',
      'p/data.json',
      'p-1.dist-info/METADATA',
      'p-1.dist-info/entry_points.txt',
      'p-1.dist-info/licenses/LICENSE',
    ]);
  });

  test('are rejected if the wheel contains compiled code', () => {
    const all = files('numpy/__init__.py', 'numpy/core.cpython-314-x86_64-linux-gnu.so');
    expect(() => usableFiles('numpy 2.0', all, {})).toThrow(
      /numpy 2\.0 contains compiled code \(numpy\/core\.cpython-314-x86_64-linux-gnu\.so\)/,
    );
  });

  test('exclude static archives, headers and launchers, which are not loaded', () => {
    const all = files(
      'numpy/__init__.py',
      'numpy/lib/libnpymath.a',
      'numpy/x.lib',
      'numpy/x.h',
      'distlib/t64.exe',
    );
    expect(paths(usableFiles('numpy', all, {}))).toEqual(['numpy/__init__.py']);
  });

  test('include tests only if the package imports them', () => {
    const text = (path: string, source: string) => ({ path, data: new TextEncoder().encode(source) });
    const all = (source: string) => [text('b/__init__.py', source), text('b/tests/util.py', '')];
    expect(paths(usableFiles('b', all('import b.core\n# import b.tests\n'), {}))).toEqual(['b/__init__.py']);
    expect(paths(usableFiles('b', all('import x\nfrom b.tests.util import y\n'), {}))).toEqual([
      'b/__init__.py',
      'b/tests/util.py',
    ]);
    const omitted_files = /^b\/__init__/;
    expect(paths(usableFiles('b', all('from b.tests.util import y\n'), { omitted_files }))).toEqual([]);
  });

  test('exclude compiled code that the package does not need', () => {
    const all = files('yaml/__init__.py', 'yaml/_yaml.pyd', 'x__mypyc.cpython-311-darwin.so');
    expect(paths(usableFiles('pyyaml', all, { compiled: 'optional' }))).toEqual(['yaml/__init__.py']);
  });

  test('have a digest that depends on paths and contents but not on their order', () => {
    const [a, b] = files('a', 'b') as [
      { path: string; data: Uint8Array },
      { path: string; data: Uint8Array },
    ];
    expect(filesDigest([a, b])).toBe(filesDigest([b, a]));
    expect(filesDigest([a])).not.toBe(filesDigest([b]));
    expect(filesDigest([{ ...a, data: new Uint8Array([2]) }])).not.toBe(filesDigest([a]));
  });
});

describe('RECORD of a wheel', () => {
  test('matches an intact wheel', async () => {
    const path = await wheel(folder, 'good', '1.0', { 'good/__init__.py': 'x = 1\n', 'good/a,b.txt': 'c' });
    const found = readZip(readFileSync(path));
    checkRecord(
      'good',
      found.filter((file) => !file.path.includes(',')),
    );
    expect(paths(found)).toContain('good/__init__.py');
  });

  test('must exist and does not match a changed or added file', async () => {
    const found = readZip(
      readFileSync(await wheel(folder, 'good', '1.0', { 'good/__init__.py': 'x = 1\n' })),
    );
    const changed = found.map((file) =>
      file.path === 'good/__init__.py' ? { ...file, data: new Uint8Array() } : file,
    );
    expect(() => checkRecord('good', changed)).toThrow(/good\/__init__\.py does not match its RECORD/);
    expect(() => checkRecord('good', [...found, ...files('extra.py')])).toThrow(/extra\.py does not match/);
    expect(() => checkRecord('good', files('a.py'))).toThrow(/has no RECORD/);
  });
});

test('parseWheelName returns name, version and tags', () => {
  expect(parseWheelName('python_dateutil-2.9.0.post0-py2.py3-none-any.whl')).toEqual({
    name: 'python_dateutil',
    version: '2.9.0.post0',
    abis: ['none'],
    platforms: ['any'],
  });
  expect(parseWheelName('x.whl')).toBeUndefined();
});

test('packages that cannot be downloaded or do not match the lock are reported as missing', async () => {
  const links = mkdtempSync(join(folder, 'links-'));
  const version = '9.9.9';
  await wheel(links, 'idna', version, { 'idna/__init__.py': 'x = 1\n' });
  const good = readZip(
    readFileSync(await wheel(links, 'mdurl', version, { 'mdurl/__init__.py': 'y = 1\n' })),
  );
  const sha256 = filesDigest(usableFiles('mdurl', good, {}));
  // pip finds only these wheels, so the test does not depend on a network.
  vi.stubEnv('PIP_NO_INDEX', '1');
  vi.stubEnv('PIP_FIND_LINKS', links);
  vi.stubEnv('LLM_WASM_SANDBOX_CACHE', join(links, 'cache'));
  const { files: found, missing } = await fetchLockedPackages([
    { name: 'six', version, sha256 },
    { name: 'idna', version, sha256 },
    { name: 'mdurl', version, sha256 },
  ]);
  expect(missing.map(({ name, reason }) => [name, reason.split(':')[0]])).toEqual([
    ['six', 'download failed'],
    ['idna', 'does not match the lock'],
  ]);
  expect(filesDigest(found)).toBe(sha256);
});
