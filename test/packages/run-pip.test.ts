/**
 * How pip is found, the environment that it inherits, what it must not load, and the report if it is missing.
 *
 * @module-tag full
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { pipDownload } from '../../packages/core/src/packages/run-pip.ts';
import { describeMissing } from '../../packages/core/src/packages/vendored-package-table.ts';
import {
  fetchLockedPackages,
  firstPartyFiles,
} from '../../packages/core/src/runtimes/python/build/fetch-locked-packages.ts';
import { folderOfFile } from '../support/folders.ts';
import { wheel } from './wheel-fixtures.ts';

const folder = folderOfFile();
const calls = join(folder, 'calls');
const systemPath = process.env['PATH'];
let bin = '';

/** Adds a command to PATH that records its arguments and a variable of the environment. */
function command(name: string, then: string): void {
  const script = `#!/bin/sh\necho "${name} $1 $2 index=$PIP_INDEX_URL" >> '${calls}'\n${then}\n`;
  writeFileSync(join(bin, name), script, { mode: 0o755 });
}

beforeEach(() => {
  bin = mkdtempSync(join(folder, 'bin-'));
  writeFileSync(calls, '');
  vi.stubEnv('PATH', bin);
  vi.stubEnv('PIP_INDEX_URL', 'https://mirror.example/');
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
    expect(called()).toEqual(['python3 -I -c index=https://mirror.example/']);
  });

  test('is run by other programs if Python does not exist or has no pip', async () => {
    command('python3', NO_PIP);
    command('py', NO_PIP);
    command('uvx', 'exit 0');
    expect(await download()).toBeUndefined();
    expect(called().map((line) => line.split(' ').slice(0, 3).join(' '))).toEqual([
      'python3 -I -c',
      'py -3 -I',
      'uvx pip download',
    ]);
  });

  test('is not retried with another program if it fails', async () => {
    command('python3', 'echo "ERROR: No matching distribution found for six" >&2; exit 1');
    command('python', 'exit 0');
    expect(await download()).toMatchObject({ kind: 'no_wheel' });
    expect(called()).toHaveLength(1);
  });

  // guarantee: package-sources
  // proves: What an index says is passed on as one short line without control characters.
  test('passes on what an index says as one short line without control characters', async () => {
    command('python3', `printf 'ERROR: \\033[2J%05000d\\n' 7 >&2; exit 1`);
    expect(await download()).toEqual({ kind: 'other', message: `ERROR:  [2J${'0'.repeat(488)}…` });
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
      'six 1.0, pypdf 1.0 are missing: download failed: pip was not found (tried python3, python, py -3, uvx pip); install Python 3 with pip, or uv',
      'PyPDF2 1.0 is missing: requires pypdf, which is missing',
    ]);
    const folders = new Set(firstPartyFiles(missing).map(({ path }) => path.split('/')[0]));
    expect(folders).toContain('rpds');
    expect(folders).not.toContain('PyPDF2');
  });
});

/** Files that a guest may have written into the current folder. Each of them writes a marker if it is used. */
function plant(here: string, markers: string): void {
  const python = (name: string) => `open(${JSON.stringify(join(markers, name))}, 'w').close()\n`;
  const shell = (name: string) => `#!/bin/sh\n: > '${join(markers, name)}'\n`;
  const files: Record<string, string> = {
    'pip.py': python('pip.py'),
    'pip/__init__.py': python('pip'),
    'pip/__main__.py': python('pip.main'),
    'sitecustomize.py': python('sitecustomize'),
    'usercustomize.py': python('usercustomize'),
    'startup.py': python('startup'),
    'pip.conf': `[global]\nlog = ${join(markers, 'pip.conf')}\n`,
    'pip.ini': `[global]\nlog = ${join(markers, 'pip.ini')}\n`,
    '.npmrc': `node-options=--require=${join(here, 'startup.cjs')}\n`,
    'startup.cjs': `require('node:fs').writeFileSync(${JSON.stringify(join(markers, 'startup.cjs'))}, '')`,
    'pyproject.toml': '[[tool.uv.index]]\nurl = "http://127.0.0.1:1/"\ndefault = true\n',
    'uv.toml': 'index-url = "http://127.0.0.1:1/"\n',
    ...Object.fromEntries(
      ['python3', 'uvx', 'node_modules/.bin/python3', 'node_modules/.bin/uvx'].map((path) => [
        path,
        shell('program'),
      ]),
    ),
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(here, path)), { recursive: true });
    writeFileSync(join(here, path), text, { mode: 0o755 });
  }
}

describe.skipIf(process.platform === 'win32')('files of a guest in the current folder', () => {
  const here = join(folder, 'here');
  const markers = join(folder, 'markers');
  const output = join(folder, 'output');
  const previous = process.cwd();
  for (const path of [here, markers, output]) mkdirSync(path);
  plant(here, markers);
  beforeEach(() => process.chdir(here));
  afterEach(() => process.chdir(previous));
  const untrusted = () => {
    vi.stubEnv('PYTHONPATH', here);
    vi.stubEnv('PYTHONSTARTUP', join(here, 'startup.py'));
    vi.stubEnv('PYTHONUSERBASE', here);
    vi.stubEnv('NODE_OPTIONS', `--require=${join(here, 'startup.cjs')}`);
  };

  // guarantee: host-programs
  test('are not used by pip, which still finds the wheels of the user by a relative path', async () => {
    mkdirSync(join(here, 'wheels'));
    await wheel(join(here, 'wheels'), 'planted', '1.0', { 'planted.py': '' });
    vi.stubEnv('PATH', `:.:node_modules/.bin:${systemPath}`);
    vi.stubEnv('PIP_NO_INDEX', '1');
    vi.stubEnv('PIP_FIND_LINKS', 'wheels missing');
    untrusted();
    expect(await pipDownload([], ['planted'], '../output')).toBeUndefined();
    expect(readdirSync(output)).toEqual(['planted-1.0-py3-none-any.whl']);
    expect(readdirSync(markers)).toEqual([]);
  });

  // guarantee: host-programs
  test('are out of reach of uvx, which starts in a folder where its search for settings ends', async () => {
    command('uvx', `pwd >> '${calls}'; /bin/ls -A >> '${calls}'; /usr/bin/env >> '${calls}'`);
    vi.stubEnv('PATH', `.:${bin}`);
    vi.stubEnv('PIP_CERT', 'cert.pem');
    vi.stubEnv('HTTPS_PROXY', 'http://proxy.example');
    untrusted();
    expect(await download()).toBeUndefined();
    const [, started, ...lines] = called();
    expect(started).not.toBe(here);
    expect(existsSync(started!)).toBe(false);
    expect(lines.slice(0, 2)).toEqual(['package.json', 'uv.toml']);
    expect(lines).toContain(`PATH=${bin}`);
    expect(lines).toContain(`PIP_CERT=${join(here, 'cert.pem')}`);
    expect(lines).toContain('HTTPS_PROXY=http://proxy.example');
    expect(lines.filter((line) => /^(?:PYTHON|NODE_|LLM_)/.test(line))).toEqual([]);
    expect(readdirSync(markers)).toEqual([]);
  });
});
