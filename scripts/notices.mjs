/**
 * Writes THIRD_PARTY_NOTICES.md from the installed packages: every package that is distributed with this one or is part of
 * it, with version, licence and licence text. `--check` writes nothing and fails if the file is out of date.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const lock = JSON.parse(readFileSync(at('package-lock.json'), 'utf8'));
const importCosts = JSON.parse(readFileSync(at('packages/core/src/packages/import-costs.json'), 'utf8'));
/** Development dependencies whose code is bundled into the build; their own dependencies are added. */
const BUNDLED = [
  ...['zod', 'commander'],
  ...['client', 'node', 'server'].map((name) => `@modelcontextprotocol/${name}`),
  'core-js-pure',
  ...['@formatjs/intl-listformat', '@formatjs/intl-numberformat', '@formatjs/intl-pluralrules'],
  '@formatjs/intl-relativetimeformat',
  ...[
    '@exodus/bytes',
    '@noble/ciphers',
    'cjs-module-lexer',
    'minimatch',
    'punycode',
    'readable-stream',
    'sucrase',
    'temporal-polyfill',
    'unicode-segmenter',
    'web-streams-polyfill',
  ],
  // The parsers of the analysis.
  ...['@lezer/javascript', '@lezer/python'],
  // The page of the playground.
  ...Object.keys(JSON.parse(readFileSync(at('page/package.json'), 'utf8')).devDependencies),
  // The chart renderer.
  ...['vega', 'vega-lite', '@resvg/resvg-wasm', 'dejavu-fonts-ttf'],
  ...importCosts.packages.filter(({ language }) => language === 'javascript').map(({ name }) => name),
];

/** Development dependencies that contain the binary of an interpreter. */
const INTERPRETERS = ['pyodide'];

/** Paths of the packages that npm installs with this one, and of those whose code is part of it. */
function shipped() {
  const paths = Object.entries(lock.packages).filter(
    ([path, entry]) => path.startsWith('node_modules/') && !entry.dev && !entry.optional && !entry.link,
  );
  const all = new Set(paths.map(([path]) => path));
  for (const name of INTERPRETERS) all.add(`node_modules/${name}`);
  const add = (name) => {
    const path = `node_modules/${name}`;
    // First-party packages are not in the lock.
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
      ? `The package names its licence but does not include its text.`
      : `\`\`\`text\n${text}\n\`\`\``;
  return `## ${name} ${version}\n\nLicence: ${license ?? 'that of the text'}${homepage ? ` · ${homepage}` : ''}\n\n${body}\n`;
}

/** The WebAssembly programs, the JavaScript engine among them, and the C library that is part of each. */
function programSections() {
  const { programs } = JSON.parse(readFileSync(at('programs/manifest.json'), 'utf8'));
  const libc = {
    name: 'musl and Emscripten libc',
    version: '',
    licence: 'MIT, part of every program',
    text: 'libc',
  };
  return [...programs, libc].map(({ name, version, licence, text = name }) => {
    const body = readFileSync(at(`programs/licences/${text}.txt`), 'utf8').trim();
    return `## ${`${name} ${version}`.trim()}\n\nLicence: ${licence}\n\n\`\`\`text\n${body}\n\`\`\`\n`;
  });
}

/** Components of the packages above that have their own licence. */
const vendored = JSON.parse(readFileSync(at('packages/core/src/packages/lock.json'), 'utf8')).python.map(
  ({ name, version }) => {
    const { licence } = importCosts.packages.find((row) => row.name === name);
    return `| ${name} | ${version} | ${licence} |`;
  },
);

const COMPONENTS = `## CPython 3.14

Licence: PSF-2.0 · part of pyodide: the interpreter and its standard library, rewritten at build time so that its
instructions are counted. Pyodide itself is under MPL-2.0; the source of both is available from their projects.

## Python packages

Downloaded at build time. Their licence texts are in the guest, in \`/data/site-packages/*.dist-info\`.

| package | version | licence |
|---|---|---|
${vendored.join('\n')}
`;

const intro = `# Third-party notices

This project includes or depends on the packages below. \`npm run notices\` generates this list from the installed
packages, and a test checks that it is up to date.
`;

const text = `${[intro, ...shipped().map(section), ...programSections(), COMPONENTS].join('\n')}`;
const target = at('THIRD_PARTY_NOTICES.md');
if (process.argv.includes('--check')) {
  if (readFileSync(target, 'utf8') !== text) {
    console.error('THIRD_PARTY_NOTICES.md is out of date. Run "npm run notices".');
    process.exitCode = 1;
  }
} else {
  writeFileSync(target, text);
}
