/** Creates wheels for tests, valid and invalid ones. */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { zipBytes } from '../../tools/redteam/src/hostile-zip.ts';

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
  const record = [...lines, `${info}/RECORD,,`, ''].join('\n');
  const members = Object.entries({ ...all, [`${info}/RECORD`]: record });
  writeFileSync(path, zipBytes(members.map(([name, data]) => ({ name, data }))));
  return path;
}
