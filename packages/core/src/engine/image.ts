/**
 * Converts between guests and images. An image is the complete state of an idle guest: memory, mutable globals and
 * kernel state. Other modules treat it as opaque bytes. Reading verifies the digest and every bound.
 *
 * Layout, a frame with two fields (see framing/frame.ts):
 *   0   magic "LWSI"
 *   4   u32 format version
 *   8   u32 byte length H of the header
 *   12  u32 number S of segments
 *   16  header, JSON, H bytes
 *   …   S × (u32 first page, u32 page count): pages of 4096 bytes, ascending, not empty; zero pages are omitted
 *   …   zeros up to the next multiple of 4096
 *   …   contents of the segments, concatenated
 *   end SHA-256 of everything before it, 32 bytes
 */
import { SandboxError } from '../errors.ts';
import { decodeFrame, encodeFrame, type Frame, FrameError } from '../framing/frame.ts';
import { checked, integer, type Matched, object, optional, record, text } from '../framing/json-checks.ts';
import { parseJson } from '../framing/json-header.ts';
import { MAX_PAGES } from '../wasm/binary-format.ts';
import type { Guest } from './guest.ts';
import { IMAGE_FORMAT, type ImageOrigin, PAGE_BYTES } from './image-identity.ts';
import { LinkFailure } from './link-failure.ts';
import { linkState } from './link-state.ts';

const FORMAT = { magic: 'LWSI', version: IMAGE_FORMAT, fields: 2 } as const;
/** Offset of the body in the file; the contents of the segments are aligned relative to the file. */
const BODY_AT = 16;
const IMAGE_PAGE = 4096;
const INDEX_ROW = 8;
/** The unit in which a reset compares and writes: large enough that calls do not dominate. */
const COMPARED_BYTES = 4 * IMAGE_PAGE;
/** How much memory a reset checks for zeros in one call. */
const CHECKED_BYTES = 16 * PAGE_BYTES;
/** Offset between the two parts that a check for zeros compares. A multiple of the page size would be slow; see `ZEROS`. */
const ZERO_OFFSET = 64;

/**
 * Zeros that are backed by memory of their own. All untouched memory maps to one physical page, and some processors
 * take twenty times as long to compare two views of the same physical page.
 */
export const ZEROS = new Uint8Array(PAGE_BYTES).fill(0);

/** Values of mutable globals as decimal text, by export name. */
export const globalValues = record(text(21, /^-?\d{1,20}$/));

const imageHeader = object({
  runtime: text(),
  module: text(),
  layers: text(),
  /** WebAssembly pages of memory. */
  pages: integer(0, MAX_PAGES),
  globals: globalValues,
  cwd: text(),
  umask: integer(0, 0o777),
  /** Addresses in guest memory that the host side of the runtime uses. */
  handles: record(integer(Number.MIN_SAFE_INTEGER)),
  /** The loaded side modules, if there are any. */
  link: optional(linkState),
});
type GuestImageHeader = Matched<typeof imageHeader>;

/** A part of guest memory that is not zero. */
interface MemorySegment {
  readonly at: number;
  readonly bytes: Uint8Array;
}

/** A verified image, ready to be written into guests. */
export interface Image {
  /** SHA-256 of the image. A delta applies only to the image with the digest it names. */
  readonly digest: string;
  readonly header: Readonly<GuestImageHeader>;
  readonly segments: readonly MemorySegment[];
}

/** Captures an idle guest. No descriptors other than the three standard ones may be open. */
export function captureImage(guest: Guest, origin: ImageOrigin, handles: Record<string, number>): Uint8Array {
  const memory = guest.view.all;
  const { umask } = guest.kernel;
  const cwd = guest.kernel.getcwd();
  const pages = memory.length / PAGE_BYTES;
  const link = guest.linker.state();
  const header: GuestImageHeader = { ...origin, pages, globals: guest.globals(), cwd, umask, handles, link };
  const text = new TextEncoder().encode(JSON.stringify(header));
  const ranges = nonZeroPages(memory);
  const index = new Uint8Array(dataOffset(text.length, ranges.length) - BODY_AT - text.length);
  const view = new DataView(index.buffer);
  ranges.forEach(({ first, count }, i) => {
    view.setUint32(i * INDEX_ROW, first, true);
    view.setUint32(i * INDEX_ROW + 4, count, true);
  });
  const contents = ranges.map(({ first, count }) =>
    memory.subarray(first * IMAGE_PAGE, (first + count) * IMAGE_PAGE),
  );
  return encodeFrame(FORMAT, [text.length, ranges.length], [text, index, ...contents]);
}

/** Offset in the file at which the contents of the segments start. */
function dataOffset(headerBytes: number, segments: number): number {
  return Math.ceil((BODY_AT + headerBytes + segments * INDEX_ROW) / IMAGE_PAGE) * IMAGE_PAGE;
}

function nonZeroPages(memory: Uint8Array): { first: number; count: number }[] {
  const ranges: { first: number; count: number }[] = [];
  const words = new BigUint64Array(memory.buffer, memory.byteOffset, memory.length / 8);
  const perPage = IMAGE_PAGE / 8;
  for (let page = 0; page < memory.length / IMAGE_PAGE; page++) {
    let i = page * perPage;
    const end = i + perPage;
    while (i < end && words[i] === 0n) i++;
    if (i === end) continue;
    const last = ranges.at(-1);
    if (last !== undefined && last.first + last.count === page) last.count++;
    else ranges.push({ first: page, count: 1 });
  }
  return ranges;
}

const invalid = (problem: string) =>
  new SandboxError(
    'image_invalid',
    `The image is invalid: ${problem}. Install the package again, or run "npm run build" in a checkout.`,
  );

/**
 * Reads an image and verifies it, unless its digest has been verified. The result holds views of `bytes`, which may be in
 * shared memory.
 */
export function readImage(bytes: Uint8Array, origin: ImageOrigin, isVerified = false): Image {
  try {
    const frame = decodeFrame(FORMAT, bytes, isVerified);
    const json = parseJson(frame.body.subarray(0, frame.fields[0]!));
    const header = checked(imageHeader, json, (path) => invalid(`its header is invalid at ${path}`));
    for (const part of ['runtime', 'module', 'layers'] as const) {
      if (header[part] === origin[part]) continue;
      throw invalid(`"${part}" is ${header[part]}, expected ${origin[part]}`);
    }
    return { digest: frame.digest.toString('hex'), header, segments: readSegments(frame, header.pages) };
  } catch (cause) {
    throw cause instanceof FrameError ? invalid(cause.message) : cause;
  }
}

function readSegments({ fields, body }: Frame, pages: number): MemorySegment[] {
  const [indexAt, count] = fields as [number, number];
  const memoryBytes = pages * PAGE_BYTES;
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  let at = dataOffset(indexAt, count) - BODY_AT;
  if (at > body.length) throw invalid('its index is cut off');
  const segments: MemorySegment[] = [];
  let previousEnd = 0;
  for (let i = 0; i < count; i++) {
    const start = view.getUint32(indexAt + i * INDEX_ROW, true) * IMAGE_PAGE;
    const length = view.getUint32(indexAt + i * INDEX_ROW + 4, true) * IMAGE_PAGE;
    const isInBounds = start >= previousEnd && start + length <= memoryBytes && at + length <= body.length;
    if (!isInBounds || length === 0) throw invalid(`segment ${i} is out of bounds`);
    segments.push({ at: start, bytes: body.subarray(at, at + length) });
    at += length;
    previousEnd = start + length;
  }
  return segments;
}

/** Writes an image into a new guest that has as many pages as the image and whose memory is still zero. */
export function writeImage(guest: Guest, image: Image): void {
  const memory = guest.view.all;
  for (const { at, bytes } of image.segments) memory.set(bytes, at);
  restoreGlobalsAndKernel(guest, image);
}

/**
 * Resets a used guest to the image in place. The memory must not have grown. Only parts that differ are written: a program
 * changes a small part of a large image, comparing is faster than writing, and memory that was never written to takes no
 * physical memory.
 */
export function resetToImage(guest: Guest, image: Image): void {
  const memory = guest.view.all;
  let end = 0;
  for (const { at, bytes } of image.segments) {
    clear(memory, end, at);
    rewrite(memory, at, bytes);
    end = at + bytes.length;
  }
  clear(memory, end, memory.length);
  restoreGlobalsAndKernel(guest, image);
}

/** Writes the parts that differ. */
function rewrite(memory: Uint8Array, at: number, bytes: Uint8Array): void {
  const current = Buffer.from(memory.buffer, memory.byteOffset, memory.length);
  for (let from = 0; from < bytes.length; from += COMPARED_BYTES) {
    const end = Math.min(from + COMPARED_BYTES, bytes.length);
    if (current.compare(bytes, from, end, at + from, at + end) === 0) continue;
    memory.set(bytes.subarray(from, end), at + from);
  }
}

/** Writes zeros to the WebAssembly pages that are not zero. Most parts are, and only the others are checked by page. */
function clear(memory: Uint8Array, from: number, to: number, unit = CHECKED_BYTES): void {
  for (let at = from; at < to; at += unit) {
    const end = Math.min(to, at + unit);
    const part = memory.subarray(at, end);
    if (isZero(part)) continue;
    if (unit > PAGE_BYTES) clear(memory, at, end, PAGE_BYTES);
    else part.fill(0);
  }
}

/** Memory is zero if it starts with zeros and every byte equals the one at a fixed offset before it. This reads it once. */
function isZero(part: Uint8Array): boolean {
  const head = part.subarray(0, ZERO_OFFSET);
  if (Buffer.compare(head, ZEROS.subarray(0, head.length)) !== 0) return false;
  return Buffer.compare(part.subarray(ZERO_OFFSET), part.subarray(0, -ZERO_OFFSET)) === 0;
}

function restoreGlobalsAndKernel(guest: Guest, { header }: Image): void {
  guest.setGlobals(header.globals);
  guest.kernel.reset(header.cwd, header.umask);
  try {
    guest.linker.restore(header.link);
  } catch (cause) {
    if (cause instanceof LinkFailure || cause instanceof WebAssembly.LinkError) throw invalid(cause.message);
    throw cause;
  }
}
