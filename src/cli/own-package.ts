/** Facts about the installed package. */
import { readFileSync } from 'node:fs';
import { installedFile } from '../host/install-folder.ts';

export function ownPackage(): { readonly version: string; readonly description: string } {
  const { version, description } = JSON.parse(readFileSync(installedFile('../package.json'), 'utf8'));
  return { version, description };
}
