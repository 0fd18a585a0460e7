/**
 * Measures what importing each package costs and writes src/packages/manifest.json; every import is made by the built
 * library in a fresh guest. With `--check` nothing is written, and the command fails when a figure has moved by more
 * than a tenth, or when what is not measured is no longer as it was. A language named limits it to that language's rows.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { pinnedVersion } from '../dist/packages/bundle-javascript.js';
import { CATALOG, COSTLY_FUEL, HEAVY_SHARE } from '../dist/packages/catalog.js';
import { lockedPackages } from '../dist/packages/fetch-python.js';
import { createSandbox } from '../dist/sandbox/sandbox.js';
import { policy } from '../dist/schema.js';

const PATH = new URL('../src/packages/manifest.json', import.meta.url);
/** How far a figure may move before it is news. */
const TOLERANCE = 0.1;
/** A tenth of less than this is nothing anyone would notice. */
const NOISE = 2000;
/** Modules of Python's standard library that programs import; those that prove costly, or are loaded, get a row. */
const STDLIB =
  'argparse asyncio base64 bisect calendar collections concurrent configparser contextlib copy csv ctypes dataclasses datetime decimal difflib doctest email enum fractions functools glob graphlib gzip hashlib heapq hmac html http inspect io itertools json locale logging math multiprocessing operator os pathlib pickle platform pprint queue random re secrets shelve shutil socket sqlite3 ssl statistics string struct subprocess tarfile tempfile textwrap threading time timeit tomllib traceback types typing unittest urllib uuid weakref xml zipfile zoneinfo'.split(
    ' ',
  );
/** What a program really imports of a package whose top level is empty. */
const INSIDE = {
  concurrent: 'concurrent.futures',
  email: 'email.message',
  html: 'html.parser',
  http: 'http.client',
  urllib: 'urllib.request',
  xml: 'xml.etree.ElementTree',
};
/** The import statement of each language, and one that loads nothing. */
const IMPORT = { python: (name) => `import ${name}`, javascript: (name) => `import '${name}';` };
const LOADED = { python: 'sys', javascript: 'std' };
/** Imports that are made again and again, because one is too little to measure. */
const REPEATS = 1000;
const REPEAT = {
  python: (names) =>
    `for _ in range(${REPEATS}):\n pass\n${names.map((name) => ` import ${name}`).join('\n')}`,
  javascript: (names) =>
    `for (let i = 0; i < ${REPEATS}; i++) { ${names.map((name) => `requireVendor('${name}');`).join(' ')} }`,
};
/** Less than loading anything from disk takes. */
const NOTHING = 20_000;

const { fuel_budget } = policy.parse({});
const sandboxes = {};
const before = JSON.parse(readFileSync(PATH, 'utf8'));
const named = Object.keys(IMPORT).filter((language) => process.argv.includes(language));
const isAsked = (language) => named.length === 0 || named.includes(language);

async function run(language, code) {
  sandboxes[language] ??= await createSandbox({
    runtime: language,
    policy: { fuel_budget: 1e12, timeout_seconds: 600 },
  });
  const result = await sandboxes[language].execute(code);
  if (!result.success) throw new Error(`${code}: ${result.metadata.trap_message ?? result.stderr}`);
  return result;
}

async function measure(language, names) {
  const nothing = names.map(() => IMPORT[language](LOADED[language])).join('\n');
  const first = names.map(IMPORT[language]).join('\n');
  const empty = (await run(language, nothing)).fuel_consumed;
  const once = await run(language, first);
  const again = await run(language, `${first}\n${REPEAT[language](names)}`);
  const idle = await run(language, `${first}\n${REPEAT[language]([])}`);
  const spent = Math.max(0, once.fuel_consumed - empty);
  return {
    fuel_first_import: spent,
    fuel_cached_import: Math.round((again.fuel_consumed - idle.fuel_consumed) / REPEATS),
    warm: spent < NOTHING,
  };
}

async function packageRows() {
  const versions = new Map(lockedPackages().map(({ name, version }) => [name, version]));
  const ours = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version;
  const rows = [];
  for (const row of CATALOG) {
    const { language, name, import_names, use, licence, heavy, own, typical } = row;
    if (!isAsked(language)) {
      rows.push(...before.packages.filter((one) => one.language === language && one.name === name));
      continue;
    }
    const measured_imports = typical ?? import_names;
    const figures = await measure(language, measured_imports);
    const version =
      language === 'javascript' ? pinnedVersion(row) : (versions.get(own?.version_of ?? name) ?? ours);
    const isHeavy = heavy === true || figures.fuel_first_import > HEAVY_SHARE * fuel_budget;
    rows.push({
      language,
      name,
      import_names,
      version,
      heavy: isHeavy,
      measured_imports,
      ...figures,
      use,
      licence,
    });
    console.log(`${name} ${version}: ${(figures.fuel_first_import / 1e6).toFixed(1)} M`);
  }
  return rows;
}

async function stdlibRows() {
  if (!isAsked('python')) return before.stdlib;
  const rows = [];
  for (const name of STDLIB) {
    const { fuel_first_import, warm } = await measure('python', [INSIDE[name] ?? name]);
    if (warm || fuel_first_import >= COSTLY_FUEL)
      rows.push({ language: 'python', name, fuel_first_import, warm });
  }
  return rows;
}

function differences(before, after) {
  const key = ({ language, name }) => `${language} ${name}`;
  const old = new Map(before.map((row) => [key(row), row]));
  const found = [];
  for (const row of after) {
    const was = old.get(key(row));
    old.delete(key(row));
    if (was === undefined) found.push(`${key(row)} is new`);
    else
      for (const field of Object.keys(row))
        if (moved(was[field], row[field]))
          found.push(`${key(row)}: ${field} was ${was[field]}, is ${row[field]}`);
  }
  return [...found, ...[...old.keys()].map((name) => `${name} is gone`)];
}

function moved(was, is) {
  if (typeof is !== 'number') return JSON.stringify(was) !== JSON.stringify(is);
  return Math.abs(is - was) > Math.max(TOLERANCE * was, NOISE);
}

const after = {
  fuel_budget,
  heavy_share: HEAVY_SHARE,
  costly_fuel: COSTLY_FUEL,
  packages: await packageRows(),
  stdlib: await stdlibRows(),
};
const news = [...differences(before.packages, after.packages), ...differences(before.stdlib, after.stdlib)];
for (const line of news) console.log(line);
if (process.argv.includes('--check')) {
  console.log(
    news.length === 0 ? 'The manifest holds.' : 'Run "npm run packages:measure" and commit what it writes.',
  );
  process.exitCode = news.length === 0 ? 0 : 1;
} else writeFileSync(PATH, `${JSON.stringify(after, null, 2)}\n`);
for (const sandbox of Object.values(sandboxes)) await sandbox.close();
