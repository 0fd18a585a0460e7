/**
 * The file workspace.json: the files that the store last wrote to workspace/, with their fingerprints. It is only an
 * optimisation: if it is missing or wrong, the store reads all files to find out which ones have changed.
 *
 *   { format, synced: the last commit that was fully mirrored, files: [[path, fingerprint], …] }
 */
import { join } from 'node:path';
import { z } from 'zod';
import { SandboxError } from '../../errors.ts';
import { decodeJson, encodeText, FORMAT, jsonLines } from '../format/json-codec.ts';
import { MAX_TREE_BYTES } from '../format/stored-tree.ts';
import { readFileSafely, replaceFile } from './safe-files.ts';

const INDEX_FILE = 'workspace.json';

const indexFile = z.strictObject({
  format: z.literal(FORMAT),
  synced: z.uuid(),
  files: z.array(z.tuple([z.string(), z.string().max(200)])),
});

interface MirrorIndex {
  readonly syncedCommit: string;
  /** By path. See `fingerprint` in workspace-mirror.ts. */
  readonly fingerprints: ReadonlyMap<string, string>;
}

/** Returns undefined if the file is missing or invalid. */
export async function readMirrorIndex(folder: string): Promise<MirrorIndex | undefined> {
  const path = join(folder, INDEX_FILE);
  try {
    const bytes = await readFileSafely(path, { maxBytes: MAX_TREE_BYTES });
    if (bytes === undefined) return undefined;
    const { synced, files } = decodeJson(indexFile, bytes, path);
    return { syncedCommit: synced, fingerprints: new Map(files) };
  } catch (error) {
    if (error instanceof SandboxError) return undefined;
    throw error;
  }
}

export async function writeMirrorIndex(
  folder: string,
  staging: string,
  { syncedCommit, fingerprints }: MirrorIndex,
): Promise<void> {
  const head = `{"format":${FORMAT},"synced":"${syncedCommit}","files":[\n`;
  const bytes = encodeText(`${head}${jsonLines([...fingerprints])}\n]}\n`);
  await replaceFile(staging, join(folder, INDEX_FILE), bytes, 'relaxed');
}
