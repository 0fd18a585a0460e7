/**
 * Removes the active data segments from a module and returns them as writes to memory.
 * Invariant: applying the writes to zeroed memory has the same effect as instantiating the original module.
 */
import { PAGE_BYTES } from './binary-format.ts';
import { invalid, Writer } from './binary-io.ts';
import type { DataSegment, ParsedModule } from './parse-module.ts';

export interface MemoryWrite {
  readonly offset: number;
  readonly bytes: Uint8Array;
}

/** Linkers split data at runs of zeros. Up to this gap, one larger write is cheaper than two. */
const MAX_JOINED_GAP = 64;

/** `section` is the data section that remains, or undefined if no code needs one. */
export function extractDataSegments(
  module: ParsedModule,
  usesData: boolean,
): { writes: MemoryWrite[]; section: Uint8Array | undefined } {
  const active = module.data.filter((segment) => segment.offset !== undefined && segment.end > segment.start);
  const size = (module.memory?.minPages ?? 0) * PAGE_BYTES;
  for (const segment of active) {
    if (endOf(segment) > size) {
      throw invalid(`a data segment ends beyond the memory of ${size} bytes`, segment.start);
    }
  }
  const isNeeded = usesData || module.data.some((segment) => segment.offset === undefined);
  return {
    writes: joinSegments(module.bytes, active),
    section: isNeeded ? writeRemainingSection(module) : undefined,
  };
}

/** Instantiation drops an active segment after writing it, so an empty passive segment can take its place. */
function writeRemainingSection(module: ParsedModule): Uint8Array {
  const out = new Writer().u32(module.data.length);
  for (const { offset, start, end } of module.data) {
    out.u8(1);
    if (offset !== undefined) out.u8(0);
    else out.u32(end - start).bytes(module.bytes, start, end);
  }
  return out.view();
}

/** The active segments of a side module, relative to its memory base. `size` is the memory that the module declares. */
export function extractRelativeData(module: ParsedModule, base: number, size: number): MemoryWrite[] {
  for (const segment of module.data) {
    if (segment.offset === undefined || segment.base !== base)
      throw invalid('a data segment is not relative to __memory_base', segment.start);
    if (endOf(segment) > size)
      throw invalid(
        `a data segment ends beyond the memory size that the module declares (${size})`,
        segment.start,
      );
  }
  return joinSegments(
    module.bytes,
    module.data.filter(({ start, end }) => end > start),
  );
}

/** Joins neighbouring segments if all segments are in ascending order: only then are the gaps known to be zero. */
function joinSegments(bytes: Uint8Array, active: readonly DataSegment[]): MemoryWrite[] {
  const isAscending = active.every((segment, i) => i === 0 || segment.offset! >= endOf(active[i - 1]!));
  const writes: MemoryWrite[] = [];
  let first = 0;
  while (first < active.length) {
    let next = first + 1;
    let end = endOf(active[first]!);
    while (isAscending && next < active.length && active[next]!.offset! - end <= MAX_JOINED_GAP)
      end = endOf(active[next++]!);
    const offset = active[first]!.offset!;
    const joined = new Uint8Array(end - offset);
    for (; first < next; first++) {
      const segment = active[first]!;
      joined.set(bytes.subarray(segment.start, segment.end), segment.offset! - offset);
    }
    writes.push({ offset, bytes: joined });
  }
  return writes;
}

const endOf = (segment: DataSegment): number => segment.offset! + segment.end - segment.start;
