/** Facts about the installed package. */
import { readFileSync } from 'node:fs';

export function packageFacts(): { readonly version: string; readonly description: string } {
  const path = new URL('../../package.json', import.meta.url);
  const { version, description } = JSON.parse(readFileSync(path, 'utf8'));
  return { version, description };
}
