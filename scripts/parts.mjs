/**
 * Writes the parts of the installation that are packages of their own: their files from dist/ and a manifest with the digests,
 * in packages/NAME/. Names select parts. `--pack FOLDER` packs all packages into a folder. Needs a build.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('../', import.meta.url));
const { PART_NAMES, partOfFile } = await import('../packages/core/dist/host/parts.js');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

function writePart(name) {
  const folder = join(root, 'packages', name);
  rmSync(join(folder, 'guests'), { recursive: true, force: true });
  const paths = readdirSync(join(root, 'packages/core/dist/guests'), { recursive: true, encoding: 'utf8' })
    .map((path) => `guests/${path.replaceAll('\\', '/')}`)
    .filter((path) => partOfFile(path) === name)
    .sort();
  const files = paths.map((path) => {
    const bytes = readFileSync(join(root, 'packages/core/dist', path));
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), bytes);
    return [path, { sha256: createHash('sha256').update(bytes).digest('hex') }];
  });
  const manifest = { sandbox: version, files: Object.fromEntries(files) };
  writeFileSync(join(folder, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  copyInto(`packages/${name}`, ['LICENSE', 'THIRD_PARTY_NOTICES.md']);
}

/** What the packages with code contain besides their own files. */
const COPIED = {
  'packages/core': ['LICENSE', 'THIRD_PARTY_NOTICES.md', 'SECURITY.md'],
  'packages/server': ['LICENSE', 'THIRD_PARTY_NOTICES.md'],
  'packages/adapters': ['LICENSE'],
  'packages/cli': ['LICENSE', 'README.md', 'CHANGELOG.md', 'SECURITY.md', 'deploy'],
  'tools/redteam': ['LICENSE'],
};

function copyInto(folder, paths) {
  for (const path of paths)
    cpSync(join(root, path), join(root, folder, path), {
      recursive: true,
      filter: (one) => !one.endsWith('.env'),
    });
}

/** Packs all packages. Returns the facts that npm reports about each, by name: `llm-wasm-sandbox` is the command line. */
export function packAll(folder) {
  PART_NAMES.forEach(writePart);
  for (const [name, paths] of Object.entries(COPIED)) copyInto(name, paths);
  mkdirSync(folder, { recursive: true });
  const paths = [...PART_NAMES.map((name) => `packages/${name}`), ...Object.keys(COPIED)];
  const flags = [...paths.map((path) => `--workspace=${path}`), '--ignore-scripts', '--json'];
  const output = execFileSync('npm', ['pack', ...flags, '--pack-destination', folder], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const packed = JSON.parse(output).map((facts) => ({ ...facts, path: join(folder, facts.filename) }));
  return Object.fromEntries(packed.map((facts) => [facts.name.replace('@llm-wasm-sandbox/', ''), facts]));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values, positionals } = parseArgs({
    options: { pack: { type: 'string' } },
    allowPositionals: true,
  });
  const names = positionals.length > 0 ? positionals : PART_NAMES;
  if (values.pack === undefined) names.forEach(writePart);
  else
    for (const { name, size } of Object.values(packAll(resolve(values.pack))))
      console.log(`${name}: ${(size / 1e6).toFixed(1)} MB`);
}
