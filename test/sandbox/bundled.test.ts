/**
 * A program that is bundled with this package: with its files, and without them.
 *
 * @module-tag full
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { beforeAll, describe, expect, it } from 'vitest';
import { runProcess } from '../support/cli.ts';
import { folderOfFile } from '../support/folders.ts';

const DIST = fileURLToPath(new URL('../../packages/core/dist', import.meta.url));
const folder = folderOfFile();

const PROGRAM = `
import { createSandbox } from 'llm-wasm-sandbox';
async function main() {
  const sandbox = await createSandbox({ runtime: 'javascript' });
  console.log((await sandbox.execute('6 * 7')).metadata.result);
}
main().catch((cause) => console.log(cause.code, cause.message));
`;

const run = (bundle: string, env: Record<string, string> = {}) =>
  runProcess(process.execPath, [join(folder, bundle)], {
    cwd: folder,
    env: { ...(process.env as Record<string, string>), ...env },
  });

describe.each([
  ['esm', 'bundle.mjs'],
  ['cjs', 'bundle.cjs'],
] as const)('package in a bundle (%s)', (format, name) => {
  beforeAll(async () => {
    await build({
      stdin: { contents: PROGRAM, resolveDir: DIST },
      alias: { 'llm-wasm-sandbox': join(DIST, 'index.js') },
      outfile: join(folder, name),
      bundle: true,
      platform: 'node',
      format,
      logLevel: 'silent',
    });
  });

  it('reports that the package must be external', async () => {
    const { stdout } = await run(name);
    expect(stdout).toMatch(/^not_installed .*--external:llm-wasm-sandbox.*LLM_WASM_SANDBOX_ASSETS/);
    expect((await run(name, { LLM_WASM_SANDBOX_ASSETS: folder })).stdout).toMatch(
      /^not_installed .* Set LLM_WASM_SANDBOX_ASSETS to the folder node_modules\/@llm-wasm-sandbox\/core\/dist\./,
    );
  });

  it('runs with the files in LLM_WASM_SANDBOX_ASSETS', async () => {
    const { stdout, stderr } = await run(name, { LLM_WASM_SANDBOX_ASSETS: DIST });
    expect([stdout, stderr]).toEqual(['42\n', '']);
  });
});
