/**
 * The optional npm package with Python packages that work without a network. It is used if it is installed beside this one:
 *
 * packages/packages.json and packages/wheels/, as `packages add` writes them; cache/, with what the sandbox would build from them
 */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

export const COMPANION = '@llm-wasm-sandbox/science';

let found: { readonly folder: string | undefined } | undefined;

/** The folder of the companion package; undefined if it is not installed. `LLM_WASM_SANDBOX_COMPANION` names another folder. */
function companionFolder(): string | undefined {
  const override = process.env['LLM_WASM_SANDBOX_COMPANION'];
  if (override !== undefined) return override === '' ? undefined : override;
  found ??= { folder: installedFolder() };
  return found.folder;
}

function installedFolder(): string | undefined {
  try {
    return dirname(createRequire(import.meta.url).resolve(`${COMPANION}/package.json`));
  } catch {
    return undefined;
  }
}

/** The folder in the companion package that corresponds to one of the user; undefined if the package is not installed. */
export function companionPath(part: 'packages' | 'cache', ...below: readonly string[]): string | undefined {
  const folder = companionFolder();
  return folder === undefined ? undefined : join(folder, part, ...below);
}
