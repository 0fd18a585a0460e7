import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What a folder contains: the texts of its files, and an empty text for each folder, whose name ends with a slash. */
export function filesIn(folder: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(folder.length + 1);
    if (entry.isDirectory()) found[`${name}/`] = '';
    else found[name] = entry.isFile() ? readFileSync(path, 'utf8') : 'other';
  }
  return found;
}
