/**
 * Takes the active data segments out of a module, for the caller to write into memory.
 * Invariant: writing the placements into zeroed memory gives what instantiating the module would have given.
 */
import { invalid, Writer } from './binary-io.ts';
import type { DataSegment, ParsedModule } from './parse-module.ts';

export interface MemoryWrite {
  readonly offset: number;
  readonly bytes: Uint8Array;
}

/** Linkers cut data at runs of zeros; across gaps up to this long, one larger write is cheaper than two. */
const MAX_JOINED_GAP = 64;
const PAGE = 65536;

/** `section` is what remains of the data section: undefined when nothing needs it. */
export function extractDataSegments(
  module: ParsedModule,
  usesData: boolean,
): { placements: MemoryWrite[]; section: Uint8Array | undefined } {
  const active = module.data.filter((segment) => segment.offset !== undefined && segment.end > segment.start);
  const size = (module.memory?.minPages ?? 0) * PAGE;
  for (const { offset, start, end } of active) {
    if (offset! + end - start > size)
      throw invalid(`a data segment ends beyond the memory of ${size} bytes`, start);
  }
  const keep = usesData || module.data.some((segment) => segment.offset === undefined);
  return {
    placements: joinSegments(module.bytes, active),
    section: keep ? writeRemainingSection(module) : undefined,
  };
}

/** Once written, an active segment counts as dropped: an empty passive one in its place behaves the same. */
function writeRemainingSection(module: ParsedModule): Uint8Array {
  const out = new Writer().u32(module.data.length);
  for (const { offset, start, end } of module.data) {
    out.u8(1);
    if (offset !== undefined) out.u8(0);
    else out.u32(end - start).bytes(module.bytes, start, end);
  }
  return out.view();
}

/** Joins neighbours, as long as the segments ascend: only then is a gap known to be zero. */
function joinSegments(bytes: Uint8Array, active: readonly DataSegment[]): MemoryWrite[] {
  const ascending = active.every(
    (segment, i) =>
      i === 0 || segment.offset! >= active[i - 1]!.offset! + active[i - 1]!.end - active[i - 1]!.start,
  );
  const placements: MemoryWrite[] = [];
  let first = 0;
  while (first < active.length) {
    let next = first + 1;
    let end = endOf(active[first]!);
    while (ascending && next < active.length && active[next]!.offset! - end <= MAX_JOINED_GAP)
      end = endOf(active[next++]!);
    const offset = active[first]!.offset!;
    const joined = new Uint8Array(end - offset);
    for (; first < next; first++) {
      const segment = active[first]!;
      joined.set(bytes.subarray(segment.start, segment.end), segment.offset! - offset);
    }
    placements.push({ offset, bytes: joined });
  }
  return placements;
}

const endOf = (segment: DataSegment): number => segment.offset! + segment.end - segment.start;
