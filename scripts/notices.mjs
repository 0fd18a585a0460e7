/**
 * Writes THIRD_PARTY_NOTICES.md from what is installed: every package that ships with or inside this one, with its
 * version, licence and licence text. `--check` fails when the file is not current.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const lock = JSON.parse(readFileSync(at('package-lock.json'), 'utf8'));
const manifest = JSON.parse(readFileSync(at('src/packages/manifest.json'), 'utf8'));
/** Development packages whose code becomes part of what is built, each with what it depends on. */
const BUNDLED = [
  'core-js-pure',
  ...manifest.packages.filter(({ language }) => language === 'javascript').map(({ name }) => name),
];

/** Names of the packages that a user of this one gets, and of those whose code is bundled into it. */
function shipped() {
  const paths = Object.entries(lock.packages).filter(
    ([path, entry]) => path !== '' && !entry.dev && !entry.optional,
  );
  const all = new Set(paths.map(([path]) => path));
  const add = (name) => {
    const path = `node_modules/${name}`;
    // What is written here has no entry.
    if (!(path in lock.packages) || all.has(path)) return;
    all.add(path);
    for (const dependency of Object.keys(lock.packages[path].dependencies ?? {})) add(dependency);
  };
  for (const name of BUNDLED) add(name);
  return [...all].sort();
}

function licenceText(path) {
  const file =
    existsSync(at(path)) && readdirSync(at(path)).find((name) => /^(licen[cs]e|copying)(\.|$)/i.test(name));
  return file ? readFileSync(at(`${path}/${file}`), 'utf8').trim() : undefined;
}

function section(path) {
  const { name, version, license, homepage } = JSON.parse(readFileSync(at(`${path}/package.json`), 'utf8'));
  const text = licenceText(path);
  const body =
    text === undefined
      ? `The package names its licence and carries no text of it.`
      : `\`\`\`text\n${text}\n\`\`\``;
  return `## ${name} ${version}\n\nLicence: ${license}${homepage ? ` · ${homepage}` : ''}\n\n${body}\n`;
}

/** What lies inside the packages above and has a licence of its own. */
const vendored = JSON.parse(readFileSync(at('src/packages/lock.json'), 'utf8')).python.map(
  ({ name, version }) => {
    const { licence } = manifest.packages.find((row) => row.name === name);
    return `| ${name} | ${version} | ${licence} |`;
  },
);

const INSIDE = `## CPython 3.14

Licence: PSF-2.0 · part of pyodide: the interpreter and its standard library, rewritten at build time so that its
instructions are counted. Pyodide itself is under MPL-2.0; the source of both is available from their projects.

## QuickJS-NG

Licence: MIT · part of quickjs-wasi: the JavaScript engine, rewritten at build time in the same way.

## Python packages

Fetched at build time; their licence texts lie beside them in the guest, in \`/data/site-packages/*.dist-info\`.

| package | version | licence |
|---|---|---|
${vendored.join('\n')}
`;

const intro = `# Third-party notices

This project ships with, or is built from, the packages below. The list is generated from what is installed by
\`npm run notices\`, and a test holds it current.
`;

const text = `${[intro, ...shipped().map(section), INSIDE].join('\n')}`;
const target = at('THIRD_PARTY_NOTICES.md');
if (process.argv.includes('--check')) {
  if (readFileSync(target, 'utf8') !== text) {
    console.error('THIRD_PARTY_NOTICES.md is not current: run "npm run notices".');
    process.exitCode = 1;
  }
} else {
  writeFileSync(target, text);
}
