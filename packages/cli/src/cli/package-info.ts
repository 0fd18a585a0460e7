/** The version and the description in this package's package.json, and the script of the command line. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Sources, compiled modules and bundles lie equally deep. */
const ROOT = new URL('../../', import.meta.url);

export function packageInfo(): { readonly version: string; readonly description: string } {
  const { version, description } = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8'));
  return { version, description };
}

export const commandLineScript = (): string => fileURLToPath(new URL('dist/cli/main.js', ROOT));
