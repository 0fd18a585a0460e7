/**
 * Bundles the command line and the worker thread in dist/, because loading hundreds of files takes longer than running a
 * short program. The library entry points stay unbundled. Bundles lie one folder below dist/, so every path that a module
 * derives from `import.meta.url` is rewritten to start from there.
 */
import { readFile } from 'node:fs/promises';
import { relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const dist = fileURLToPath(new URL('../dist/', import.meta.url));
/** Packages that are bundled. Others are loaded from node_modules when a command needs them. */
const BUNDLED = ['zod', 'commander', '@modelcontextprotocol/server', '@modelcontextprotocol/core'];

const keepPaths = {
  name: 'keep paths',
  setup({ onLoad, onResolve }) {
    onLoad({ filter: /\.js$/ }, async ({ path }) => {
      if (!path.startsWith(dist)) return undefined;
      const text = await readFile(path, 'utf8');
      const own = JSON.stringify(`../${relative(dist, path).replaceAll(sep, '/')}`);
      const contents = text
        .replaceAll('import.meta.url', `new URL(${own}, import.meta.url).href`)
        // Of a namespace import, esbuild includes only what is used.
        .replaceAll("import { z } from 'zod'", "import * as z from 'zod'");
      return { contents, loader: 'js' };
    });
    onResolve({ filter: /^[^./]/ }, ({ path }) => {
      const isBundled = BUNDLED.some((name) => path === name || path.startsWith(`${name}/`));
      return isBundled ? undefined : { path, external: true };
    });
  },
};

const OPTIONS = {
  absWorkingDir: dist,
  outbase: dist,
  outdir: dist,
  allowOverwrite: true,
  bundle: true,
  splitting: true,
  chunkNames: 'chunks/[name]-[hash]',
  format: 'esm',
  platform: 'node',
  target: 'node20',
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'none',
  // Paths of modules appear in the output and must not depend on where a linked node_modules lies.
  preserveSymlinks: true,
  // Bundled CommonJS packages load Node.js modules with it.
  banner: {
    js: "import { createRequire as _createRequire } from 'node:module'; const require = _createRequire(import.meta.url);",
  },
  logLevel: 'warning',
  plugins: [keepPaths],
};

/** The two are bundled separately: chunks that they shared would be smaller and more. */
export async function bundle() {
  await build({ ...OPTIONS, entryPoints: ['cli/main.js'] });
  await build({ ...OPTIONS, entryPoints: ['worker/entry.js', 'worker/process-entry.js'] });
}
