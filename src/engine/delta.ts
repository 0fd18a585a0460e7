/**
 * A guest's state as its difference to a base image: layers of the pages that are not as in the base, and what the
 * kernel holds. This is the form in which a session sleeps, is stored, undone and forked. It is made after every call,
 * so a capture adds a layer of what changed since the last one, until the layers hold twice the pages they need.
 *
 * Layout, little-endian, drawn once:
 *   0   magic "LWSD"
 *   4   u32 format version
 *   8   u32 byte length H of the header
 *   12  header, JSON, H bytes
 *   …   the layers, see layer.ts, one after another; of a page that several have, the last one counts
 *   end SHA-256 of everything before it, 32 bytes
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { SandboxError } from '../errors.ts';
import { kernelState, restoreKernelState, saveKernelState } from '../kernel/kernel-state.ts';
import type { Guest } from './guest.ts';
import type { Image } from './image.ts';
import { PAGE_BYTES } from './image-format.ts';
import {
  applyPageDiff,
  type BaseBlocks,
  blockAt,
  blocksOf,
  DIFF_PAGE_BYTES,
  encodePageDiff,
} from './page-diff.ts';

export const DELTA_FORMAT = 2;

const MAGIC = 0x4453574c;
const FIXED = 12;
const DIGEST = 32;
/** Layers of one delta. */
const MAX_LAYERS = 64;
/** Pages remembered of a guest's last capture, 32 MiB; one that changed more is captured anew each time. */
const MAX_SEEN = 8192;

/** What a delta says of itself; readable without its base. */
const deltaHeader = z.strictObject({
  /** Digest of the base image. */
  base: z.string(),
  runtime: z.string(),
  module: z.string(),
  layers: z.string(),
  pages: z.number().int().min(0).max(65_536),
  globals: z.record(z.string(), z.string().regex(/^-?\d{1,20}$/)),
  kernel: kernelState,
  /** Byte lengths of the layers of memory, the oldest first. */
  memory: z.array(z.number().int().min(0).max(0xffff_ffff)).max(MAX_LAYERS),
});
export type DeltaHeader = z.infer<typeof deltaHeader>;

export interface MemoryRange {
  readonly start: number;
  readonly end: number;
}

/** What a guest's memory was when it was captured last, and the layers that say so. */
export interface CaptureState {
  readonly layers: readonly Uint8Array[];
  /** Pages of the first layer, and of all, those counted again that later layers have again. */
  readonly firstPages: number;
  readonly laidPages: number;
  /** The pages of all layers as they came to be. Belongs to the guest's next capture. */
  readonly seen: Map<number, Uint8Array>;
}

/**
 * Saves an idle guest that started from `base`. Pages that lie wholly in `unused` may come back with any contents.
 * `before` is from the guest's last capture or from the delta it was made of, and is used up.
 */
export function captureDelta(
  guest: Guest,
  base: Image,
  unused: readonly MemoryRange[] = [],
  before?: CaptureState,
): { delta: Uint8Array; captured: CaptureState | undefined } {
  const memory = guest.view.all;
  const captured = captureMemory(memory, blocksOf(base), unused, before);
  const { runtime, module, layers } = base.header;
  const header: DeltaHeader = {
    base: base.digest,
    runtime,
    module,
    layers,
    pages: memory.length / PAGE_BYTES,
    globals: guest.globals(),
    kernel: saveKernelState(guest.kernel),
    memory: captured.layers.map(({ length }) => length),
  };
  return { delta: encode(header, captured.layers), captured: ifSmall(captured) };
}

const ifSmall = (captured: CaptureState) => (captured.seen.size > MAX_SEEN ? undefined : captured);

function encode(header: DeltaHeader, layers: readonly Uint8Array[]): Uint8Array {
  const text = Buffer.from(JSON.stringify(header));
  const bodyBytes = layers.reduce((sum, { length }) => sum + length, 0);
  const delta = new Uint8Array(FIXED + text.length + bodyBytes + DIGEST);
  const view = new DataView(delta.buffer);
  view.setUint32(0, MAGIC, true);
  view.setUint32(4, DELTA_FORMAT, true);
  view.setUint32(8, text.length, true);
  delta.set(text, FIXED);
  let at = FIXED + text.length;
  for (const layer of layers) {
    delta.set(layer, at);
    at += layer.length;
  }
  delta.set(createHash('sha256').update(delta.subarray(0, at)).digest(), at);
  return delta;
}

function captureMemory(
  memory: Uint8Array,
  base: BaseBlocks,
  unused: readonly MemoryRange[],
  before: CaptureState | undefined,
): CaptureState {
  if (before !== undefined) {
    const { layers, firstPages, seen } = before;
    const pages = changedPages(memory, base, unused, seen);
    if (pages.length === 0) return before;
    const laidPages = before.laidPages + pages.length;
    if (layers.length < MAX_LAYERS && laidPages <= 2 * firstPages)
      return { layers: [...layers, encodePageDiff(memory, base, pages)], firstPages, laidPages, seen };
  }
  const seen = new Map<number, Uint8Array>();
  const pages = changedPages(memory, base, unused, seen);
  const { length } = pages;
  return { layers: [encodePageDiff(memory, base, pages)], firstPages: length, laidPages: length, seen };
}

/** Pages that are not as they were seen, or as in the base where they were not; they are as seen from now on. */
function changedPages(
  memory: Uint8Array,
  base: BaseBlocks,
  unused: readonly MemoryRange[],
  seen: Map<number, Uint8Array>,
): number[] {
  const pages: number[] = [];
  const isUnused = (start: number, end: number) =>
    unused.some((range) => start >= range.start && end <= range.end);
  const bytes = Buffer.from(memory.buffer, memory.byteOffset, memory.length);
  const seenBlocks = new Set(
    [...seen.keys()].map((page) => Math.floor((page * DIFF_PAGE_BYTES) / PAGE_BYTES)),
  );
  for (let index = 0; index < memory.length / PAGE_BYTES; index++) {
    const start = index * PAGE_BYTES;
    if (isUnused(start, start + PAGE_BYTES)) continue;
    const block = blockAt(base, index);
    // Most of memory is as in the base: whole blocks are skipped with one comparison.
    if (!seenBlocks.has(index) && bytes.compare(block, 0, PAGE_BYTES, start, start + PAGE_BYTES) === 0)
      continue;
    for (let from = 0; from < PAGE_BYTES; from += DIFF_PAGE_BYTES) {
      const at = start + from;
      const end = at + DIFF_PAGE_BYTES;
      if (isUnused(at, end)) continue;
      const page = at / DIFF_PAGE_BYTES;
      const copy = seen.get(page);
      const isSame =
        copy === undefined
          ? bytes.compare(block, from, from + DIFF_PAGE_BYTES, at, end) === 0
          : bytes.compare(copy, 0, DIFF_PAGE_BYTES, at, end) === 0;
      if (isSame) continue;
      if (copy === undefined) seen.set(page, memory.slice(at, end));
      else copy.set(memory.subarray(at, end));
      pages.push(page);
    }
  }
  return pages;
}

const damaged = (what: string) => new SandboxError('image_invalid', `The saved state is damaged (${what}).`);
const differs = (what: string) =>
  new SandboxError('image_invalid', `The saved state ${what}. Its files can still be read.`);

/** Nothing is wrong with the state: it was made under a larger limit than the one it is opened with. */
const tooSmall = (bytes: number, limit: number) => {
  const what = `The saved state needs ${bytes} bytes of memory, more than the policy's ${limit}`;
  return new SandboxError('invalid_argument', `${what}: open it with a larger memory_bytes.`);
};

/** Checks a delta and reads what it says of itself. */
export function readDelta(delta: Uint8Array): { header: DeltaHeader; body: Uint8Array } {
  const end = delta.length - DIGEST;
  if (end < FIXED) throw damaged('it is too short');
  const view = new DataView(delta.buffer, delta.byteOffset, delta.byteLength);
  if (view.getUint32(0, true) !== MAGIC) throw damaged('it does not start like one');
  const format = view.getUint32(4, true);
  if (format !== DELTA_FORMAT) throw differs(`has format ${format}, this version reads ${DELTA_FORMAT}`);
  const expected = createHash('sha256').update(delta.subarray(0, end)).digest();
  if (Buffer.compare(expected, delta.subarray(end)) !== 0) throw damaged('its digest does not match');
  const bodyAt = FIXED + view.getUint32(8, true);
  if (bodyAt > end) throw damaged('its header is cut off');
  return { header: readHeader(delta.subarray(FIXED, bodyAt)), body: delta.subarray(bodyAt, end) };
}

function readHeader(text: Uint8Array): DeltaHeader {
  let json: unknown;
  try {
    json = JSON.parse(Buffer.from(text).toString());
  } catch {
    throw damaged('its header is not JSON');
  }
  const parsed = deltaHeader.safeParse(json);
  if (parsed.success) return parsed.data;
  throw damaged(`its header does not fit at ${parsed.error.issues[0]!.path.join('.')}`);
}

/** What the parts of a base are called when they are not those that a delta was made with. */
const PARTS = {
  runtime: 'runtime',
  module: 'module',
  layers: 'set of packages',
  base: 'boot image',
} as const;

/** Throws the part that differs when a delta was not made from this base. */
export function checkBase(header: DeltaHeader, base: Image): void {
  const here = { ...base.header, base: base.digest };
  for (const part of Object.keys(PARTS) as (keyof typeof PARTS)[]) {
    if (header[part] === here[part]) continue;
    throw differs(
      `was made with another ${PARTS[part]} (${String(header[part]).slice(0, 64)}, here it is ${here[part]})`,
    );
  }
}

/** Brings a guest that is exactly as `base` to a saved state. Its volume must already hold the saved files. */
export function applyDelta(guest: Guest, base: Image, delta: Uint8Array): CaptureState | undefined {
  const { header, body } = readDelta(delta);
  checkBase(header, base);
  const bytes = header.pages * PAGE_BYTES;
  if (!guest.grow(bytes)) throw tooSmall(bytes, guest.maxBytes);
  try {
    const captured = layAll(splitLayers(header, body), guest.view.all, blocksOf(base));
    guest.setGlobals(header.globals);
    restoreKernelState(guest.kernel, header.kernel);
    return captured;
  } catch (cause) {
    throw cause instanceof SandboxError
      ? cause
      : damaged(cause instanceof Error ? cause.message : 'its files');
  }
}

function splitLayers({ memory }: DeltaHeader, body: Uint8Array): Uint8Array[] {
  let at = 0;
  return memory.map((length) => {
    if (at + length > body.length) throw damaged('a layer is cut off');
    at += length;
    return body.subarray(at - length, at);
  });
}

function layAll(
  layers: readonly Uint8Array[],
  memory: Uint8Array,
  base: BaseBlocks,
): CaptureState | undefined {
  const seen = new Map<number, Uint8Array>();
  const allPages = memory.length / DIFF_PAGE_BYTES;
  let firstPages = 0;
  let laidPages = 0;
  for (const layer of layers) {
    // No capture makes layers that hold more than twice all pages.
    const pages = applyPageDiff(layer, memory, base, Math.min(allPages, 2 * allPages - laidPages));
    if (laidPages === 0) firstPages = pages.length;
    laidPages += pages.length;
    for (const page of pages) seen.set(page, NOT_YET);
  }
  if (seen.size > MAX_SEEN) return undefined;
  for (const page of seen.keys())
    seen.set(page, memory.slice(page * DIFF_PAGE_BYTES, (page + 1) * DIFF_PAGE_BYTES));
  return { layers, firstPages, laidPages, seen };
}

const NOT_YET = new Uint8Array();
