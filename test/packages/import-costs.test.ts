/** The table of import costs is complete, matches the lock, and is the source of package listings. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { listPackages } from 'llm-wasm-sandbox';
import { expect, test } from 'vitest';
import { PRESETS } from '../../packages/core/src/packages/resolve-packages.ts';
import {
  HEAVY_SHARE,
  PYTHON_PACKAGES,
  VENDORED_PACKAGES,
} from '../../packages/core/src/packages/vendored-package-table.ts';
import { LANGUAGES } from '../../packages/core/src/runtimes/registry/languages.ts';
import { packageFacts, policy } from '../../packages/core/src/schema.ts';
import { python } from '../support/sandbox.ts';

const read = (path: string) => JSON.parse(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8'));
const importCosts = read('packages/core/src/packages/import-costs.json');
const lock = read('packages/core/src/packages/lock.json');

test('the import costs have a valid row for each vendored package and no others', () => {
  for (const row of importCosts.packages) expect(packageFacts.strict().safeParse(row).error).toBeUndefined();
  const names = (rows: readonly { language: string; name: string }[]) =>
    rows.map(({ language, name }) => `${language} ${name}`);
  expect(names(importCosts.packages)).toEqual(names(VENDORED_PACKAGES));
});

test('the packages by purpose are vendored or in a set that packages add knows', () => {
  for (const { name: wanted, packagesByPurpose: purposes } of Object.values(LANGUAGES)) {
    const vendored = VENDORED_PACKAGES.filter(({ language }) => language === wanted).map(({ name }) => name);
    const known = [...vendored, ...(wanted === 'python' ? Object.values(PRESETS).flat() : [])];
    expect(known).toEqual(expect.arrayContaining(Object.values(purposes).flat()));
  }
});

test('the lock contains the downloaded packages with the versions of the import costs', () => {
  const downloaded = VENDORED_PACKAGES.filter(
    ({ language, first_party }) => language === 'python' && first_party === undefined,
  );
  expect(lock.python.map(({ name }: { name: string }) => name)).toEqual(downloaded.map(({ name }) => name));
  for (const { name, version } of lock.python)
    expect(importCosts.packages.find((row: { name: string }) => row.name === name).version).toBe(version);
});

test('packages are heavy if the catalogue says so or they exceed the stated share of the budget', () => {
  const { fuel_budget } = policy.parse({});
  expect(importCosts.fuel_budget).toBe(fuel_budget);
  expect(importCosts.heavy_share).toBe(HEAVY_SHARE);
  const heavy = new Set(
    listPackages('python')
      .filter((row) => row.heavy)
      .map(({ name }) => name),
  );
  for (const name of ['openpyxl', 'PyPDF2', 'jinja2']) expect(heavy).toContain(name);
  for (const row of listPackages('python'))
    if (row.fuel_first_import > HEAVY_SHARE * fuel_budget) expect(heavy).toContain(row.name);
});

test('this build contains all packages', () => {
  expect(listPackages().filter(({ available }) => !available)).toEqual([]);
});

test('importing openpyxl takes at most 700M fuel, and the listing has the measured figure', async () => {
  const row = listPackages('python').find(({ name }) => name === 'openpyxl')!;
  expect(row.fuel_first_import).toBeLessThan(700_000_000);
  const result = await python('import openpyxl');
  expect(result.metadata.imports[0]!.fuel / row.fuel_first_import).toBeCloseTo(1, 1);
});

// The import patterns of list_available_packages are these statements.
test('all import names of all packages can be imported', { tags: 'full' }, async () => {
  const needs = new Map(PYTHON_PACKAGES.map((row) => [row.name, row.needs]));
  const names = listPackages('python')
    .filter(({ name }) => needs.get(name) === undefined)
    .flatMap((row) => [...row.import_names, ...row.measured_imports]);
  // Packages warn about missing packages with native code that they can do without.
  const program = [
    'import warnings',
    "warnings.simplefilter('ignore')",
    ...names.map((name) => `import ${name}`),
  ];
  const result = await python(program.join('\n'), { timeout_seconds: 120, fuel_budget: 20e9 });
  expect(result.stderr).toBe('');
  const recorded = new Set(result.metadata.imports.map(({ name }) => name));
  expect(recorded).toContain('openpyxl');
});

test('the packages command prints a table or JSON', () => {
  const cli = new URL('../../packages/cli/dist/cli/main.js', import.meta.url).pathname;
  const run = (...args: string[]) => execFileSync(process.execPath, [cli, ...args], { encoding: 'utf8' });
  const lines = run('packages', '--language', 'python').split('\n');
  expect(lines[0]).toMatch(/^PACKAGE +VERSION +SOURCE +IMPORT +FIRST IMPORT +USE$/);
  expect(lines[1]).toMatch(/^openpyxl +[\d.]+ +vendored +openpyxl +[\d.]+M heavy +Read and write Excel/);
  expect(JSON.parse(run('packages', '--json'))).toEqual(listPackages());
});
