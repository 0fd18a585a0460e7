/** How pip is found, the environment that it inherits, and the report if it is missing. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { fetchLockedPackages, firstPartyFiles } from '../../src/packages/fetch-locked-packages.ts';
import { pipDownload } from '../../src/packages/run-pip.ts';
import { describeMissing } from '../../src/packages/vendored-package-table.ts';

const folder = mkdtempSync(join(tmpdir(), 'run-pip-'));
afterAll(() => rmSync(folder, { recursive: true }));
const calls = join(folder, 'calls');
let bin = '';

/** Adds a command to PATH that records its arguments and a variable of the environment. */
function command(name: string, then: string): void {
  const script = `#!/bin/sh\necho "${name} $1 $2 $3 index=$PIP_INDEX_URL" >> '${calls}'\n${then}\n`;
  writeFileSync(join(bin, name), script, { mode: 0o755 });
}

beforeEach(() => {
  bin = mkdtempSync(join(folder, 'bin-'));
  writeFileSync(calls, '');
  vi.stubEnv('PATH', bin);
  vi.stubEnv('PIP_INDEX_URL', 'mirror');
  // The packages must not come from the cache of the user.
  vi.stubEnv('LLM_WASM_SANDBOX_CACHE', join(bin, 'cache'));
});
afterEach(() => {
  vi.unstubAllEnvs();
});

const NO_PIP = 'echo "/usr/bin/python3: No module named pip" >&2; exit 1';
const download = () => pipDownload([], ['six'], folder);
const called = () => readFileSync(calls, 'utf8').trim().split('\n');

describe.skipIf(process.platform === 'win32')('pip', () => {
  test('is run by python3 if possible, with the environment of the user', async () => {
    for (const name of ['python3', 'python', 'py', 'uvx']) command(name, 'exit 0');
    expect(await download()).toBeUndefined();
    expect(called()).toEqual(['python3 -m pip download index=mirror']);
  });

  test('is run by other programs if Python does not exist or has no pip', async () => {
    command('python3', NO_PIP);
    command('py', NO_PIP);
    command('uvx', 'exit 0');
    expect(await download()).toBeUndefined();
    expect(called().map((line) => line.split(' ').slice(0, 4).join(' '))).toEqual([
      'python3 -m pip download',
      'py -3 -m pip',
      'uvx pip download --quiet',
    ]);
  });

  test('is not retried with another program if it fails', async () => {
    command('python3', 'echo "ERROR: No matching distribution found for six" >&2; exit 1');
    command('python', 'exit 0');
    expect(await download()).toMatchObject({ kind: 'no_wheel' });
    expect(called()).toHaveLength(1);
  });

  test('reports that the disk is full', async () => {
    command(
      'python3',
      'echo "ERROR: Could not install packages: [Errno 28] No space left on device" >&2; exit 1',
    );
    expect(await download()).toMatchObject({ kind: 'no_space' });
  });

  test('is reported once for all packages if it is not found, and packages based on missing ones are missing', async () => {
    const locked = ['six', 'pypdf'].map((name) => ({ name, version: '1.0', sha256: '0'.repeat(64) }));
    const { missing } = await fetchLockedPackages(locked);
    expect(missing.map(({ name }) => name)).toEqual(['six', 'pypdf', 'PyPDF2']);
    expect(describeMissing(missing)).toEqual([
      'six 1.0, pypdf 1.0 are missing: download failed: pip was not found (tried python3 -m pip, python -m pip, py -3 -m pip, uvx pip); install Python 3 with pip, or uv',
      'PyPDF2 1.0 is missing: requires pypdf, which is missing',
    ]);
    const folders = new Set(firstPartyFiles(missing).map(({ path }) => path.split('/')[0]));
    expect(folders).toContain('sandbox_utils');
    expect(folders).not.toContain('PyPDF2');
  });
});
