/**
 * Writes the generated tables of the documentation from the schema: everything between `<!-- generated: NAME -->` and
 * `<!-- end -->`. `--check` writes nothing and fails when a table is not current. Needs a build.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const { policy, TRAPS } = await import(at('dist/schema.js'));
const { readManifest } = await import(at('dist/packages/manifest.js'));

function table(head, rows) {
  return [head, head.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`.replaceAll('| --- ', '|---').replace('|--- |', '|---|'))
    .join('\n');
}

const show = (value) =>
  typeof value === 'number' ? value.toLocaleString('en-US') : `\`${JSON.stringify(value)}\``;

const fuel = (count) =>
  count < 1e6 ? count.toLocaleString('en-US') : `${(count / 1e6).toFixed(count < 1e7 ? 1 : 0)} M`;

function packagesOf(wanted) {
  const rows = readManifest()
    .packages.filter(({ language }) => language === wanted)
    .map((row) => [
      `${row.name} ${row.version}`,
      row.measured_imports.map((name) => `\`${name}\``).join(', '),
      fuel(row.fuel_first_import),
      fuel(row.fuel_cached_import),
      row.heavy ? 'heavy' : '',
      row.use,
      row.licence,
    ]);
  return table(['package', 'import', 'first import', 'again', '', 'use', 'licence'], rows);
}

const TABLES = {
  python_packages: () => packagesOf('python'),
  javascript_packages: () => packagesOf('javascript'),
  python_stdlib: () => {
    const { stdlib } = readManifest();
    const rows = stdlib
      .filter(({ warm }) => !warm)
      .sort((a, b) => b.fuel_first_import - a.fuel_first_import)
      .map(({ name, fuel_first_import }) => [`\`${name}\``, fuel(fuel_first_import)]);
    return table(['module', 'first import'], rows);
  },
  heavy_rule: () => {
    const { fuel_budget, heavy_share } = readManifest();
    const rule = `when its first import takes more than ${heavy_share * 100} % of the default budget`;
    return `A package is *heavy* ${rule}, which is ${fuel_budget / 1e9} G, or when it is one of openpyxl, PyPDF2 and jinja2.`;
  },
  python_warm: () =>
    readManifest()
      .stdlib.filter(({ warm }) => warm)
      .map(({ name }) => `\`${name}\``)
      .join(', '),
  policy: () => {
    const defaults = policy.parse({});
    const rows = Object.entries(policy.shape).map(([name, field]) => [
      `\`${name}\``,
      show(defaults[name]),
      field.description,
    ]);
    return table(['policy field', 'default', 'meaning'], rows);
  },
  traps: () => {
    const rows = Object.entries(TRAPS).map(([reason, { exit_code, message }]) => [
      `\`${reason}\``,
      exit_code,
      message,
    ]);
    return table(['`trap_reason`', 'exit code', '`trap_message`'], rows);
  },
};

const files = ['README.md', 'SECURITY.md', ...readdirSync(at('docs')).map((name) => `docs/${name}`)];
for (const file of files) {
  let text;
  try {
    text = readFileSync(at(file), 'utf8');
  } catch {
    continue;
  }
  const written = text.replaceAll(
    /(<!-- generated: (\w+) -->\n)[\s\S]*?(<!-- end -->)/g,
    (_, start, name, end) => {
      if (!(name in TABLES)) throw new Error(`${file}: there is no table ${name}`);
      return `${start}${TABLES[name]()}\n${end}`;
    },
  );
  if (written === text) continue;
  if (process.argv.includes('--check')) {
    console.error(`${file} is not current: run "npm run docs".`);
    process.exitCode = 1;
  } else {
    writeFileSync(at(file), written);
    console.log(`wrote ${file}`);
  }
}
