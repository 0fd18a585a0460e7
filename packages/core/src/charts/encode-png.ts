/** Writes pixels as PNG. */
import { crc32, deflateSync } from 'node:zlib';
import { uninterrupted } from '../host/thread-critical-sections.ts';
import { type IndexedPixels, isRepeated, type Pixels, toIndexed } from './indexed-pixels.ts';

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
/** Colour types of PNG. */
const RGB = 2;
const PALETTE = 3;
const RGBA = 6;
/** Filters of PNG. */
const NONE = 0;
const UP = 2;

/** An image with a palette if it has few colours, otherwise one with three channels, or four if a pixel is not opaque. */
export function encodePng(pixels: Pixels): Uint8Array {
  const indexed = toIndexed(pixels);
  if (indexed !== undefined) return encodeIndexed(indexed);
  const { width, height, rgba } = pixels;
  const isOpaque = !hasAlpha(rgba);
  const channels = isOpaque ? 3 : 4;
  const rows = filterRows(toStraight(rgba, channels), width * channels, channels);
  return join([header(width, height, isOpaque ? RGB : RGBA), imageData(rows)]);
}

function encodeIndexed({ width, height, palette, indices }: IndexedPixels): Uint8Array {
  const rows = new Uint8Array(height * (width + 1));
  for (let at = 0, to = 0; at < indices.length; at += width, to += width + 1) {
    const isSame = at > 0 && isRepeated(indices, at, width);
    rows[to] = isSame ? UP : NONE;
    if (!isSame) rows.set(indices.subarray(at, at + width), to + 1);
  }
  const colors = chunk('PLTE', toStraight(palette, 3));
  const alpha = chunk(
    'tRNS',
    palette.filter((_, i) => i % 4 === 3),
  );
  const head = header(width, height, PALETTE);
  return join([head, colors, ...(hasAlpha(palette) ? [alpha] : []), imageData(rows)]);
}

const imageData = (rows: Uint8Array) =>
  chunk(
    'IDAT',
    uninterrupted(() => deflateSync(rows)),
  );

const join = (chunks: readonly Uint8Array[]) =>
  Buffer.concat([Buffer.from(SIGNATURE), ...chunks, chunk('IEND', Buffer.alloc(0))]);

function header(width: number, height: number, colorType: number): Buffer {
  const data = Buffer.alloc(13);
  data.writeUInt32BE(width, 0);
  data.writeUInt32BE(height, 4);
  data.set([8, colorType], 8);
  return chunk('IHDR', data);
}

function hasAlpha(rgba: Uint8Array): boolean {
  for (let at = 3; at < rgba.length; at += 4) if (rgba[at] !== 255) return true;
  return false;
}

/** Pixels with straight alpha, or without alpha if there are three channels. */
function toStraight(rgba: Uint8Array, channels: number): Uint8Array {
  const straight = new Uint8Array((rgba.length / 4) * channels);
  for (let from = 0, to = 0; from < rgba.length; from += 4, to += channels) {
    const alpha = rgba[from + 3]!;
    const factor = alpha === 0 ? 0 : 255 / alpha;
    for (let i = 0; i < 3; i++) straight[to + i] = Math.min(255, Math.round(rgba[from + i]! * factor));
    if (channels === 4) straight[to + 3] = alpha;
  }
  return straight;
}

/** Rows with the filter (none, sub or up) that leaves the smallest differences, as the PNG specification suggests. */
function filterRows(bytes: Uint8Array, stride: number, channels: number): Uint8Array {
  const filtered = new Uint8Array((bytes.length / stride) * (stride + 1));
  let above: Uint8Array = new Uint8Array(stride);
  const sub = new Uint8Array(stride);
  const up = new Uint8Array(stride);
  for (let at = 0, to = 0; at < bytes.length; at += stride, to += stride + 1) {
    const row = bytes.subarray(at, at + stride);
    if (at > 0 && isRepeated(bytes, at, stride)) {
      filtered[to] = UP;
      continue;
    }
    for (let i = 0; i < stride; i++) {
      sub[i] = row[i]! - (i < channels ? 0 : row[i - channels]!);
      up[i] = row[i]! - above[i]!;
    }
    const choices = [row, sub, up];
    const sums = choices.map(differences);
    const best = sums.indexOf(Math.min(...sums));
    filtered[to] = best;
    filtered.set(choices[best]!, to + 1);
    above = row;
  }
  return filtered;
}

/** The sum of the absolute values of signed bytes. */
function differences(bytes: Uint8Array): number {
  let sum = 0;
  for (let i = 0; i < bytes.length; i++) sum += bytes[i]! < 128 ? bytes[i]! : 256 - bytes[i]!;
  return sum;
}

function chunk(name: string, data: Uint8Array): Buffer {
  const bytes = Buffer.alloc(data.length + 12);
  bytes.writeUInt32BE(data.length, 0);
  bytes.write(name, 4, 'latin1');
  bytes.set(data, 8);
  bytes.writeUInt32BE(crc32(bytes.subarray(4, data.length + 8)), data.length + 8);
  return bytes;
}
