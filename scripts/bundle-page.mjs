/**
 * Bundles the page of the playground from playground/ into dist/playground/page: one script, one style sheet, the document
 * and the icon, each also compressed with Brotli. The page loads nothing else.
 */
import { copyFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants } from 'node:zlib';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('../', import.meta.url));
const source = join(root, 'playground');
const target = join(root, 'dist/playground/page');

export async function bundlePage() {
  await build({
    absWorkingDir: source,
    entryPoints: { app: 'main.tsx' },
    outdir: target,
    bundle: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    minify: true,
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    preserveSymlinks: true,
    logLevel: 'warning',
  });
  for (const name of ['index.html', 'icon.svg']) await copyFile(join(source, name), join(target, name));
  for (const name of await readdir(target)) {
    const bytes = await readFile(join(target, name));
    const compressed = brotliCompressSync(bytes, {
      params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY },
    });
    await writeFile(join(target, `${name}.br`), compressed);
  }
}
