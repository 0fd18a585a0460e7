/** Creates wheels for tests, valid and invalid ones. */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';

/** Writes a zip archive with uncompressed entries. Names are not checked. */
export function zip(path: string, files: Readonly<Record<string, string | Uint8Array>>): void {
  const parts: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  for (const [name, content] of Object.entries(files)) {
    const data = Buffer.from(content);
    const label = Buffer.from(name);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt32LE(crc32(data), 10);
    common.writeUInt32LE(data.length, 14);
    common.writeUInt32LE(data.length, 18);
    common.writeUInt16LE(label.length, 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), common, label, data]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(offset, 10);
    central.push(Buffer.concat([Buffer.from('PK\x01\x02'), Buffer.from([20, 0]), common, tail, label]));
    parts.push(local);
    offset += local.length;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06');
  end.writeUInt16LE(central.length, 8);
  end.writeUInt16LE(central.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  writeFileSync(path, Buffer.concat([...parts, directory, end]));
}

/** Writes a wheel with a matching RECORD and returns its path. */
export async function wheel(
  folder: string,
  name: string,
  version: string,
  files: Readonly<Record<string, string | Uint8Array>>,
  tag = 'py3-none-any',
  metadata: readonly string[] = [],
): Promise<string> {
  const info = `${name}-${version}.dist-info`;
  const all: Record<string, string | Uint8Array> = {
    ...files,
    [`${info}/METADATA`]: `Metadata-Version: 2.1\nName: ${name}\nVersion: ${version}\n${metadata.map((line) => `${line}\n`).join('')}`,
    [`${info}/WHEEL`]: `Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: ${tag}\n`,
  };
  const digest = (text: string | Uint8Array) => createHash('sha256').update(text).digest('base64url');
  const lines = Object.entries(all).map(([path, text]) => `${path},sha256=${digest(text)},${text.length}`);
  const path = join(folder, `${name}-${version}-${tag}.whl`);
  zip(path, { ...all, [`${info}/RECORD`]: [...lines, `${info}/RECORD,,`, ''].join('\n') });
  return path;
}
