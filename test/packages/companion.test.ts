/**
 * The companion package, as scripts/companion.mjs builds it: a small one from a wheel that the test creates. In the nightly
 * tests, also a real one, packed and installed with npm.
 * @module-tag full
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { runCli } from '../support/cli.ts';
import { folderOfFile } from '../support/folders.ts';
import { isNightly } from '../support/repetitions.ts';
import { EXTENSION, LIBRARY, NATIVE_TAG } from './native-extension.ts';
import { wheel } from './wheel-fixtures.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const folder = folderOfFile();
const at = (...path: readonly string[]) => join(folder, ...path);

/** Builds the package from a folder of wheels. */
const build = (out: string, wheels: string) =>
  execFileSync(process.execPath, [join(root, 'scripts/companion.mjs'), '--out', out, ...wheels.split(' ')], {
    stdio: 'pipe',
    env: { ...process.env, PIP_CONFIG_FILE: '/dev/null', PIP_NO_INDEX: '1' },
  });
/** The digests of a package that was built. */
const manifestOf = (out: string) => JSON.parse(readFileSync(join(out, 'manifest.json'), 'utf8'));

describe('a companion package', () => {
  const PROGRAM = 'import numpy\nprint(numpy.counter.add(2), numpy.loaded)';
  const env = (companion: string) => ({
    LLM_WASM_SANDBOX_COMPANION: companion,
    LLM_WASM_SANDBOX_PACKAGES_DIR: at('packages'),
    LLM_WASM_SANDBOX_CACHE: at('cache'),
    LLM_WASM_SANDBOX_STORE: at('sessions'),
  });
  const cli = (companion: string, ...args: readonly string[]) =>
    runCli(args, { cwd: folder, env: env(companion) });
  const run = (companion: string, ...more: readonly string[]) =>
    cli(companion, 'run', ...more, '-c', PROGRAM);

  beforeAll(async () => {
    const code = 'import counter\nloaded = True\n';
    await wheel(folder, 'numpy', '1.0', { 'numpy/__init__.py': code, [LIBRARY]: EXTENSION }, NATIVE_TAG);
    build(at('built'), folder);
  });

  test('gives programs its packages, and nothing is built', async () => {
    expect(await run(at('built'))).toEqual({ stdout: '2 True\n', stderr: '', status: 0 });
    expect(readdirSync(folder)).not.toContain('cache');
  });

  test.runIf(isNightly)('contains the same bytes if it is built again', () => {
    build(at('again'), folder);
    expect(manifestOf(at('again'))).toEqual(manifestOf(at('built')));
  });

  test('is what a session needs in another process', async () => {
    expect((await run(at('built'), '--session', 'a')).stdout).toBe('2 True\n');
    expect((await run(at('built'), '--session', 'a')).stdout).toBe('4 True\n');
    const without = await run('', '--session', 'a');
    expect(without.stderr).toContain('uses packages that have not been added');
    expect(without.status).not.toBe(0);
  });

  test('is refused if a file is damaged', async () => {
    const copy = at('damaged');
    cpSync(at('built'), copy, { recursive: true });
    const facts = Object.entries<{ bytes?: number }>(manifestOf(copy).files);
    const largest = facts.toSorted(([, a], [, b]) => (b.bytes ?? 0) - (a.bytes ?? 0))[0]![0];
    const library = facts.find(([path]) => path.startsWith('cache/modules/'))![0];
    for (const path of [largest, library, 'packages/packages.json']) {
      const intact = readFileSync(join(copy, path));
      const bytes = Buffer.from(intact);
      bytes[bytes.length >> 1]! ^= 1;
      writeFileSync(join(copy, path), bytes);
      const { stderr, status } = await run(copy);
      const problem = `The file ${path} of @llm-wasm-sandbox/science is damaged`;
      expect(stderr).toContain(problem);
      expect(stderr).toContain('Install @llm-wasm-sandbox/science again');
      expect(status).not.toBe(0);
      if (path === library) expect((await cli(copy, 'packages', 'verify')).stdout).toContain(problem);
      writeFileSync(join(copy, path), intact);
    }
    writeFileSync(join(copy, 'manifest.json'), '{"sandbox":');
    expect((await run(copy)).stderr).toContain(
      'The file manifest.json of @llm-wasm-sandbox/science is damaged',
    );
  });

  test('is refused if it is for another version, but programs without imports run', async () => {
    const other = at('other');
    mkdirSync(other);
    const { sandbox } = manifestOf(at('built'));
    writeFileSync(join(other, 'manifest.json'), JSON.stringify({ sandbox: '999.0.0', files: {} }));
    const { stderr, status } = await run(other);
    expect(stderr).toContain(
      `@llm-wasm-sandbox/science is for version 999.0.0 of llm-wasm-sandbox, and this is version ${sandbox}. ` +
        `Install the same version: npm install @llm-wasm-sandbox/science@${sandbox}.`,
    );
    expect(status).not.toBe(0);
    expect((await cli(other, 'run', '-c', 'print(1)')).stdout).toBe('1\n');
  });
});

const folders = (process.env['PIP_FIND_LINKS'] ?? '')
  .split(/\s+/)
  .flatMap((one) => [one, join(one, 'official')]);
const withWheels = folders.filter((one) => existsSync(one));
const isAvailable = ['numpy', 'pandas', 'matplotlib', 'pillow', 'lxml'].every((name) =>
  withWheels.some((one) => readdirSync(one).some((file) => file.startsWith(`${name}-`))),
);

// npm needs a registry for the dependencies of the sandbox, and the images take minutes.
describe.runIf(isNightly && isAvailable)('the companion package that npm installs', () => {
  const project = at('project');
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    HOME: at('home'),
    PIP_NO_INDEX: '1',
    LLM_WASM_SANDBOX_PYODIDE_URL: at('none'),
  };
  delete env['LLM_WASM_SANDBOX_PACKAGES_DIR'];
  const npm = (cwd: string, ...args: readonly string[]) =>
    execFileSync('npm', [...args, '--loglevel=error'], { cwd, encoding: 'utf8', stdio: 'pipe' });
  /** Packs a folder and installs the package in the project. */
  const install = (from: string, ...flags: readonly string[]) => {
    const [packed] = JSON.parse(
      npm(from, 'pack', '--json', '--ignore-scripts', '--pack-destination', folder),
    );
    npm(project, 'install', '--no-audit', '--no-fund', ...flags, at(packed.filename));
  };
  const command = (...args: readonly string[]) =>
    execFileSync('npx', ['llm-wasm-sandbox', ...args], { cwd: project, encoding: 'utf8', env });

  beforeAll(() => {
    mkdirSync(project);
    writeFileSync(join(project, 'package.json'), '{"private":true,"type":"module"}');
    build(at('science'), withWheels.join(' '));
    install(root);
    install(at('science'), '--offline');
  }, 3_600_000);

  test('gives programs its packages without a network', () => {
    const code = `
import numpy as np, pandas as pd, matplotlib.pyplot as plt
from PIL import Image
from lxml import etree
frame = pd.DataFrame({'k': list('aab'), 'v': [1, 2, 4]})
plt.plot(frame.v)
plt.savefig('plot.png')
print(frame.groupby('k').v.sum().to_dict(), float(np.linalg.norm([3, 4])))
print(Image.open('plot.png').size, etree.fromstring('<a><b k="7"/></a>').xpath('string(//@k)'))`;
    expect(command('run', '-c', code)).toBe("{'a': 3, 'b': 4} 5.0\n(640, 480) 7\n");
  });

  test('gives the library its packages, with almost no fuel for the import', () => {
    const use = `
import { createSandbox } from 'llm-wasm-sandbox';
const sandbox = await createSandbox({ runtime: 'python', packages: 'auto' });
const { metadata, fuel_consumed } = await sandbox.execute('import pandas as pd\\nint(pd.Series([1, 2]).sum())');
console.log(metadata.result, fuel_consumed < 50e6);
process.exit(0);`;
    writeFileSync(join(project, 'use.js'), use);
    const output = execFileSync(process.execPath, ['use.js'], { cwd: project, encoding: 'utf8', env });
    expect(output).toBe('3 true\n');
  });

  test('is what a session needs in another process', () => {
    const create = 'import pandas as pd\nframe = pd.DataFrame({"a": [1, 2]})';
    command('run', '--session', 'a', '-c', create);
    expect(command('run', '--session', 'a', '-c', 'print(frame.a.sum())')).toBe('3\n');
  });
});
