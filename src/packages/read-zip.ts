/**
 * Reads a zip archive into memory, with the bounds a hostile one needs: names that stay inside, a cap on the unpacked
 * size, no links.
 */
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import yauzl from 'yauzl';
import { SandboxError } from '../errors.ts';
import type { Entry } from '../fs/entries.ts';

export interface ZipFile {
  readonly path: string;
  readonly data: Uint8Array;
}

/** Files, and the directories they lie in, as entries of a read-only layer. `dirs` are there even without files. */
export function toEntries(files: readonly ZipFile[], mtimeMs: number, dirs: readonly string[] = []): Entry[] {
  const all = new Set(dirs);
  for (const { path } of files) {
    for (let slash = path.indexOf('/'); slash >= 0; slash = path.indexOf('/', slash + 1))
      all.add(path.slice(0, slash));
  }
  return [
    ...[...all].map((path): Entry => ({ path, kind: 'dir', mode: 0o555, mtimeMs })),
    ...files.map(({ path, data }): Entry => ({ path, kind: 'file', mode: 0o444, mtimeMs, data })),
  ];
}

const MAX_UNPACKED_BYTES = 512 * 1024 * 1024;

const open = promisify<string, yauzl.Options, yauzl.ZipFile>(yauzl.open);

/** All regular files of an archive, in its order. yauzl itself refuses absolute names and names that climb. */
export async function readZip(path: string): Promise<ZipFile[]> {
  const zip = await open(path, { lazyEntries: true, autoClose: true });
  const openStream = promisify(zip.openReadStream.bind(zip)) as (
    entry: yauzl.Entry,
  ) => Promise<NodeJS.ReadableStream>;
  const files: ZipFile[] = [];
  let total = 0;
  await new Promise<void>((resolve, reject) => {
    zip.on('error', reject);
    zip.on('end', resolve);
    zip.on('entry', (entry: yauzl.Entry) => {
      if (entry.fileName.endsWith('/')) return zip.readEntry();
      total += entry.uncompressedSize;
      if (total > MAX_UNPACKED_BYTES) {
        reject(new SandboxError('build_failed', `${path} unpacks to more than ${MAX_UNPACKED_BYTES} bytes.`));
        return zip.close();
      }
      openStream(entry)
        .then(buffer)
        .then((data) => {
          files.push({ path: entry.fileName, data: new Uint8Array(data) });
          zip.readEntry();
        })
        .catch(reject);
    });
    zip.readEntry();
  });
  return files;
}
