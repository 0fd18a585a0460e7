/** Reads the documents of this package: the files of its docs/ folder, which are selected by name, never by path. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { installedFile } from './install-folder.ts';

const folder = () => installedFile('../docs');
const EXTENSION = '.md';

/** The names of the documents without their extension; empty if the package was bundled without them. */
function documentNames(): string[] {
  try {
    return readdirSync(folder())
      .filter((name) => name.endsWith(EXTENSION))
      .map((name) => name.slice(0, -EXTENSION.length));
  } catch {
    return [];
  }
}

/** The text of a document, or undefined if there is none. Letter case does not matter. */
export function readDocument(wanted: string): string | undefined {
  const name = documentNames().find((other) => other.toLowerCase() === wanted.toLowerCase());
  return name === undefined ? undefined : readFileSync(join(folder(), `${name}${EXTENSION}`), 'utf8');
}
