/** @module-tag full */
import type { Client } from '@modelcontextprotocol/client';
import { listPackages } from 'llm-wasm-sandbox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call, stdioClient } from '../support/mcp.ts';

let client: Client;
beforeAll(async () => {
  ({ client } = await stdioClient('modern'));
});
afterAll(() => client.close());

const run = async (language: string, code: string, args: Record<string, unknown> = {}) =>
  (await call(client, 'execute_code', { code, language, fuel_budget: 50e9, timeout: 120, ...args }))
    .structured;

/** Checks what the descriptions and list_runtimes state in real guests. */
describe('statements about the languages', () => {
  const importPatterns = async (language: string) => {
    const { structured } = await call(client, 'list_available_packages', { language });
    const packages = structured['packages'] as { import_pattern: string; fuel_first_import: number }[];
    expect(packages.length).toBeGreaterThan(10);
    return packages
      .toSorted((a, b) => a.fuel_first_import - b.fuel_first_import)
      .map((one) => one.import_pattern);
  };
  const expectImported = async (language: string, patterns: readonly string[]) =>
    expect(await run(language, `${patterns.join('\n')}\n"imported"`)).toMatchObject({
      success: true,
      result: 'imported',
      stderr: '',
    });

  test('every import pattern of JavaScript works', { tags: 'full' }, async () => {
    await expectImported('javascript', await importPatterns('javascript'));
  });

  test('every import pattern of Python imports a package, and the cheapest quarter works', async () => {
    const patterns = await importPatterns('python');
    // test/packages/import-costs.test.ts imports all names.
    const statements = listPackages('python').flatMap(({ import_names }) =>
      import_names.map((name) => `import ${name}`),
    );
    expect(statements).toEqual(expect.arrayContaining(patterns));
    // These packages say that they need lxml, matplotlib and numpy, which this guest does not have.
    const usable = patterns.filter(
      (pattern) => !['import docx', 'import seaborn', 'import patsy'].includes(pattern),
    );
    await expectImported('python', usable.slice(0, usable.length / 4));
  });

  test('JavaScript helpers are global functions', async () => {
    const { structured } = await call(client, 'list_runtimes');
    const [, javascript] = structured['runtimes'] as { helpers: string[] }[];
    const types = await run(
      'javascript',
      `[${javascript!.helpers.map((name) => `typeof ${name}`).join(', ')}]`,
    );
    expect(types['result']).toEqual(javascript!.helpers.map(() => 'function'));
  });

  test('Python helpers are on sys.path or are global functions', async () => {
    expect(
      await run('python', "import sys\n['/app' in sys.path, callable(display), callable(chart.bar)]"),
    ).toMatchObject({ result: [true, true, true] });
  });

  test('os.readdir returns [result, error], and globals exist or not as described', async () => {
    const code = `const [files, err] = os.readdir('/app');
      [Array.isArray(files), err, typeof std, typeof setTimeout, typeof console, typeof fetch, typeof process, typeof requireVendor]`;
    expect((await run('javascript', code))['result']).toEqual([
      true,
      0,
      'object',
      'function',
      'object',
      'function',
      'object',
      'function',
    ]);
    expect(await run('javascript', 'for (const file of os.readdir) {}')).toMatchObject({ success: false });
  });

  test('versions match the guests', async () => {
    const { structured } = await call(client, 'list_runtimes');
    const [python] = structured['runtimes'] as { version: string }[];
    expect((await run('python', 'import sys\n"%d.%d" % sys.version_info[:2]'))['result']).toBe(
      python!.version,
    );
    const es2023 = '[1, 2].toSorted().at(-1) + [3].with(0, 4)[0] + [1, 2].findLast(() => true)';
    expect((await run('javascript', es2023))['result']).toBe(8);
  });

  test('TypeScript runs as a language of its own and in sessions of JavaScript', async () => {
    const typed = 'interface P { x: number }\nconst p: P = { x: 41 };\np.x + 1';
    expect(await run('typescript', typed)).toMatchObject({ result: 42, language: 'typescript' });
    expect(await run('javascript', typed)).toMatchObject({ result: 42, language: 'javascript' });
    const { structured } = await call(client, 'create_session', { language: 'typescript' });
    expect(structured).toMatchObject({ language: 'typescript' });
    const { session_id } = structured;
    await run('typescript', 'const kept: number = 2', { session_id });
    expect(await run('javascript', 'kept + 1', { session_id })).toMatchObject({ result: 3 });
    const other = await call(client, 'execute_code', { code: '1', language: 'python', session_id });
    expect(other.text).toMatch(/^session_mismatch: /);
  });

  test('the usage patterns of execute_code work as written', async () => {
    expect(await run('python', 'print(sum(range(1, 101)))')).toMatchObject({ stdout: '5050\n' });
    const file = { files: { 'data.csv': 'a,b\n1,2' } };
    expect(await run('python', "open('/app/data.csv').read()", file)).toMatchObject({ result: 'a,b\n1,2' });
    const created = await call(client, 'create_session', { language: 'python', auto_persist_globals: true });
    const { session_id } = created.structured;
    await run('python', 'x = 41', { session_id });
    expect(await run('python', 'x + 1', { session_id })).toMatchObject({ result: 42 });
  });

  test('a preloaded package costs little fuel, and a session gets the fuel budget it requests', async () => {
    const created = await call(client, 'create_session', {
      language: 'python',
      preload: ['openpyxl'],
      fuel_budget: 20_000_000_000,
    });
    expect(created).toMatchObject({ isError: false });
    const { session_id, limits } = created.structured as {
      session_id: string;
      limits: { fuel_budget: number };
    };
    expect(limits.fuel_budget).toBe(20_000_000_000);
    const warm = await run('python', 'import openpyxl', { session_id });
    await call(client, 'fork_session', { session_id, new_session_id: 'warm-fork' });
    expect(await run('python', 'import openpyxl\n2', { session_id: 'warm-fork' })).toMatchObject({
      result: 2,
    });
    const cold = await run('python', 'import openpyxl');
    expect(warm).toMatchObject({ success: true });
    expect(warm['fuel_consumed'] as number).toBeLessThan((cold['fuel_consumed'] as number) / 20);
  });
});
