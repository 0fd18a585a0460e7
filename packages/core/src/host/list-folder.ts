/** Lists the entries of a host folder. */
import { readdirSync } from 'node:fs';

/** Returns the names of its entries, or none if it does not exist or cannot be read. */
export function listFolder(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
