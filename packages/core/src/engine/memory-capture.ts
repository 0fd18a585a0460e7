/**
 * Captures the memory of a guest as page diffs relative to its base image. Diffs are grouped into runs, one per capture.
 * A capture encodes the pages that have changed since the last one, together with those of previous runs that are not
 * much larger. Every run therefore holds less than half the pages of the one before it: there are few runs, all of them
 * together hold fewer than twice the pages of the first, and a small change after a large one gives a small run.
 */
import { sha256Hex } from '../framing/digest.ts';
import { toShared } from '../fs/shared-array-buffers.ts';
import { PAGE_BYTES } from './image-identity.ts';
import {
  applyPageDiff,
  type BaseBlocks,
  blockAt,
  DIFF_PAGE_BYTES,
  encodePageDiff,
  MAX_PAGES_PER_DIFF,
} from './page-diff-codec.ts';

/** More than a guest with 4 GiB of memory needs. */
export const MAX_RUNS = 32;

const PAGES_PER_BLOCK = PAGE_BYTES / DIFF_PAGE_BYTES;

export interface MemoryRange {
  readonly start: number;
  readonly end: number;
}

/** An encoded page diff, or another part of a saved state, in shared memory. */
export interface MemoryDiff {
  readonly bytes: Uint8Array;
  readonly sha256: string;
}

interface CapturedDiff extends MemoryDiff {
  readonly pages: Int32Array;
}

/** The memory of a guest as of its last capture, so that the next capture encodes only what has changed since. */
export interface CaptureState {
  /** Oldest first; later runs override earlier ones. */
  readonly runs: readonly (readonly CapturedDiff[])[];
  /**
   * The blocks that contain captured pages, by block number, as the diffs restore them. The next capture updates them
   * in place.
   */
  readonly blocks: Map<number, Uint8Array>;
  /** Other parts of the state, which precede the diffs. */
  readonly contents?: readonly MemoryDiff[];
}

/** The parts of a captured state: the diffs, oldest first, and what precedes them. */
export function partsOf({ contents = [], runs }: CaptureState): MemoryDiff[] {
  return [...contents, ...runs.flat()];
}

/** The host memory that a capture state takes, apart from the diffs. */
export function captureBytes({ blocks }: CaptureState): number {
  return blocks.size * PAGE_BYTES;
}

/** Captures memory. `previous` must not be used again afterwards. */
export function captureMemory(
  memory: Uint8Array,
  base: BaseBlocks,
  unused: readonly MemoryRange[],
  previous: CaptureState = { runs: [], blocks: new Map() },
): CaptureState {
  const { blocks } = previous;
  const changed = updateBlocks(memory, base, unused, blocks);
  if (changed.length === 0) return previous;
  const runs = [...previous.runs];
  const pages = new Set(changed);
  // The runs of a forged delta may be of any size.
  while (runs.length >= MAX_RUNS || (runs.length > 0 && pagesIn(runs.at(-1)!) <= 2 * pages.size)) {
    for (const diff of runs.pop()!) for (const page of diff.pages) pages.add(page);
  }
  const sorted = Int32Array.from(pages).sort();
  return { runs: [...runs, encodeRun(sorted, blocks, base)], blocks };
}

function pagesIn(run: readonly CapturedDiff[]): number {
  return run.reduce((sum, { pages }) => sum + pages.length, 0);
}

/** Encodes the captured contents of pages, not the current ones: unused pages may have changed since. */
function encodeRun(
  sorted: Int32Array,
  blocks: ReadonlyMap<number, Uint8Array>,
  base: BaseBlocks,
): CapturedDiff[] {
  const run: CapturedDiff[] = [];
  for (let from = 0; from < sorted.length; from += MAX_PAGES_PER_DIFF) {
    const pages = sorted.slice(from, from + MAX_PAGES_PER_DIFF);
    const bytes = toShared(encodePageDiff(pages, blocks, base));
    run.push({ bytes, sha256: sha256Hex(bytes), pages });
  }
  return run;
}

/** Lists the pages whose captured contents differ from memory, in ascending order, and updates the captured contents. */
function updateBlocks(
  memory: Uint8Array,
  base: BaseBlocks,
  unused: readonly MemoryRange[],
  blocks: Map<number, Uint8Array>,
): number[] {
  const pages: number[] = [];
  const isUnused = (start: number, end: number) =>
    unused.some((range) => start >= range.start && end <= range.end);
  const bytes = Buffer.from(memory.buffer, memory.byteOffset, memory.length);
  for (let index = 0; index < memory.length / PAGE_BYTES; index++) {
    const start = index * PAGE_BYTES;
    if (isUnused(start, start + PAGE_BYTES)) continue;
    const captured = blocks.get(index) ?? blockAt(base, index);
    // Most blocks have not changed; one comparison skips the whole block.
    if (bytes.compare(captured, 0, PAGE_BYTES, start, start + PAGE_BYTES) === 0) continue;
    for (let from = 0; from < PAGE_BYTES; from += DIFF_PAGE_BYTES) {
      const at = start + from;
      const end = at + DIFF_PAGE_BYTES;
      if (isUnused(at, end) || bytes.compare(captured, from, from + DIFF_PAGE_BYTES, at, end) === 0) continue;
      ownBlock(blocks, base, index).set(memory.subarray(at, end), from);
      pages.push(at / DIFF_PAGE_BYTES);
    }
  }
  return pages;
}

function ownBlock(blocks: Map<number, Uint8Array>, base: BaseBlocks, index: number): Uint8Array {
  let block = blocks.get(index);
  if (block === undefined) {
    block = blockAt(base, index).slice();
    blocks.set(index, block);
  }
  return block;
}

/** Applies runs of diffs to memory that is identical to the base. The diffs are untrusted; throws if one is invalid. */
export function restoreMemory(
  runs: readonly (readonly MemoryDiff[])[],
  memory: Uint8Array,
  base: BaseBlocks,
): CaptureState {
  const pagesOfMemory = memory.length / DIFF_PAGE_BYTES;
  let totalPages = 0;
  const applied = runs.map((run) =>
    run.map((diff): CapturedDiff => {
      // A capture never produces diffs that together hold more than twice all pages.
      const maxPages = Math.min(pagesOfMemory, 2 * pagesOfMemory - totalPages);
      const pages = applyPageDiff(diff.bytes, memory, base, maxPages);
      totalPages += pages.length;
      return { ...diff, pages };
    }),
  );
  const blocks = new Map<number, Uint8Array>();
  for (const { pages } of applied.flat()) {
    for (const page of pages) {
      const index = Math.floor(page / PAGES_PER_BLOCK);
      // The rest of the block is identical to the base, too.
      if (!blocks.has(index)) blocks.set(index, memory.slice(index * PAGE_BYTES, (index + 1) * PAGE_BYTES));
    }
  }
  return { runs: applied, blocks };
}
