/** Names of the entries of a host folder. */
import { readdirSync } from 'node:fs';

/** Returns the names in a folder, or none if it does not exist or cannot be read. */
export function folderNames(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
