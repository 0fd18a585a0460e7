/**
 * Guest ↔ bytes. An image is the whole state of an idle guest: its memory, its mutable globals, and what the kernel
 * holds for it. Above this file an image is opaque. What is read back is hostile until its digest and every bound
 * have been checked.
 *
 * Layout, little-endian, drawn once:
 *   0   magic "LWSI"
 *   4   u32 format version
 *   8   u32 byte length H of the header
 *   12  u32 number R of runs
 *   16  header, JSON, H bytes
 *   …   R × (u32 first page, u32 page count), pages of 4096 bytes, ascending, none empty, zero pages left out
 *   …   zeros up to the next multiple of 4096
 *   …   the pages of all runs, one after another
 *   end SHA-256 of everything before it, 32 bytes
 */
import { createHash } from 'node:crypto';
import { SandboxError } from '../errors.ts';
import type { Guest } from './guest.ts';
import { IMAGE_FORMAT, type ImageOrigin, PAGE_BYTES } from './image-format.ts';

const MAGIC = 0x4953574c;
const IMAGE_PAGE = 4096;
const FIXED = 16;
const DIGEST = 32;

/**
 * Zeros that are really there. Memory nobody wrote to is one page of the operating system, seen at many addresses, and
 * some processors take twenty times as long to compare two views of one and the same page.
 */
export const ZEROS = new Uint8Array(PAGE_BYTES).fill(0);

interface ImageHeader extends ImageOrigin {
  /** WebAssembly pages of memory. */
  pages: number;
  /** Values as decimal text, by export name. */
  globals: Record<string, string>;
  cwd: string;
  umask: number;
  /** Addresses in guest memory that the runtime's host side needs to go on. */
  handles: Record<string, number>;
}

interface MemorySegment {
  /** Where the bytes go in guest memory, and the bytes. */
  readonly at: number;
  readonly bytes: Uint8Array;
}

/** An image that was read and checked, ready to be laid into guests. */
export interface Image {
  /** SHA-256 of the whole image; what was saved on top of it belongs to it alone. */
  readonly digest: string;
  readonly header: Readonly<ImageHeader>;
  readonly segments: readonly MemorySegment[];
}

/** Saves an idle guest. Descriptors other than the standard three must be closed. */
export function captureImage(guest: Guest, origin: ImageOrigin, handles: Record<string, number>): Uint8Array {
  const memory = guest.view.all;
  const { cwd, umask } = guest.kernel;
  const pages = memory.length / PAGE_BYTES;
  const header: ImageHeader = { ...origin, pages, globals: guest.globals(), cwd, umask, handles };
  const text = new TextEncoder().encode(JSON.stringify(header));
  const runs = nonZeroRuns(memory);
  const index = FIXED + text.length;
  const data = Math.ceil((index + runs.length * 8) / IMAGE_PAGE) * IMAGE_PAGE;
  const dataPages = runs.reduce((sum, run) => sum + run.count, 0);
  const image = new Uint8Array(data + dataPages * IMAGE_PAGE + DIGEST);
  const view = new DataView(image.buffer);
  [MAGIC, IMAGE_FORMAT, text.length, runs.length].forEach((value, i) => {
    view.setUint32(i * 4, value, true);
  });
  image.set(text, FIXED);
  let at = data;
  runs.forEach((run, i) => {
    view.setUint32(index + i * 8, run.first, true);
    view.setUint32(index + i * 8 + 4, run.count, true);
    image.set(memory.subarray(run.first * IMAGE_PAGE, (run.first + run.count) * IMAGE_PAGE), at);
    at += run.count * IMAGE_PAGE;
  });
  image.set(digest(image.subarray(0, at)), at);
  return image;
}

function digest(bytes: Uint8Array): Uint8Array {
  return createHash('sha256').update(bytes).digest();
}

function nonZeroRuns(memory: Uint8Array): { first: number; count: number }[] {
  const runs: { first: number; count: number }[] = [];
  const words = new BigUint64Array(memory.buffer, memory.byteOffset, memory.length / 8);
  const perPage = IMAGE_PAGE / 8;
  for (let page = 0; page < memory.length / IMAGE_PAGE; page++) {
    let i = page * perPage;
    const end = i + perPage;
    while (i < end && words[i] === 0n) i++;
    if (i === end) continue;
    const last = runs.at(-1);
    if (last !== undefined && last.first + last.count === page) last.count++;
    else runs.push({ first: page, count: 1 });
  }
  return runs;
}

const damaged = (what: string) =>
  new SandboxError('image_invalid', `The image is damaged (${what}). Run "npm run build" to make it anew.`);

/** Reads and checks an image. The result keeps views of `bytes`, which may lie in shared memory. */
export function readImage(bytes: Uint8Array, origin: ImageOrigin): Image {
  if (bytes.length < FIXED + DIGEST) throw damaged('it is too short');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(0, true) !== MAGIC) throw damaged('it does not start like one');
  const format = view.getUint32(4, true);
  if (format !== IMAGE_FORMAT) {
    throw new SandboxError(
      'image_invalid',
      `The image has format ${format}, this version reads ${IMAGE_FORMAT}.`,
    );
  }
  const end = bytes.length - DIGEST;
  const expected = digest(bytes.subarray(0, end));
  if (expected.some((byte, i) => byte !== bytes[end + i])) throw damaged('its digest does not match');
  const header = readHeader(bytes.slice(FIXED, FIXED + view.getUint32(8, true)));
  for (const part of ['runtime', 'module', 'layers'] as const) {
    if (header[part] === origin[part]) continue;
    const made = `was made for another ${part} (${header[part]}, here it is ${origin[part]})`;
    throw new SandboxError('image_invalid', `The image ${made}.`);
  }
  const segments = readRuns(bytes.subarray(0, end), view, header.pages * PAGE_BYTES);
  return { digest: Buffer.from(expected).toString('hex'), header, segments };
}

function readHeader(text: Uint8Array): ImageHeader {
  try {
    return JSON.parse(new TextDecoder().decode(text)) as ImageHeader;
  } catch {
    throw damaged('its header is not JSON');
  }
}

function readRuns(bytes: Uint8Array, view: DataView, memoryBytes: number): MemorySegment[] {
  const index = FIXED + view.getUint32(8, true);
  const count = view.getUint32(12, true);
  let at = Math.ceil((index + count * 8) / IMAGE_PAGE) * IMAGE_PAGE;
  if (at > bytes.length) throw damaged('its index is cut off');
  const runs: MemorySegment[] = [];
  let previousEnd = 0;
  for (let i = 0; i < count; i++) {
    const start = view.getUint32(index + i * 8, true) * IMAGE_PAGE;
    const length = view.getUint32(index + i * 8 + 4, true) * IMAGE_PAGE;
    const fits = start >= previousEnd && start + length <= memoryBytes && at + length <= bytes.length;
    if (!fits || length === 0) throw damaged(`run ${i} does not fit`);
    runs.push({ at: start, bytes: bytes.subarray(at, at + length) });
    at += length;
    previousEnd = start + length;
  }
  return runs;
}

/** Lays an image into a guest that has just been instantiated with as many pages and whose memory is still zero. */
export function writeImage(guest: Guest, image: Image): void {
  const memory = guest.view.all;
  for (const { at, bytes } of image.segments) memory.set(bytes, at);
  restoreRest(guest, image);
}

/**
 * Brings a used guest back to the image, in place. The memory must not have grown. To write zeros everywhere is fastest
 * for a guest that is used again and again; `sparing` writes none where there are some, because memory that nobody ever
 * wrote to takes no place in the machine's.
 */
export function resetToImage(guest: Guest, image: Image, sparing = false): void {
  const memory = guest.view.all;
  const clear = sparing ? clearUsed : clearAll;
  let end = 0;
  for (const { at, bytes } of image.segments) {
    clear(memory, end, at);
    memory.set(bytes, at);
    end = at + bytes.length;
  }
  clear(memory, end, memory.length);
  restoreRest(guest, image);
}

function clearAll(memory: Uint8Array, from: number, to: number): void {
  memory.fill(0, from, to);
}

function clearUsed(memory: Uint8Array, from: number, to: number): void {
  for (let at = from; at < to; at += ZEROS.length) {
    const part = memory.subarray(at, Math.min(to, at + ZEROS.length));
    if (Buffer.compare(part, ZEROS.subarray(0, part.length)) !== 0) part.fill(0);
  }
}

function restoreRest(guest: Guest, { header }: Image): void {
  guest.setGlobals(header.globals);
  guest.kernel.reset(header.cwd, header.umask);
}
