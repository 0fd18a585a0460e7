/** Reads the built files of the playground page, plain and compressed. */
import { sha256Hex } from '@llm-wasm-sandbox/core/internal';
import { readServerFile } from '../server/server-file.ts';

export interface PageFile {
  readonly bytes: Buffer;
  /** Brotli. */
  readonly compressed: Buffer;
  readonly digest: string;
}

/** Reads a file of `dist/playground/page`. `name` is a constant of the program. */
export function readPageFile(name: string): PageFile {
  const bytes = readServerFile(`playground/page/${name}`);
  const compressed = readServerFile(`playground/page/${name}.br`);
  return { bytes, compressed, digest: sha256Hex(bytes).slice(0, 32) };
}
