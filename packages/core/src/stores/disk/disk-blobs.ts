/** Data that belongs to sessions, as one file for each session in a folder. */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { readBoundedFile } from '../../host/read-bounded-file.ts';
import { PRIVATE_FOLDER, replaceFileSync } from '../../host/replace-file.ts';
import type { SessionBlobs } from '../coordination.ts';

export function diskBlobs(folder: string): SessionBlobs {
  const fileOf = (session_id: string) => join(folder, `${session_id}.json`);
  return {
    read: async (session_id, maxBytes) => {
      try {
        return readBoundedFile(fileOf(session_id), maxBytes);
      } catch {
        return undefined;
      }
    },
    write: async (session_id, bytes) => {
      mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER });
      replaceFileSync(fileOf(session_id), bytes);
    },
    delete: async (session_id) => rmSync(fileOf(session_id), { force: true }),
  };
}
