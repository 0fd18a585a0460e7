/**
 * A guest's state as its difference to a base image: the pages that are not as in the base, combined with those of the
 * base by exclusive or, so that what did not change within them is zero, and compressed. This is the form in which a
 * session sleeps, is stored, undone and forked.
 *
 * Layout, little-endian, drawn once:
 *   0   magic "LWSD"
 *   4   u32 format version
 *   8   u32 byte length H of the header
 *   12  header, JSON, H bytes
 *   …   body, deflated: u32 number R of runs; R × (u32 first page, u32 page count); the pages of all runs
 *   end SHA-256 of everything before it, 32 bytes
 * Pages are of 4096 bytes; runs are ascending and do not touch.
 */
import { createHash } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { z } from 'zod';
import { SandboxError } from '../errors.ts';
import { kernelState, loadKernel, saveKernel } from '../kernel/snapshot.ts';
import { PAGE_BYTES } from './format.ts';
import type { Guest } from './guest.ts';
import type { Image } from './image.ts';

export const DELTA_FORMAT = 2;

const MAGIC = 0x4453574c;
const DELTA_PAGE = 4096;
const FIXED = 12;
const DIGEST = 32;

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
});
export type DeltaHeader = z.infer<typeof deltaHeader>;

/** Where the base has bytes: a dense copy of its memory, made once for each image. */
const dense = new WeakMap<Image, Uint8Array>();

function denseMemory(base: Image): Uint8Array {
  let memory = dense.get(base);
  if (memory === undefined) {
    memory = new Uint8Array(base.header.pages * PAGE_BYTES);
    for (const { at, bytes } of base.runs) memory.set(bytes, at);
    dense.set(base, memory);
  }
  return memory;
}

export interface MemoryRange {
  readonly start: number;
  readonly end: number;
}

/** Saves an idle guest that started from `base`. Pages that lie wholly in `unused` are taken for unchanged. */
export function captureDelta(guest: Guest, base: Image, unused: readonly MemoryRange[] = []): Uint8Array {
  const memory = guest.view.all;
  const { runtime, module, layers } = base.header;
  const header: DeltaHeader = {
    base: base.digest,
    runtime,
    module,
    layers,
    pages: memory.length / PAGE_BYTES,
    globals: guest.globals(),
    kernel: saveKernel(guest.kernel),
  };
  const text = Buffer.from(JSON.stringify(header));
  const body = deflateRawSync(differences(memory, denseMemory(base), unused), { level: 1 });
  const delta = new Uint8Array(FIXED + text.length + body.length + DIGEST);
  const view = new DataView(delta.buffer);
  view.setUint32(0, MAGIC, true);
  view.setUint32(4, DELTA_FORMAT, true);
  view.setUint32(8, text.length, true);
  delta.set(text, FIXED);
  delta.set(body, FIXED + text.length);
  const end = delta.length - DIGEST;
  delta.set(createHash('sha256').update(delta.subarray(0, end)).digest(), end);
  return delta;
}

/** The body: runs of pages that differ, and those pages combined with the base's. */
function differences(memory: Uint8Array, base: Uint8Array, unused: readonly MemoryRange[]): Uint8Array {
  const runs: { first: number; count: number }[] = [];
  let pages = 0;
  for (let page = 0; page < memory.length / DELTA_PAGE; page++) {
    const at = page * DELTA_PAGE;
    const skipped = unused.find(({ start, end }) => at >= start && at + DELTA_PAGE <= end);
    if (skipped !== undefined) {
      page = Math.floor(skipped.end / DELTA_PAGE) - 1;
      continue;
    }
    // Most of memory is as it was: whole blocks are skipped with one comparison.
    if (at % PAGE_BYTES === 0 && isSame(memory, base, at, PAGE_BYTES)) {
      page += PAGE_BYTES / DELTA_PAGE - 1;
      continue;
    }
    if (isSame(memory, base, at, DELTA_PAGE)) continue;
    const last = runs.at(-1);
    if (last !== undefined && last.first + last.count === page) last.count++;
    else runs.push({ first: page, count: 1 });
    pages++;
  }
  const body = new Uint8Array(4 + runs.length * 8 + pages * DELTA_PAGE);
  const view = new DataView(body.buffer);
  view.setUint32(0, runs.length, true);
  let out = 4 + runs.length * 8;
  runs.forEach(({ first, count }, i) => {
    view.setUint32(4 + i * 8, first, true);
    view.setUint32(8 + i * 8, count, true);
    const from = first * DELTA_PAGE;
    const length = count * DELTA_PAGE;
    body.set(memory.subarray(from, from + length), out);
    combine(body.subarray(out, out + length), base, from);
    out += length;
  });
  return body;
}

function isSame(memory: Uint8Array, base: Uint8Array, at: number, length: number): boolean {
  // Beyond the base a page counts as zero there, as fresh memory is.
  const other = at < base.length ? base.subarray(at, at + length) : ZEROS.subarray(0, length);
  return Buffer.compare(memory.subarray(at, at + length), other) === 0;
}

const ZEROS = new Uint8Array(PAGE_BYTES);

/** Exclusive or with the base's bytes from `at` on, in place; does and undoes the same. */
function combine(bytes: Uint8Array, base: Uint8Array, at: number): void {
  const length = Math.min(bytes.length, Math.max(0, base.length - at)) / 4;
  const words = new Int32Array(bytes.buffer, bytes.byteOffset, length);
  const others = new Int32Array(base.buffer, base.byteOffset + at, length);
  for (let i = 0; i < length; i++) words[i]! ^= others[i]!;
}

const damaged = (what: string) => new SandboxError('image_invalid', `The saved state is damaged (${what}).`);

/** Checks a delta and reads what it says of itself. */
export function readDelta(delta: Uint8Array): { header: DeltaHeader; body: Uint8Array } {
  const end = delta.length - DIGEST;
  if (end < FIXED) throw damaged('it is too short');
  const view = new DataView(delta.buffer, delta.byteOffset, delta.byteLength);
  if (view.getUint32(0, true) !== MAGIC) throw damaged('it does not start like one');
  const format = view.getUint32(4, true);
  if (format !== DELTA_FORMAT) {
    throw new SandboxError(
      'image_invalid',
      `The saved state has format ${format}, this version reads ${DELTA_FORMAT}.`,
    );
  }
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

/** Throws the part that differs when a delta was not made from this base. */
export function checkFits(header: DeltaHeader, base: Image): void {
  for (const part of ['runtime', 'module', 'layers'] as const) {
    if (header[part] === base.header[part]) continue;
    const facts = `${header[part]}, here it is ${base.header[part]}`;
    throw new SandboxError(
      'image_invalid',
      `The saved state was made with another ${part} (${facts}). Its files can still be read.`,
    );
  }
  if (header.base !== base.digest)
    throw new SandboxError(
      'image_invalid',
      'The saved state was made from another boot image. Its files can still be read.',
    );
}

/** Brings a guest that is exactly as `base` to a saved state. Its volume must already hold the saved files. */
export function applyDelta(guest: Guest, base: Image, delta: Uint8Array): void {
  const { header, body } = readDelta(delta);
  checkFits(header, base);
  const bytes = header.pages * PAGE_BYTES;
  if (!guest.grow(bytes)) throw damaged(`it needs ${bytes} bytes of memory, more than the policy allows`);
  const memory = guest.view.all;
  const content = inflate(body, memory.length);
  const view = new DataView(content.buffer, content.byteOffset, content.byteLength);
  const count = view.getUint32(0, true);
  let at = 4 + count * 8;
  if (at > content.length) throw damaged('its index is cut off');
  const baseMemory = denseMemory(base);
  for (let i = 0; i < count; i++) {
    const from = view.getUint32(4 + i * 8, true) * DELTA_PAGE;
    const length = view.getUint32(8 + i * 8, true) * DELTA_PAGE;
    if (from + length > memory.length || at + length > content.length) throw damaged(`run ${i} does not fit`);
    const target = memory.subarray(from, from + length);
    target.set(content.subarray(at, at + length));
    combine(target, baseMemory, from);
    at += length;
  }
  guest.setGlobals(header.globals);
  loadKernel(guest.kernel, header.kernel);
}

function inflate(body: Uint8Array, memoryBytes: number): Buffer {
  try {
    // All pages, and an index that has at most one entry for each.
    const content = inflateRawSync(body, { maxOutputLength: memoryBytes + memoryBytes / 256 + 8 });
    if (content.length < 4) throw damaged('its body is too short');
    return content;
  } catch (cause) {
    throw cause instanceof SandboxError ? cause : damaged('its body does not unpack');
  }
}
