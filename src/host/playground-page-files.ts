/** Reads the built files of the playground page, plain and compressed. */
import { readFileSync } from 'node:fs';
import { sha256Hex } from '../framing/digest.ts';
import { installedFile } from './install-folder.ts';

export interface PageFile {
  readonly bytes: Buffer;
  /** Brotli. */
  readonly compressed: Buffer;
  readonly digest: string;
}

/** Reads a file of `dist/playground/page`. `name` is a constant of the program. */
export function readPageFile(name: string): PageFile {
  const bytes = readFileSync(installedFile(`playground/page/${name}`));
  const compressed = readFileSync(installedFile(`playground/page/${name}.br`));
  return { bytes, compressed, digest: sha256Hex(bytes).slice(0, 32) };
}
