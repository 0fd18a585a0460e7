/**
 * Reads a zip archive into memory. Archives may be hostile: absolute names and `..` are rejected, the unpacked size is
 * limited, and links are read as regular files.
 */
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import type yauzl from 'yauzl';
import { SandboxError } from '../errors.ts';
import { formatBytes } from '../quantities.ts';
import type { PackageFile } from './package-files.ts';

const MAX_UNPACKED_BYTES = 512 * 1024 * 1024;

/** Returns the files of an archive in its order. yauzl rejects absolute names and names with `..`. */
export async function readZip(archive: string | Uint8Array): Promise<PackageFile[]> {
  // Loaded on demand: workers import this file but may not be allowed to read the package (worker/permissions.ts).
  const { default: library } = await import('yauzl');
  const open = promisify<string, yauzl.Options, yauzl.ZipFile>(library.open);
  const openBytes = promisify<Buffer, yauzl.Options, yauzl.ZipFile>(library.fromBuffer);
  const options = { lazyEntries: true, autoClose: true };
  const zip =
    typeof archive === 'string'
      ? await open(archive, options)
      : await openBytes(Buffer.from(archive.buffer, archive.byteOffset, archive.byteLength), options);
  const openStream = promisify(zip.openReadStream.bind(zip)) as (
    entry: yauzl.Entry,
  ) => Promise<NodeJS.ReadableStream>;
  const files: PackageFile[] = [];
  let total = 0;
  await new Promise<void>((resolve, reject) => {
    zip.on('error', reject);
    zip.on('end', resolve);
    zip.on('entry', (entry: yauzl.Entry) => {
      if (entry.fileName.endsWith('/')) return zip.readEntry();
      total += entry.uncompressedSize;
      if (total > MAX_UNPACKED_BYTES) {
        reject(
          new SandboxError(
            'build_failed',
            `${typeof archive === 'string' ? archive : 'The archive'} unpacks to more than ${formatBytes(MAX_UNPACKED_BYTES)}. Use a smaller archive.`,
          ),
        );
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
