/**
 * The file workspace.json: the files that the store last wrote to workspace/, with their fingerprints. It is only an
 * optimisation: if it is missing or wrong, the store reads all files to find out which ones have changed. An update
 * appends a line with what changed, until these lines are as long as the first part.
 *
 *   { format, synced: the last commit that was fully mirrored, files: [[path, fingerprint], …] }
 *   { synced, removed: [path, …], files }   per update, one line each
 */
import { constants } from 'node:fs';
import { type FileHandle, lstat, open } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { finishInSlices } from '../../concurrency/slices.ts';
import { SandboxError } from '../../errors.ts';
import { decodeJson, encodeText, FORMAT, jsonLines } from '../format/stored-json.ts';
import { MAX_TREE_BYTES } from '../format/stored-tree.ts';
import { isNotFound } from './file-errors.ts';
import { readFileSafely, replaceFile } from './safe-files.ts';

const INDEX_FILE = 'workspace.json';
/** The end of the first part. No other line consists of these characters, because paths are quoted. */
const END = '\n]}\n';
const APPEND_FLAGS = constants.O_WRONLY | constants.O_APPEND | (constants.O_NOFOLLOW ?? 0);

const files = z.array(z.tuple([z.string(), z.string().max(200)]));
const firstPart = z.strictObject({ format: z.literal(FORMAT), synced: z.uuid(), files });
const update = z.strictObject({ synced: z.uuid(), removed: z.array(z.string()), files });

interface MirrorIndex {
  readonly syncedCommit: string;
  /** By path. See `fingerprint` in workspace-mirror.ts. */
  readonly fingerprints: ReadonlyMap<string, string>;
}

/** The file that was last read or written. */
interface Known {
  readonly file: string;
  readonly bytes: number;
  readonly firstPartBytes: number;
}

export class MirrorIndexFile {
  readonly #path: string;
  #known: Known | undefined;

  constructor(
    folder: string,
    readonly staging: string,
  ) {
    this.#path = join(folder, INDEX_FILE);
  }

  /** Returns undefined if the file is missing or invalid. */
  async read(): Promise<MirrorIndex | undefined> {
    this.#known = undefined;
    try {
      const file = await identify(this.#path);
      const bytes = await readFileSafely(this.#path, { maxBytes: MAX_TREE_BYTES });
      if (bytes === undefined) return undefined;
      const { index, firstPartBytes, isComplete } = decode(bytes, this.#path);
      if (isComplete) this.#known = { file, bytes: bytes.length, firstPartBytes };
      return index;
    } catch (error) {
      if (error instanceof SandboxError || isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** `changed` contains the paths that have changed since the last read or write. */
  async write(index: MirrorIndex, changed: Iterable<string>): Promise<void> {
    if (!(await this.#append(index, changed))) await this.#replace(index);
  }

  /** Returns false if the file is not the known one or would become too long. */
  async #append({ syncedCommit, fingerprints }: MirrorIndex, paths: Iterable<string>): Promise<boolean> {
    const known = this.#known;
    if (known === undefined) return false;
    const changed: [path: string, fingerprint: string][] = [];
    const removed: string[] = [];
    for (const path of paths) {
      const fingerprint = fingerprints.get(path);
      if (fingerprint === undefined) removed.push(path);
      else changed.push([path, fingerprint]);
    }
    const line = encodeText(`${JSON.stringify({ synced: syncedCommit, removed, files: changed })}\n`);
    const bytes = known.bytes + line.length;
    if (bytes > 2 * known.firstPartBytes) return false;
    this.#known = undefined;
    let handle: FileHandle | undefined;
    try {
      handle = await open(this.#path, APPEND_FLAGS);
      if (identityOf(await handle.stat({ bigint: true })) !== known.file) return false;
      await handle.appendFile(line);
      const file = identityOf(await handle.stat({ bigint: true }));
      this.#known = { ...known, file, bytes };
      return true;
    } catch {
      // Replacing the file either succeeds or reports the error.
      return false;
    } finally {
      await handle?.close();
    }
  }

  async #replace({ syncedCommit, fingerprints }: MirrorIndex): Promise<void> {
    const head = `{"format":${FORMAT},"synced":"${syncedCommit}","files":[\n`;
    const bytes = encodeText(head + (await finishInSlices(jsonLines(fingerprints))) + END);
    this.#known = undefined;
    await replaceFile(this.staging, this.#path, bytes, 'relaxed');
    const file = await identify(this.#path);
    this.#known = { file, bytes: bytes.length, firstPartBytes: bytes.length };
  }
}

async function identify(path: string): Promise<string> {
  return identityOf(await lstat(path, { bigint: true }));
}

interface FileIdentity {
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
}

const identityOf = ({ ino, size, mtimeNs }: FileIdentity) => `${ino}:${size}:${mtimeNs}`;

/** Throws `session_damaged`. A last line without its end was being written and is ignored. */
function decode(bytes: Uint8Array, path: string) {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const end = text.indexOf(END);
  const firstPartBytes = end < 0 ? text.length : end + END.length;
  const first = decodeJson(firstPart, text.subarray(0, firstPartBytes), path);
  const fingerprints = new Map(first.files);
  let syncedCommit = first.synced;
  let at = firstPartBytes;
  for (let next = text.indexOf('\n', at); next >= 0; next = text.indexOf('\n', at)) {
    const { synced, removed, files: changed } = decodeJson(update, text.subarray(at, next), path);
    for (const name of removed) fingerprints.delete(name);
    for (const [name, value] of changed) fingerprints.set(name, value);
    syncedCommit = synced;
    at = next + 1;
  }
  return { index: { syncedCommit, fingerprints }, firstPartBytes, isComplete: at === text.length };
}
