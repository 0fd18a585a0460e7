/**
 * Reads the documents of this package, which are selected by name, never by path: the files of its docs/ folder, and the copies of
 * those whose long tables are not in that folder.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { installedFile } from './install-folder.ts';

const EXTENSION = '.md';

/** The path of a document in a folder. There is none if the package was bundled without its documents. */
function findDocument(folder: string, wanted: string): string | undefined {
  try {
    const name = readdirSync(folder).find((other) => other.toLowerCase() === `${wanted}${EXTENSION}`);
    return name === undefined ? undefined : join(folder, name);
  } catch {
    return undefined;
  }
}

/** The text of a document, or undefined if there is none. Letter case does not matter. */
export function readDocument(wanted: string): string | undefined {
  const name = wanted.toLowerCase();
  const path = findDocument(installedFile('docs'), name) ?? findDocument(installedFile('../docs'), name);
  return path === undefined ? undefined : readFileSync(path, 'utf8');
}
