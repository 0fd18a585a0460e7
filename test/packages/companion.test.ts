/**
 * The companion package, as scripts/companion.mjs builds it: a small one from a wheel that the test creates. In the nightly
 * tests, also a real one, packed and installed with npm.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCli } from '../support/cli.ts';
import { EXTENSION, LIBRARY, NATIVE_TAG } from './native-extension.ts';
import { wheel } from './wheel-fixtures.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'companion-'));
const at = (...path: readonly string[]) => join(folder, ...path);
afterAll(() => rmSync(folder, { recursive: true }));

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

  test('gives programs its packages, and nothing is built', () => {
    expect(run(at('built'))).toEqual({ stdout: '2 True\n', stderr: '', status: 0 });
    expect(readdirSync(folder)).not.toContain('cache');
  });

  test('contains the same bytes if it is built again', () => {
    build(at('again'), folder);
    expect(manifestOf(at('again'))).toEqual(manifestOf(at('built')));
  });

  test('is what a session needs in another process', () => {
    expect(run(at('built'), '--session', 'a').stdout).toBe('2 True\n');
    expect(run(at('built'), '--session', 'a').stdout).toBe('4 True\n');
    const { stderr, status } = run('', '--session', 'a');
    expect(stderr).toMatch(/numpy|packages/);
    expect(status).not.toBe(0);
  });

  test.each(['packages/packages.json', 'cache/images', 'cache/modules', 'manifest.json'])(
    'is refused if a file in %s is damaged',
    (path) => {
      const copy = at('damaged');
      cpSync(at('built'), copy, { recursive: true });
      const [name = path] = Object.keys(manifestOf(copy).files).filter((one) => one.startsWith(path));
      const bytes = readFileSync(join(copy, name));
      bytes[bytes.length >> 1]! ^= 1;
      writeFileSync(join(copy, name), bytes);
      const { stderr, status } = run(copy);
      expect(stderr).toContain(`The file ${name} of @llm-wasm-sandbox/science is damaged`);
      expect(stderr).toContain('Install @llm-wasm-sandbox/science again');
      expect(status).not.toBe(0);
      if (name !== 'manifest.json') expect(cli(copy, 'packages', 'verify').stdout).toContain(name);
      rmSync(copy, { recursive: true });
    },
  );

  test('is verified with the packages', () => {
    const { stdout, status } = cli(at('built'), 'packages', 'verify', '--json');
    expect(JSON.parse(stdout)).toMatchObject([
      { name: 'numpy', version: '1.0', problem: null },
      { name: '@llm-wasm-sandbox/science', problem: null },
    ]);
    expect(status).toBe(0);
  });

  test('is refused if it is for another version, but programs without its packages run', () => {
    const other = at('other');
    cpSync(at('built'), other, { recursive: true });
    const manifest = manifestOf(other);
    const text = JSON.stringify({ ...manifest, sandbox: '999.0.0' });
    writeFileSync(join(other, 'manifest.json'), text);
    const { stderr, status } = run(other);
    expect(stderr).toContain(
      `@llm-wasm-sandbox/science is for version 999.0.0 of llm-wasm-sandbox, and this is version ${manifest.sandbox}. ` +
        `Install the same version: npm install @llm-wasm-sandbox/science@${manifest.sandbox}.`,
    );
    expect(status).not.toBe(0);
    expect(cli(other, 'run', '-c', 'import json\nprint(1)').stdout).toBe('1\n');
  });
});
