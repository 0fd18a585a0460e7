/**
 * Builds the WebAssembly programs of the sandbox from pinned sources, and writes them with their manifests.
 *
 *     node programs/build/build.mjs [--work DIR] [--sources DIR] [--check] [NAME...]
 *
 * `--sources`: a folder that has the archives of sources.json, or receives them. `--check`: compares with what is committed and
 * writes nothing. Names choose programs. README.md says what has to be installed.
 */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { buildAwk } from './awk.mjs';
import { buildBash } from './bash.mjs';
import { buildBzip2, buildXz, buildZstd } from './compression.mjs';
import { buildGit } from './git.mjs';
import { GNU_PROGRAMS } from './gnu.mjs';
import { buildUnzip, buildZip } from './infozip.mjs';
import { buildJq } from './jq.mjs';
import { buildQuickJs } from './quickjs.mjs';
import { sha256, sourceOf } from './sources.mjs';
import { buildSqlite } from './sqlite.mjs';
import { missingTools, Toolchain } from './toolchain.mjs';
import { buildToybox } from './toybox.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PROGRAMS = [
  { name: 'toybox', folder: 'programs', build: buildToybox },
  { name: 'awk', folder: 'programs', build: buildAwk },
  { name: 'jq', folder: 'programs', build: buildJq },
  { name: 'sqlite3', folder: 'programs', build: buildSqlite },
  { name: 'zip', folder: 'programs', build: buildZip },
  { name: 'unzip', folder: 'programs', build: buildUnzip },
  { name: 'zstd', folder: 'programs', build: buildZstd },
  { name: 'xz', folder: 'programs', build: buildXz },
  { name: 'bzip2', folder: 'programs', build: buildBzip2 },
  { name: 'quickjs', folder: 'programs', build: buildQuickJs },
  { name: 'bash', folder: 'packages/bash', build: buildBash },
  { name: 'git', folder: 'packages/bash', build: buildGit },
  ...GNU_PROGRAMS,
];

const manifestFile = (folder) => join(ROOT, folder, 'manifest.json');

function readManifest(folder) {
  try {
    return JSON.parse(readFileSync(manifestFile(folder), 'utf8'));
  } catch {
    return { programs: [] };
  }
}

/** The entry of a program in the manifest. */
function entryOf({ name }, bytes, { commands, licence, sources = [name], canWait = commands.length > 0 }) {
  const archives = sources.map(sourceOf);
  const [{ version }] = archives;
  return {
    name,
    version,
    licence,
    file: `${name}.wasm`,
    bytes: bytes.length,
    sha256: sha256(bytes),
    asyncify: canWait,
    commands,
    sources: archives.map(({ path, sha256: digest }) => ({
      archive: path.replace(/^.*\//, ''),
      sha256: digest,
    })),
  };
}

/** The names that the commands of a folder import, for the check that the kernel has them. */
function importsOf(folder, programs) {
  const processes = programs.filter(({ commands }) => commands.length > 0);
  const modules = processes.map(({ file }) => new WebAssembly.Module(readFileSync(join(ROOT, folder, file))));
  const names = modules.flatMap((module) =>
    WebAssembly.Module.imports(module).map(({ module: from, name }) => `${from}.${name}`),
  );
  return [...new Set(names)].sort();
}

function writeProgram(program, bytes, made, libcLicence) {
  const folder = join(ROOT, program.folder);
  mkdirSync(join(folder, 'licences'), { recursive: true });
  writeFileSync(join(folder, `${program.name}.wasm`), bytes);
  writeFileSync(join(folder, 'licences', `${program.name}.txt`), made.licenceText);
  writeFileSync(join(folder, 'licences/libc.txt'), libcLicence);
  if (made.files !== undefined)
    cpSync(made.files, join(folder, basename(made.files)), { recursive: true, force: true });
  const others = readManifest(program.folder).programs.filter(({ name }) => name !== program.name);
  const order = PROGRAMS.map(({ name }) => name);
  const programs = [...others, entryOf(program, bytes, made)].sort(
    (a, b) => order.indexOf(a.name) - order.indexOf(b.name),
  );
  writeFileSync(
    manifestFile(program.folder),
    `${JSON.stringify({ programs, imports: importsOf(program.folder, programs) }, null, 2)}\n`,
  );
}

/** What differs from the committed program; empty if nothing does. */
function differences(program, bytes) {
  const recorded = readManifest(program.folder).programs.find(({ name }) => name === program.name)?.sha256;
  const built = sha256(bytes);
  return recorded === built ? [] : [`${program.name}: built ${built}, recorded ${recorded}`];
}

const { values, positionals } = parseArgs({
  options: {
    work: { type: 'string' },
    sources: { type: 'string' },
    check: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});
const missing = missingTools();
if (missing.length > 0)
  throw new Error(`The build needs ${missing.join(', ')}. See programs/build/README.md.`);
const work = resolve(values.work ?? join(tmpdir(), 'llm-wasm-sandbox-programs'));
const toolchain = await Toolchain.create({
  work,
  sources: resolve(values.sources ?? join(work, 'archives')),
});
const chosen = PROGRAMS.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
const different = [];
for (const program of chosen) {
  const output = join(work, `${program.name}.wasm`);
  const made = await program.build(toolchain, output);
  // Others are libraries, or the engine of a runtime.
  if (made.canWait ?? made.commands.length > 0) toolchain.makeSuspendable(output);
  const bytes = readFileSync(output);
  console.log(`${program.name}: ${bytes.length} bytes, ${sha256(bytes)}`);
  if (values.check) different.push(...differences(program, bytes));
  else writeProgram(program, bytes, made, toolchain.licenceText());
}
for (const line of different) console.error(line);
if (different.length > 0) process.exitCode = 1;
