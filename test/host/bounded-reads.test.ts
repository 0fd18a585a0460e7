/** Files whose size this program does not determine are read only up to a limit. Sparse files take no space. */
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { readCached, readCachedInParts, writeCached } from '../../packages/core/src/host/disk-cache.ts';
import { readBoundedFile } from '../../packages/core/src/host/read-bounded-file.ts';
import { readJsonFile } from '../../packages/core/src/host/read-json-file.ts';
import { readAddedPackages } from '../../packages/core/src/packages/added-packages.ts';
import { unpackWheel } from '../../packages/core/src/packages/unpack-wheel.ts';
import { folderOfFile } from '../support/folders.ts';

const folder = folderOfFile();
afterAll(() => {
  vi.unstubAllEnvs();
});

const sparse = (name: string, bytes: number) => {
  const path = join(folder, name);
  writeFileSync(path, '');
  truncateSync(path, bytes);
  return path;
};

describe('a file', () => {
  test('is read up to the limit', () => {
    const path = sparse('small', 100);
    expect(readBoundedFile(path, 100).length).toBe(100);
    expect(() => readBoundedFile(path, 99)).toThrow(/has 100 bytes, and the limit is 99 bytes/);
  });

  test('is regular', () => {
    expect(() => readBoundedFile(folder, 100)).toThrow(/is not a regular file/);
    expect(() => readBoundedFile('/dev/zero', 100)).toThrow(/is not a regular file/);
  });
});

test('a configuration may be a pipe or a device, which ends at the limit', () => {
  expect(() => readJsonFile('/dev/zero', 'configuration')).toThrow(/has more than 1 MiB/);
  expect(() => readJsonFile(sparse('large', 2 ** 40), 'configuration')).toThrow(/has more than 1 MiB/);
  expect(() => readJsonFile('/dev/null', 'configuration')).toThrow('/dev/null is not valid JSON.');
});

test('a cached file that is too large is not read', async () => {
  vi.stubEnv('LLM_WASM_SANDBOX_CACHE', folder);
  writeCached('modules', 'key', new Uint8Array([1, 2]));
  expect(readCached('modules', 'key')).toEqual(new Uint8Array([1, 2]));
  truncateSync(join(folder, 'modules', 'key'), 2 ** 30 + 1);
  expect(readCached('modules', 'key')).toBeUndefined();
  expect(await readCachedInParts('modules', 'key')).toBeUndefined();
});

test('a wheel or a list of packages that is too large is not read', () => {
  const wheel = { name: 'a-1.0-py3-none-any.whl', source: sparse('wheel', 2 ** 40) };
  expect(() => unpackWheel(wheel)).toThrow(/cannot read a-1\.0.*the limit is 512 MiB/);
  vi.stubEnv('LLM_WASM_SANDBOX_PACKAGES_DIR', join(folder, 'packages'));
  mkdirSync(join(folder, 'packages'));
  sparse('packages/packages.json', 2 ** 40);
  expect(() => readAddedPackages()).toThrow(/the limit is 16 MiB/);
});
