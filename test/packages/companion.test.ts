/**
 * The companion package, as scripts/companion.mjs builds it: a small one from a wheel that the test creates. In the nightly
 * tests, also a real one, packed and installed with npm.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCli } from '../support/cli.ts';
import { EXTENSION, LIBRARY, NATIVE_TAG } from './native-extension.ts';
import { wheel } from './wheel-fixtures.ts';

const NIGHTLY = Boolean(process.env['NIGHTLY_TESTS']);
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

  test.runIf(NIGHTLY)('contains the same bytes if it is built again', () => {
    build(at('again'), folder);
    expect(manifestOf(at('again'))).toEqual(manifestOf(at('built')));
  });

  test('is what a session needs in another process', () => {
    expect(run(at('built'), '--session', 'a').stdout).toBe('2 True\n');
    expect(run(at('built'), '--session', 'a').stdout).toBe('4 True\n');
    const without = run('', '--session', 'a');
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
      const { stderr, status } = run(copy);
      const problem = `The file ${path} of @llm-wasm-sandbox/science is damaged`;
      expect(stderr).toContain(problem);
      expect(stderr).toContain('Install @llm-wasm-sandbox/science again');
      expect(status).not.toBe(0);
      if (path === library) expect(cli(copy, 'packages', 'verify').stdout).toContain(problem);
      writeFileSync(join(copy, path), intact);
    }
    writeFileSync(join(copy, 'manifest.json'), '{"sandbox":');
    expect(run(copy).stderr).toContain('The file manifest.json of @llm-wasm-sandbox/science is damaged');
  });

  test('is refused if it is for another version, but programs without imports run', () => {
    const other = at('other');
    mkdirSync(other);
    const { sandbox } = manifestOf(at('built'));
    writeFileSync(join(other, 'manifest.json'), JSON.stringify({ sandbox: '999.0.0', files: {} }));
    const { stderr, status } = run(other);
    expect(stderr).toContain(
      `@llm-wasm-sandbox/science is for version 999.0.0 of llm-wasm-sandbox, and this is version ${sandbox}. ` +
        `Install the same version: npm install @llm-wasm-sandbox/science@${sandbox}.`,
    );
    expect(status).not.toBe(0);
    expect(cli(other, 'run', '-c', 'print(1)').stdout).toBe('1\n');
  });
});
