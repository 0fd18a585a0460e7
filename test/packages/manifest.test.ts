/** The manifest is whole, agrees with the lock, and is what listings tell. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { listPackages } from 'llm-wasm-sandbox';
import { expect, test } from 'vitest';
import { CATALOG, HEAVY_SHARE } from '../../src/packages/catalog.ts';
import { packageFacts, policy } from '../../src/schema.ts';
import { python } from '../support/sandbox.ts';

const read = (path: string) => JSON.parse(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8'));
const manifest = read('src/packages/manifest.json');
const lock = read('src/packages/lock.json');

test('every package of the catalogue has a row that fits the schema, and there is no other', () => {
  for (const row of manifest.packages) expect(packageFacts.strict().safeParse(row).error).toBeUndefined();
  const names = (rows: readonly { language: string; name: string }[]) =>
    rows.map(({ language, name }) => `${language} ${name}`);
  expect(names(manifest.packages)).toEqual(names(CATALOG));
});

test('versions are those of the lock, and the lock has exactly what is fetched', () => {
  const fetched = CATALOG.filter(
    ({ language, first_party }) => language === 'python' && first_party === undefined,
  );
  expect(lock.python.map(({ name }: { name: string }) => name)).toEqual(fetched.map(({ name }) => name));
  for (const { name, version } of lock.python)
    expect(manifest.packages.find((row: { name: string }) => row.name === name).version).toBe(version);
});

test('heavy is what the specification names, and what costs more than the stated share of the budget', () => {
  const { fuel_budget } = policy.parse({});
  expect(manifest.fuel_budget).toBe(fuel_budget);
  expect(manifest.heavy_share).toBe(HEAVY_SHARE);
  const heavy = new Set(
    listPackages('python')
      .filter((row) => row.heavy)
      .map(({ name }) => name),
  );
  for (const name of ['openpyxl', 'PyPDF2', 'jinja2']) expect(heavy).toContain(name);
  for (const row of listPackages('python'))
    if (row.fuel_first_import > HEAVY_SHARE * fuel_budget) expect(heavy).toContain(row.name);
});

test('nothing is missing from this build', () => {
  expect(listPackages().filter(({ available }) => !available)).toEqual([]);
});

test('openpyxl costs at most 700 M from bytecode, and its figure is what a run costs', async () => {
  const row = listPackages('python').find(({ name }) => name === 'openpyxl')!;
  expect(row.fuel_first_import).toBeLessThan(700_000_000);
  const result = await python('import openpyxl');
  expect(result.metadata.imports[0]!.fuel / row.fuel_first_import).toBeCloseTo(1, 1);
});

test('every import name of every package can be imported', async () => {
  const names = listPackages('python').flatMap((row) => [...row.import_names, ...row.measured_imports]);
  const result = await python(names.map((name) => `import ${name}`).join('\n'));
  expect(result.stderr).toBe('');
  const recorded = new Set(result.metadata.imports.map(({ name }) => name));
  expect(recorded).toContain('openpyxl');
});

test('the command lists packages as a table and as JSON', () => {
  const cli = new URL('../../dist/cli/main.js', import.meta.url).pathname;
  const run = (...args: string[]) => execFileSync(process.execPath, [cli, ...args], { encoding: 'utf8' });
  const lines = run('packages', '--language', 'python').split('\n');
  expect(lines[0]).toMatch(/^PACKAGE +VERSION +IMPORT +FIRST IMPORT +USE$/);
  expect(lines[1]).toMatch(/^openpyxl +[\d.]+ +openpyxl +[\d.]+M heavy +Read and write Excel/);
  expect(JSON.parse(run('packages', '--json'))).toEqual(listPackages());
});
