/** The version of the installed package. */
import { readFileSync } from 'node:fs';

export function packageVersion(): string {
  const path = new URL('../../package.json', import.meta.url);
  return JSON.parse(readFileSync(path, 'utf8')).version;
}
