/** The version and the description in this package's package.json. */
import { readFileSync } from 'node:fs';
import { installedFile } from '../host/install-folder.ts';

export function packageInfo(): { readonly version: string; readonly description: string } {
  const { version, description } = JSON.parse(readFileSync(installedFile('../package.json'), 'utf8'));
  return { version, description };
}
