/**
 * Measures the fuel of importing each package and writes packages/core/src/packages/import-costs.json. Every import runs in a fresh guest
 * of the built library. `--check` writes nothing and fails if a figure differs by more than a tenth or any other field
 * differs at all. Languages given as arguments limit the measurement to their rows.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { createSandbox } from 'llm-wasm-sandbox';
import {
  COSTLY_FUEL,
  HEAVY_SHARE,
  VENDORED_PACKAGES,
} from '../packages/core/dist/packages/vendored-package-table.js';
import { formatFuel } from '../packages/core/dist/quantities.js';
import { pinnedVersion } from '../packages/core/dist/runtimes/javascript/build/bundle-packages.js';
import { lockedPackages } from '../packages/core/dist/runtimes/python/build/fetch-locked-packages.js';
import { policy, RUNTIME_NAMES } from '../packages/core/dist/schema.js';

const PATH = new URL('../packages/core/src/packages/import-costs.json', import.meta.url);
/** Relative difference up to which a figure counts as unchanged. */
const TOLERANCE = 0.1;
/** Absolute difference up to which a figure counts as unchanged. */
const NOISE = 2000;
/** Imports per measurement of a cached import. Two runs differ by up to 3 M fuel in allocation and garbage collection. */
const REPEATS = 20_000;
/** An import that takes less fuel than this loads nothing from disk. */
const WARM_FUEL = 100_000;
/** Modules of Python's standard library to measure. Those that are costly or already loaded get a row. */
const STDLIB =
  'argparse asyncio base64 bisect calendar collections concurrent configparser contextlib copy csv ctypes dataclasses datetime decimal difflib doctest email enum fractions functools glob graphlib gzip hashlib heapq hmac html http inspect io itertools json locale logging math multiprocessing operator os pathlib pickle platform pprint queue random re secrets shelve shutil socket sqlite3 ssl statistics string struct subprocess tarfile tempfile textwrap threading time timeit tomllib traceback types typing unittest urllib uuid weakref xml zipfile zoneinfo'.split(
    ' ',
  );
/** Submodules that programs import from packages whose top level is empty. */
const TYPICAL_SUBMODULE = {
  concurrent: 'concurrent.futures',
  email: 'email.message',
  html: 'html.parser',
  http: 'http.client',
  urllib: 'urllib.request',
  xml: 'xml.etree.ElementTree',
};
/** The programs to measure with, by language. `loadedModule` is a module that every guest has loaded. */
const PROGRAMS = {
  python: {
    loadedModule: 'sys',
    importOnce: (name) => `import ${name}`,
    importRepeatedly: (names) =>
      `for _ in range(${REPEATS}):\n pass\n${names.map((name) => ` import ${name}`).join('\n')}`,
    version: ({ name, first_party }) => lockedVersions.get(first_party?.version_of ?? name) ?? projectVersion,
  },
  javascript: {
    loadedModule: 'std',
    importOnce: (name) => `import '${name}';`,
    importRepeatedly: (names) =>
      `for (let i = 0; i < ${REPEATS}; i++) { ${names.map((name) => `requireVendor('${name}');`).join(' ')} }`,
    version: pinnedVersion,
  },
};

const lockedVersions = new Map(lockedPackages().map(({ name, version }) => [name, version]));
const { version: projectVersion } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
);
const { fuel_budget } = policy.parse({});
const sandboxes = {};
const before = JSON.parse(readFileSync(PATH, 'utf8'));
const requested = RUNTIME_NAMES.filter((language) => process.argv.includes(language));
const isRequested = (language) => requested.length === 0 || requested.includes(language);

async function run(language, code) {
  sandboxes[language] ??= await createSandbox({
    runtime: language,
    policy: { fuel_budget: 1e12, timeout_seconds: 600 },
  });
  const result = await sandboxes[language].execute(code);
  if (!result.success) throw new Error(`${code}: ${result.metadata.trap_message ?? result.stderr}`);
  return result.fuel_consumed;
}

async function measure(language, names) {
  if (names.length === 0) return { fuel_first_import: 0, fuel_cached_import: 0, warm: false };
  const { loadedModule, importOnce, importRepeatedly } = PROGRAMS[language];
  const first = names.map(importOnce).join('\n');
  const baseline = await run(language, names.map(() => importOnce(loadedModule)).join('\n'));
  const once = await run(language, first);
  const repeated = await run(language, `${first}\n${importRepeatedly(names)}`);
  const emptyLoop = await run(language, `${first}\n${importRepeatedly([])}`);
  const fuel = Math.max(0, once - baseline);
  return {
    fuel_first_import: fuel,
    fuel_cached_import: Math.round((repeated - emptyLoop) / REPEATS),
    warm: fuel < WARM_FUEL,
  };
}

/** The recorded fuel of a package, unless it has changed. Otherwise, a package near the threshold could change with every build. */
function stableFuel({ language, name }, { fuel_first_import }) {
  const old = before.packages.find((one) => one.language === language && one.name === name);
  return old === undefined || differs(old.fuel_first_import, fuel_first_import)
    ? fuel_first_import
    : old.fuel_first_import;
}

async function packageRows() {
  const rows = [];
  for (const row of VENDORED_PACKAGES) {
    const { language, name, import_names, use, licence, heavy, typical_imports } = row;
    if (!isRequested(language)) {
      rows.push(...before.packages.filter((one) => one.language === language && one.name === name));
      continue;
    }
    // Packages that need others cannot be imported without them.
    const measured_imports = row.needs === undefined ? (typical_imports ?? import_names) : [];
    const figures = await measure(language, measured_imports);
    const version = PROGRAMS[language].version(row);
    const isHeavy = heavy === true || stableFuel(row, figures) > HEAVY_SHARE * fuel_budget;
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
    console.log(`${name} ${version}: ${formatFuel(figures.fuel_first_import)}`);
  }
  return rows;
}

async function stdlibRows() {
  const language = 'python';
  if (!isRequested(language)) return before.stdlib;
  const rows = [];
  for (const name of STDLIB) {
    const { fuel_first_import, warm } = await measure(language, [TYPICAL_SUBMODULE[name] ?? name]);
    if (warm || fuel_first_import >= COSTLY_FUEL) rows.push({ language, name, fuel_first_import, warm });
  }
  return rows;
}

function differences(rowsBefore, rowsAfter) {
  const key = ({ language, name }) => `${language} ${name}`;
  const remaining = new Map(rowsBefore.map((row) => [key(row), row]));
  const found = [];
  for (const row of rowsAfter) {
    const old = remaining.get(key(row));
    remaining.delete(key(row));
    if (old === undefined) found.push(`${key(row)}: added`);
    else
      for (const field of Object.keys(row))
        if (differs(old[field], row[field]))
          found.push(`${key(row)}: ${field} changed from ${old[field]} to ${row[field]}`);
  }
  return [...found, ...[...remaining.keys()].map((name) => `${name}: removed`)];
}

function differs(old, current) {
  if (typeof current !== 'number') return JSON.stringify(old) !== JSON.stringify(current);
  return Math.abs(current - old) > Math.max(TOLERANCE * old, NOISE);
}

const after = {
  fuel_budget,
  heavy_share: HEAVY_SHARE,
  costly_fuel: COSTLY_FUEL,
  packages: await packageRows(),
  stdlib: await stdlibRows(),
};
const changes = [
  ...differences(before.packages, after.packages),
  ...differences(before.stdlib, after.stdlib),
];
for (const line of changes) console.log(line);
if (process.argv.includes('--check')) {
  console.log(
    changes.length === 0
      ? 'packages/core/src/packages/import-costs.json is up to date.'
      : 'packages/core/src/packages/import-costs.json is out of date: run "npm run packages:measure" and commit the result.',
  );
  process.exitCode = changes.length === 0 ? 0 : 1;
} else writeFileSync(PATH, `${JSON.stringify(after, null, 2)}\n`);
for (const sandbox of Object.values(sandboxes)) await sandbox.close();
