/**
 * The files of this installation that are read at run time: guests, the scripts of workers, the manifest and documents. They
 * are found next to the code, so code that a bundler has moved needs LLM_WASM_SANDBOX_ASSETS.
 */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SandboxError } from '../errors.ts';

const OVERRIDE = 'LLM_WASM_SANDBOX_ASSETS';
/** A file that is in every installation. */
const MARKER = 'packages/import-costs.json';

let known: { readonly override: string | undefined; readonly folder: string } | undefined;

/** For a bundle that contains this module: the folder `dist` of the installed library. */
export function useInstallFolder(folder: string): void {
  known = { override: undefined, folder };
}

/** The folder with the compiled code, `dist`. Throws `not_installed` if the files are not there. */
function installFolder(): string {
  const override = process.env[OVERRIDE] ? resolve(process.env[OVERRIDE]) : undefined;
  if (known === undefined || known.override !== override) {
    // CommonJS bundles have no import.meta.url.
    const url: string | undefined = import.meta.url;
    const folder = override ?? (url === undefined ? '' : fileURLToPath(new URL('..', url)));
    if (!existsSync(join(folder, MARKER))) throw notInstalled(folder, override !== undefined);
    known = { override, folder };
  }
  return known.folder;
}

/** The path of a file of the installation, relative to the folder of the compiled code. */
export const installedFile = (path: string) => join(installFolder(), path);

/** Loads a CommonJS module: a dependency of the library, or a file of the installation. */
export const requireInstalled = (name: string): unknown => createRequire(installedFile('index.js'))(name);

function notInstalled(folder: string, isOverridden: boolean): SandboxError {
  const missing = `${folder === '' ? 'The folder of the bundle' : folder} does not contain the file ${MARKER} of llm-wasm-sandbox.`;
  const assets = `${OVERRIDE} to the folder node_modules/@llm-wasm-sandbox/core/dist`;
  const advice = isOverridden
    ? `Set ${assets}.`
    : 'If a bundler has included the package in a bundle, declare it as external (esbuild: --external:llm-wasm-sandbox; ' +
      `webpack: externals; Next.js: serverExternalPackages; Vite: ssr.external), or set ${assets}. See docs/BUNDLERS.md. Otherwise, install the package again.`;
  return new SandboxError('not_installed', `${missing} ${advice}`);
}
