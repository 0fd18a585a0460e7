/**
 * A delta is the state of a guest as its difference from a base image: page diffs and the kernel state. Sessions are
 * hibernated, stored, undone and forked in this form. A delta is captured after every call, so each capture appends a
 * diff of the pages that changed since the last one, until the diffs hold twice the pages of the first.
 *
 * Layout, a frame without fields (see framing/frame.ts):
 *   0   magic "LWSD"
 *   4   u32 format version
 *   8   u32 byte length H of the header
 *   12  header, JSON, H bytes
 *   …   the page diffs (see page-diff-codec.ts), concatenated; later diffs override earlier ones
 *   end SHA-256 of everything before it, 32 bytes
 */
import { z } from 'zod';
import { SandboxError } from '../errors.ts';
import { decodeFrame, encodeFrame, FrameError } from '../framing/frame.ts';
import { decodeJsonHeader, encodeJsonHeader } from '../framing/json-header.ts';
import { kernelState, restoreKernelState, saveKernelState } from '../kernel/kernel-state.ts';
import { isSyscallError } from '../kernel/syscall-error.ts';
import type { Guest } from './guest.ts';
import type { Image } from './image.ts';
import { PAGE_BYTES } from './image-identity.ts';
import {
  applyPageDiff,
  type BaseBlocks,
  blockAt,
  blocksOf,
  DIFF_PAGE_BYTES,
  encodePageDiff,
} from './page-diff-codec.ts';

export const DELTA_FORMAT = 3;

const FORMAT = { magic: 'LWSD', version: DELTA_FORMAT, fields: 0 } as const;
const MAX_DIFFS = 64;
/**
 * Maximum number of pages that a capture state copies: 32 MiB. A guest that changed more is captured in full every
 * time.
 */
const MAX_COPIED_PAGES = 8192;

/** The header of a delta. It can be read without the base image. */
const deltaHeader = z.strictObject({
  /** Digest of the base image. */
  base: z.string(),
  runtime: z.string(),
  module: z.string(),
  layers: z.string(),
  pages: z.number().int().min(0).max(65_536),
  globals: z.record(z.string(), z.string().regex(/^-?\d{1,20}$/)),
  kernel: kernelState,
  /** Byte lengths of the page diffs, oldest first. */
  memory: z.array(z.number().int().min(0).max(0xffff_ffff)).max(MAX_DIFFS),
});
type DeltaHeader = z.infer<typeof deltaHeader>;

export interface MemoryRange {
  readonly start: number;
  readonly end: number;
}

/** The memory of a guest as of its last capture, so that the next capture encodes only what has changed since. */
export interface CaptureState {
  readonly diffs: readonly Uint8Array[];
  /** Number of pages in the first diff. */
  readonly firstPages: number;
  /** Number of pages in all diffs; a page counts once per diff that contains it. */
  readonly totalPages: number;
  /** Copies of the pages in `diffs`, by page number. The next capture updates them in place. */
  readonly copies: Map<number, Uint8Array>;
}

/**
 * Captures an idle guest that was started from `base`. Pages that lie entirely in `unused` may be restored with
 * arbitrary contents. `previous` comes from the last capture of the guest, or from the delta it was restored from; it
 * must not be used again afterwards.
 */
export function captureDelta(
  guest: Guest,
  base: Image,
  unused: readonly MemoryRange[] = [],
  previous?: CaptureState,
): { delta: Uint8Array; capture: CaptureState | undefined } {
  const memory = guest.view.all;
  const capture = captureMemory(memory, blocksOf(base), unused, previous);
  const { runtime, module, layers } = base.header;
  const header: DeltaHeader = {
    base: base.digest,
    runtime,
    module,
    layers,
    pages: memory.length / PAGE_BYTES,
    globals: guest.globals(),
    kernel: saveKernelState(guest.kernel),
    memory: capture.diffs.map(({ length }) => length),
  };
  const delta = encodeFrame(FORMAT, [], [encodeJsonHeader(header), ...capture.diffs]);
  return { delta, capture: capture.copies.size > MAX_COPIED_PAGES ? undefined : capture };
}

function captureMemory(
  memory: Uint8Array,
  base: BaseBlocks,
  unused: readonly MemoryRange[],
  previous: CaptureState | undefined,
): CaptureState {
  if (previous !== undefined) {
    const { diffs, firstPages, copies } = previous;
    const pages = changedPages(memory, base, unused, copies);
    if (pages.length === 0) return previous;
    const totalPages = previous.totalPages + pages.length;
    if (diffs.length < MAX_DIFFS && totalPages <= 2 * firstPages)
      return { diffs: [...diffs, encodePageDiff(memory, base, pages)], firstPages, totalPages, copies };
  }
  const copies = new Map<number, Uint8Array>();
  const pages = changedPages(memory, base, unused, copies);
  const { length } = pages;
  return { diffs: [encodePageDiff(memory, base, pages)], firstPages: length, totalPages: length, copies };
}

/** Lists the pages that differ from their copy, or from the base where there is no copy, and updates the copies. */
function changedPages(
  memory: Uint8Array,
  base: BaseBlocks,
  unused: readonly MemoryRange[],
  copies: Map<number, Uint8Array>,
): number[] {
  const pages: number[] = [];
  const isUnused = (start: number, end: number) =>
    unused.some((range) => start >= range.start && end <= range.end);
  const bytes = Buffer.from(memory.buffer, memory.byteOffset, memory.length);
  const copiedBlocks = new Set(
    [...copies.keys()].map((page) => Math.floor((page * DIFF_PAGE_BYTES) / PAGE_BYTES)),
  );
  for (let index = 0; index < memory.length / PAGE_BYTES; index++) {
    const start = index * PAGE_BYTES;
    if (isUnused(start, start + PAGE_BYTES)) continue;
    const block = blockAt(base, index);
    // Most blocks are equal to the base; one comparison skips the whole block.
    if (!copiedBlocks.has(index) && bytes.compare(block, 0, PAGE_BYTES, start, start + PAGE_BYTES) === 0)
      continue;
    for (let from = 0; from < PAGE_BYTES; from += DIFF_PAGE_BYTES) {
      const at = start + from;
      const end = at + DIFF_PAGE_BYTES;
      if (isUnused(at, end)) continue;
      const page = at / DIFF_PAGE_BYTES;
      const copy = copies.get(page);
      const isUnchanged =
        copy === undefined
          ? bytes.compare(block, from, from + DIFF_PAGE_BYTES, at, end) === 0
          : bytes.compare(copy, 0, DIFF_PAGE_BYTES, at, end) === 0;
      if (isUnchanged) continue;
      if (copy === undefined) copies.set(page, memory.slice(at, end));
      else copy.set(memory.subarray(at, end));
      pages.push(page);
    }
  }
  return pages;
}

const damaged = (problem: string) =>
  new SandboxError('image_invalid', `The saved state is damaged (${problem}).`);
const incompatible = (problem: string) =>
  new SandboxError('image_invalid', `The saved state ${problem}. Its files can still be read.`);

/** The state is intact but was created under a larger memory limit than the current one. */
const needsMoreMemory = (bytes: number, limit: number) => {
  const problem = `The saved state needs ${bytes} bytes of memory, but the policy allows ${limit}`;
  return new SandboxError('invalid_argument', `${problem}. Open it with a larger memory_bytes.`);
};

/** Verifies a delta and returns its header and the concatenated page diffs. */
export function readDelta(delta: Uint8Array): { header: DeltaHeader; body: Uint8Array } {
  try {
    const { header, data } = decodeJsonHeader(decodeFrame(FORMAT, delta).body);
    return { header: parseHeader(header), body: data };
  } catch (cause) {
    if (!(cause instanceof FrameError)) throw cause;
    throw cause.problem === 'version'
      ? incompatible(`has format ${cause.version}, but this version reads ${DELTA_FORMAT}`)
      : damaged(cause.message);
  }
}

function parseHeader(json: unknown): DeltaHeader {
  const parsed = deltaHeader.safeParse(json);
  if (parsed.success) return parsed.data;
  throw damaged(`its header is invalid at ${parsed.error.issues[0]!.path.join('.')}`);
}

/** The parts of the base that a delta depends on, with their names in error messages. */
const PARTS = {
  runtime: 'runtime',
  module: 'module',
  layers: 'set of packages',
  base: 'boot image',
} as const;

/** Throws an error that names the part that differs, unless the delta was captured from this base. */
function checkBase(header: DeltaHeader, base: Image): void {
  const expected = { ...base.header, base: base.digest };
  for (const part of Object.keys(PARTS) as (keyof typeof PARTS)[]) {
    if (header[part] === expected[part]) continue;
    const found = String(header[part]).slice(0, 64);
    throw incompatible(`was created with another ${PARTS[part]} (${found}, expected ${expected[part]})`);
  }
}

/** Restores a saved state in a guest that is identical to `base`. Its volume must already contain the saved files. */
export function applyDelta(guest: Guest, base: Image, delta: Uint8Array): CaptureState | undefined {
  const { header, body } = readDelta(delta);
  checkBase(header, base);
  const bytes = header.pages * PAGE_BYTES;
  if (!guest.grow(bytes)) throw needsMoreMemory(bytes, guest.maxBytes);
  try {
    const capture = applyDiffs(splitDiffs(header, body), guest.view.all, blocksOf(base));
    guest.setGlobals(header.globals);
    restoreKernelState(guest.kernel, header.kernel);
    return capture;
  } catch (cause) {
    if (cause instanceof SandboxError) throw cause;
    if (isSyscallError(cause)) throw damaged(`its open files do not match its file system: ${cause.code}`);
    throw damaged(cause instanceof Error ? cause.message : String(cause));
  }
}

function splitDiffs({ memory }: DeltaHeader, body: Uint8Array): Uint8Array[] {
  let at = 0;
  return memory.map((length) => {
    if (at + length > body.length) throw damaged('a page diff is cut off');
    at += length;
    return body.subarray(at - length, at);
  });
}

function applyDiffs(
  diffs: readonly Uint8Array[],
  memory: Uint8Array,
  base: BaseBlocks,
): CaptureState | undefined {
  const pagesOfMemory = memory.length / DIFF_PAGE_BYTES;
  const changed = new Set<number>();
  let firstPages = 0;
  let totalPages = 0;
  for (const diff of diffs) {
    // A capture never produces diffs that together hold more than twice all pages.
    const maxPages = Math.min(pagesOfMemory, 2 * pagesOfMemory - totalPages);
    const pages = applyPageDiff(diff, memory, base, maxPages);
    if (totalPages === 0) firstPages = pages.length;
    totalPages += pages.length;
    for (const page of pages) changed.add(page);
  }
  if (changed.size > MAX_COPIED_PAGES) return undefined;
  const copies = new Map<number, Uint8Array>();
  for (const page of changed)
    copies.set(page, memory.slice(page * DIFF_PAGE_BYTES, (page + 1) * DIFF_PAGE_BYTES));
  return { diffs, firstPages, totalPages, copies };
}
