/**
 * Bundles the page of the playground from page/ into packages/server/dist/playground/page: one script, one style sheet, the document
 * and the icon, each also compressed with Brotli. The page loads nothing else. The app that shows results in MCP clients is
 * bundled from the same components into one document, packages/server/dist/mcp/result-app.html.
 */
import { createHash } from 'node:crypto';
import { copyFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants } from 'node:zlib';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('../', import.meta.url));
const source = join(root, 'page');
const target = join(root, 'packages/server/dist/playground/page');

const OPTIONS = {
  absWorkingDir: source,
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
};

export async function bundlePage() {
  await build({ ...OPTIONS, entryPoints: { app: 'main.tsx' } });
  for (const name of ['index.html', 'icon.svg']) await copyFile(join(source, name), join(target, name));
  for (const name of await readdir(target)) {
    const bytes = await readFile(join(target, name));
    const compressed = brotliCompressSync(bytes, {
      params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY },
    });
    await writeFile(join(target, `${name}.br`), compressed);
  }
}

/**
 * The document of the app. Its policy allows this script, styles and data, whatever the policy of the host allows; frames with HTML
 * of programs inherit it.
 */
export async function bundleResultApp() {
  const { outputFiles } = await build({
    ...OPTIONS,
    entryPoints: { app: 'result-app/main.tsx' },
    write: false,
  });
  const textOf = (end) => outputFiles.find(({ path }) => path.endsWith(end)).text.trim();
  const [script, styles] = [textOf('.js'), textOf('.css')];
  const policy = [
    "default-src 'none'",
    `script-src 'sha256-${createHash('sha256').update(script).digest('base64')}'`,
    "style-src 'unsafe-inline'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types guest-html',
  ].join('; ');
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Result · LLM WASM Sandbox</title>
<style>${styles}</style>
</head>
<body>
<div id="app"></div>
<script type="module">${script}</script>
</body>
</html>
`;
  await writeFile(join(root, 'packages/server/dist/mcp/result-app.html'), html);
}
