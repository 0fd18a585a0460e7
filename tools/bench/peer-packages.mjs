/** Pinned versions of the other sandboxes that the benchmarks measure. They are installed in a cache outside the repository. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { installPinned } from '../../scripts/install-pinned-packages.mjs';

/** isolated-vm 7 has no binary for older versions of Node.js. */
const NODE = { name: `node-${process.platform}-${process.arch}`, version: '24.21.0' };

/** For each sandbox its title, and the packages to install, of which the first is the sandbox itself. */
const PEERS = {
  monty: { title: 'Monty', packages: [{ name: '@pydantic/monty', version: '0.0.18' }] },
  'quickjs-wasi': { title: 'quickjs-wasi', packages: [{ name: 'quickjs-wasi', version: '3.6.2' }] },
  'quickjs-emscripten': {
    title: 'quickjs-emscripten',
    packages: [{ name: 'quickjs-emscripten', version: '0.32.0' }],
  },
  'vercel-run': { title: 'Vercel Run', packages: [{ name: 'run', version: '2.1.5' }] },
  'just-bash': { title: 'just-bash', packages: [{ name: 'just-bash', version: '3.4.2' }] },
  'isolated-vm': { title: 'isolated-vm', packages: [{ name: 'isolated-vm', version: '7.0.1' }, NODE] },
};

/** The Node.js that is installed with isolated-vm, relative to its folder. */
export const ISOLATED_VM_NODE = `node_modules/${NODE.name}/bin/node`;

/** The name and version of a sandbox. */
export const peerTitle = (peer) => `${PEERS[peer].title} ${PEERS[peer].packages[0].version}`;

/** Returns the folder in which a sandbox is installed. */
export const fetchPeer = (peer) =>
  installPinned(
    `peer-${peer}`,
    PEERS[peer].packages.map(({ name, version }) => `${name}@${version}`),
  );

/** The class of quickjs-wasi and its binary. */
export async function loadQuickJsWasi(folder) {
  const { resolve } = createRequire(join(folder, 'x.js'));
  const { QuickJS } = await import(pathToFileURL(resolve('quickjs-wasi')).href);
  return { QuickJS, wasm: readFileSync(resolve('quickjs-wasi/quickjs.wasm')) };
}
