/**
 * Builds the package: compiles TypeScript, copies the guests' own scripts, and makes the boot images unless those on
 * disk were made from exactly these inputs. `--force` makes them anyway; names of runtimes limit it to those.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = new URL('../', import.meta.url);
const at = (path) => fileURLToPath(new URL(path, root));
/** Rooms that decide what an image holds; a change in any of them makes new images. */
const IMAGE_ROOMS = ['framing', 'wasm', 'fs', 'kernel', 'engine', 'runtimes', 'packages', 'worker'];

function compile() {
  mkdirSync(at('dist'), { recursive: true });
  for (const name of readdirSync(at('dist'))) {
    if (name !== 'guests') rmSync(at(`dist/${name}`), { recursive: true });
  }
  execFileSync(process.execPath, [at('node_modules/typescript/bin/tsc'), '-p', at('tsconfig.build.json')], {
    stdio: 'inherit',
  });
  for (const { name } of readdirSync(at('src/runtimes'), { withFileTypes: true }).filter((one) =>
    one.isDirectory(),
  ))
    cpSync(at(`src/runtimes/${name}/guest`), at(`dist/runtimes/${name}/guest`), { recursive: true });
  for (const part of ['lock.json', 'manifest.json', 'first-party'])
    cpSync(at(`src/packages/${part}`), at(`dist/packages/${part}`), { recursive: true });
  chmodSync(at('dist/cli/main.js'), 0o755);
}

function inputs() {
  const hash = createHash('sha256').update(readFileSync(at('package-lock.json')));
  for (const room of IMAGE_ROOMS) {
    const files = readdirSync(at(`dist/${room}`), { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    );
    // The manifest tells of images that are made, so it cannot be part of what they are made from.
    const paths = files.map((entry) => `${entry.parentPath}/${entry.name}`).sort();
    for (const path of paths.filter((one) => !/\/manifest\.(json|js|d\.ts)$/.test(one)))
      hash.update(path.slice(at('dist/').length)).update(readFileSync(path));
  }
  return hash.digest('hex');
}

const mebibytes = (bytes) => `${(bytes / 1024 / 1024).toFixed(1)} MiB`;

async function makeImages() {
  const { RUNTIME_NAMES } = await import(at('dist/schema.js'));
  const { isBuilt } = await import(at('dist/runtimes/guest-artifacts.js'));
  const { build } = await import(at('dist/worker/guest-assets.js'));
  const key = inputs();
  const named = RUNTIME_NAMES.filter((name) => process.argv.includes(name));
  for (const runtime of named.length > 0 ? named : RUNTIME_NAMES) {
    if (isBuilt(runtime, key) && !process.argv.includes('--force')) {
      console.log(`${runtime}: up to date`);
      continue;
    }
    const started = performance.now();
    const guest = await build(runtime, key, (step) => console.log(`${runtime}: ${step} …`));
    const layers = guest.layers.reduce((sum, layer) => sum + layer.bytes.length, 0);
    const sizes = `module ${mebibytes(guest.module.length)}, layers ${mebibytes(layers)}, image ${mebibytes(guest.image.length)}`;
    for (const { name, version, reason } of guest.missing)
      console.warn(`${runtime}: WARNING: without ${name} ${version}: ${reason}`);
    console.log(`${runtime}: ready in ${((performance.now() - started) / 1000).toFixed(1)} s (${sizes})`);
  }
}

compile();
await makeImages();
