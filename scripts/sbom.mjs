/**
 * Writes the software bill of materials to build/sbom.cdx.json, or to the path given, in the CycloneDX format: the
 * dependencies that npm installs, the packages that are bundled into the build, and the binaries of the interpreters.
 * The same sources give the same file. Needs a build.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const readJson = (path) => JSON.parse(readFileSync(at(path), 'utf8'));
const { RUNTIME_NAMES } = await import(at('packages/core/dist/schema.js'));
const output = process.argv[2] ?? at('build/sbom.cdx.json');

const options = ['--sbom-format', 'cyclonedx', '--omit', 'dev', '--package-lock-only'];
const bom = JSON.parse(execFileSync('npm', ['sbom', ...options], { cwd: at(''), encoding: 'utf8' }));
const { packages: npmPackages } = readJson('package-lock.json');
const { packages } = readJson('packages/core/src/packages/import-costs.json');
const lock = readJson('packages/core/src/packages/lock.json');

/** The SHA-512 that npm verified when it installed a package. */
function npmHashes(name) {
  const { integrity = '' } = npmPackages[`node_modules/${name}`] ?? {};
  const [, digest] = /^sha512-(.+)$/.exec(integrity) ?? [];
  return digest === undefined
    ? {}
    : { hashes: [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }] };
}

const licences = (licence) => (licence === undefined ? {} : { licenses: [{ expression: licence }] });

const vendored = packages.map(({ language, name, version, licence }) => {
  const type = language === 'python' ? 'pypi' : 'npm';
  const locked = (lock[language] ?? []).find((row) => row.name === name);
  return {
    'bom-ref': `vendored:${type}/${name}@${version}`,
    type: 'library',
    name,
    version,
    purl: `pkg:${type}/${name}@${version}`,
    ...licences(licence),
    ...(type === 'npm' ? npmHashes(name) : {}),
    // The digest covers the installed files, not the wheel: wheels of some packages differ between platforms.
    ...(locked && { properties: [{ name: 'llm-wasm-sandbox:files-sha256', value: locked.sha256 }] }),
  };
});

/** An interpreter that programs/build/ builds. */
function builtInterpreter(runtime, { specifier, sha256 }) {
  const { programs } = readJson('programs/manifest.json');
  const { version, licence, name, sources } = programs.find((program) => program.sha256 === sha256);
  return {
    'bom-ref': `interpreter:${runtime.name}`,
    type: 'file',
    name: specifier.slice('./'.length),
    version,
    purl: `pkg:generic/${name}@${version}?file_name=${sources[0].archive}&checksum=sha256:${sources[0].sha256}`,
    ...licences(licence),
    hashes: [{ alg: 'SHA-256', content: sha256 }],
  };
}

const builds = RUNTIME_NAMES.map((name) => import(at(`packages/core/dist/runtimes/${name}/build/index.js`)));
// bash is not part of this package.
const ownBuilds = (await Promise.all(builds)).filter(
  ({ build }) => !build.binary.specifier.startsWith('./packages/'),
);
const interpreters = ownBuilds.map(({ build: { runtime, binary } }) => {
  const { specifier, sha256 } = binary;
  if (specifier.startsWith('./')) return builtInterpreter(runtime, binary);
  const [source, file] = specifier.split('/');
  const { version, license } = npmPackages[`node_modules/${source}`];
  return {
    'bom-ref': `interpreter:${runtime.name}`,
    type: 'file',
    name: specifier,
    version,
    purl: `pkg:npm/${source}@${version}#${file}`,
    ...licences(license),
    hashes: [{ alg: 'SHA-256', content: sha256 }],
  };
});

/** A package of the lock file. */
function npmPackage(name, ref) {
  const { version, license } = npmPackages[`node_modules/${name}`];
  const purl = `pkg:npm/${name}@${version}`;
  return {
    'bom-ref': ref ?? `${name}@${version}`,
    type: 'library',
    name,
    version,
    purl,
    ...licences(license),
    ...npmHashes(name),
  };
}

/** The packages that the chart renderer is built from. */
const renderer = ['vega', 'vega-lite', '@resvg/resvg-wasm', 'dejavu-fonts-ttf'].map((name) =>
  npmPackage(name, `charts:${name}`),
);
/** npm leaves out dependencies that a development dependency also has. */
const CODE = ['core', 'server', 'adapters', 'cli'].map((name) => readJson(`packages/${name}/package.json`));
const direct = CODE.flatMap(({ dependencies, devDependencies = {} }) =>
  Object.keys({ ...dependencies, ...devDependencies }).filter(
    (name) => !name.startsWith('@llm-wasm-sandbox/'),
  ),
).map((name) => npmPackage(name));

const known = new Set(bom.components.map((component) => component['bom-ref']));
bom.components.push(
  ...[...direct, ...vendored, ...interpreters, ...renderer].filter(
    (component) => !known.has(component['bom-ref']),
  ),
);
/** What the parts of the installation contain. */
const contents = { packages: vendored, charts: renderer };
for (const component of bom.components) {
  const ref = component['bom-ref'];
  const [, part] = /^@llm-wasm-sandbox\/(\w+)@/.exec(ref) ?? [];
  if (part === undefined) continue;
  component.scope = 'optional';
  const row = bom.dependencies.find((dependency) => dependency.ref === ref);
  row.dependsOn = (contents[part] ?? []).map((one) => one['bom-ref']);
}
bom.metadata.component.name = readJson('packages/cli/package.json').name;
// Both change with every run.
delete bom.serialNumber;
delete bom.metadata.timestamp;
mkdirSync(dirname(output), { recursive: true });
writeFileSync(output, `${JSON.stringify(bom, null, 2)}\n`);
console.log(`wrote ${bom.components.length} components`);
