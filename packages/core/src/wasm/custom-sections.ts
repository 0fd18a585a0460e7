/**
 * Writes the custom sections in which a prepared module carries the facts that the linker needs. Their contents are
 * JSON or bytes.
 */
import { SECTION } from './binary-format.ts';
import { Writer } from './binary-io.ts';

export function writeJsonSection(to: Writer, name: string, value: unknown): void {
  writeCustomSection(to, name, new TextEncoder().encode(JSON.stringify(value)));
}

export function writeCustomSection(to: Writer, name: string, contents: Uint8Array): void {
  to.section(SECTION.custom, new Writer(contents.length + 64).name(name).bytes(contents).view());
}
