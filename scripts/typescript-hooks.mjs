/** The module hook that typescript.mjs registers: removes the types of TypeScript files when they are loaded. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { transform } from 'esbuild';

export async function load(url, context, nextLoad) {
  if (!url.endsWith('.ts')) return nextLoad(url, context);
  const { code } = await transform(await readFile(fileURLToPath(url), 'utf8'), {
    loader: 'ts',
    format: 'esm',
    target: 'node20',
    sourcefile: url,
    sourcemap: 'inline',
  });
  return { format: 'module', shortCircuit: true, source: code };
}
