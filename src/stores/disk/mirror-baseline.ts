/**
 * workspace.json: what the store last put into workspace/ and how each file looked there. It is a memory aid only: lost
 * or wrong, files are read once more to see whether they changed, and nothing else is believed of it.
 *
 *   { format, synced: the last commit whose changes the folder has, files: [[path, look], …] }
 */
import { join } from 'node:path';
import { z } from 'zod';
import { SandboxError } from '../../errors.ts';
import { decode, encodeLines, FORMAT, MAX_TREE_BYTES } from '../format/manifest.ts';
import { readFileSafely, replaceFile } from './safe-files.ts';

const FILE = 'workspace.json';

const baseline = z.strictObject({
  format: z.literal(FORMAT),
  synced: z.uuid(),
  files: z.array(z.tuple([z.string(), z.string().max(200)])),
});

export interface Baseline {
  readonly synced: string;
  readonly looks: ReadonlyMap<string, string>;
}

/** Undefined when there is none that could be used. */
export async function readBaseline(folder: string): Promise<Baseline | undefined> {
  const path = join(folder, FILE);
  try {
    const bytes = await readFileSafely(path, { maxBytes: MAX_TREE_BYTES });
    if (bytes === undefined) return undefined;
    const { synced, files } = decode(baseline, bytes, path);
    return { synced, looks: new Map(files) };
  } catch (error) {
    if (error instanceof SandboxError) return undefined;
    throw error;
  }
}

export async function writeBaseline(
  folder: string,
  staging: string,
  { synced, looks }: Baseline,
): Promise<void> {
  const head = `{"format":${FORMAT},"synced":"${synced}","files":[\n`;
  const text = `${head}${encodeLines([...looks])}\n]}\n`;
  await replaceFile(staging, join(folder, FILE), new TextEncoder().encode(text), { lazy: true });
}
