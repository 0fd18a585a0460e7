/**
 * Reads the custom section "dylink.0", with which a side module states what its linker has to provide.
 * Source: the dynamic linking convention of the WebAssembly tool conventions.
 * Invariant: a section or subsection that is unknown, repeated or damaged is an error.
 */
import { HEADER, SECTION } from './binary-format.ts';
import { invalid, Reader } from './binary-io.ts';

export interface DylinkInfo {
  readonly memoryBytes: number;
  /** Power of two. */
  readonly memoryAlign: number;
  readonly tableSize: number;
  /** Power of two. */
  readonly tableAlign: number;
  /** Names of the libraries that must be loaded first. */
  readonly needed: readonly string[];
  /** Folders to search for them. */
  readonly runtimePaths: readonly string[];
  /** Imported symbols that may be missing. */
  readonly weak: ReadonlySet<string>;
}

/** Limits of one module. The largest known ones use a tenth of them. */
const MAX_MEMORY_BYTES = 256 * 1024 * 1024;
const MAX_TABLE_SIZE = 65_536;
const MAX_ALIGN = 16;
const MAX_NAMES = 256;

const SUBSECTION = { memory: 1, needed: 2, exports: 3, imports: 4, runtimePath: 5 } as const;
const FLAG = { weak: 0x1, tls: 0x100 } as const;

/** Throws if the module is not a side module. */
export function readDylink(bytes: Uint8Array): DylinkInfo {
  const reader = new Reader(bytes, HEADER.length);
  const section = reader.done || reader.u8() !== SECTION.custom ? undefined : reader.part(reader.u32());
  if (section?.name() !== 'dylink.0')
    throw invalid(
      'it does not start with a dylink.0 section',
      HEADER.length,
      'Use a wheel whose libraries are built as Emscripten side modules.',
    );
  let memory: Pick<DylinkInfo, 'memoryBytes' | 'memoryAlign' | 'tableSize' | 'tableAlign'> | undefined;
  const needed: string[] = [];
  const runtimePaths: string[] = [];
  const weak = new Set<string>();
  let last = 0;
  while (!section.done) {
    const at = section.pos;
    const id = section.u8();
    const part = section.part(section.u32());
    if (id <= last) throw invalid('subsections of dylink.0 are repeated or out of order', at);
    last = id;
    if (id === SUBSECTION.memory) memory = readMemory(part);
    else if (id === SUBSECTION.needed) needed.push(...readNames(part));
    else if (id === SUBSECTION.exports) readExports(part);
    else if (id === SUBSECTION.imports) for (const name of readWeakImports(part)) weak.add(name);
    else if (id === SUBSECTION.runtimePath) runtimePaths.push(...readNames(part));
    else throw invalid(`unknown subsection ${id} of dylink.0`, at);
    if (!part.done) throw invalid(`subsection ${id} of dylink.0 has extra bytes`, part.pos);
  }
  if (memory === undefined) throw invalid('dylink.0 does not state the size of its memory');
  return { ...memory, needed, runtimePaths, weak };
}

function readMemory(part: Reader) {
  const at = part.pos;
  const [memoryBytes, memoryAlign, tableSize, tableAlign] = [part.u32(), part.u32(), part.u32(), part.u32()];
  if (memoryBytes > MAX_MEMORY_BYTES || tableSize > MAX_TABLE_SIZE)
    throw invalid('dylink.0 asks for too much memory or too many table entries', at);
  if (memoryAlign > MAX_ALIGN || tableAlign > MAX_ALIGN)
    throw invalid('dylink.0 has an alignment out of range', at);
  return { memoryBytes, memoryAlign: 2 ** memoryAlign, tableSize, tableAlign: 2 ** tableAlign };
}

function readNames(part: Reader): string[] {
  const at = part.pos;
  const count = part.count('names');
  if (count > MAX_NAMES) throw invalid(`dylink.0 has more than ${MAX_NAMES} names`, at);
  return Array.from({ length: count }, () => part.name());
}

function readExports(part: Reader): void {
  for (let left = part.count('exports'); left > 0; left--) {
    const at = part.pos;
    const name = part.name();
    if (part.u32() & FLAG.tls)
      throw invalid(`the symbol ${JSON.stringify(name)} is thread-local (threads are not supported)`, at);
  }
}

function readWeakImports(part: Reader): string[] {
  const found: string[] = [];
  for (let left = part.count('imports'); left > 0; left--) {
    part.name();
    const name = part.name();
    if (part.u32() & FLAG.weak) found.push(name);
  }
  return found;
}
