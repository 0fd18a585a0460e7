/**
 * Reduces drawn images and writes them as PNG. Pixels come from the rasteriser, and their number is bounded; nothing is decoded
 * here.
 */
import { crc32, deflateSync } from 'node:zlib';

/** RGBA with premultiplied alpha, row by row from the top. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly rgba: Uint8Array;
}

export interface Picture {
  readonly png: Uint8Array;
  readonly width: number;
  readonly height: number;
}

export interface PictureLimits {
  /** Pixels in each direction. */
  readonly maxEdge: number;
  /** Bytes of the PNG. */
  readonly maxBytes: number;
}

/** The size of a PNG is not proportional to its area, so the next attempt is a little smaller than the estimate. */
const MARGIN = 0.9;

/** The image as a PNG within the limits, reduced as far as they require. Returns undefined if even one pixel is too large. */
export function toPng(pixels: Pixels, { maxEdge, maxBytes }: PictureLimits): Picture | undefined {
  let edge = Math.min(maxEdge, Math.max(pixels.width, pixels.height));
  while (edge >= 1) {
    const { width, height, rgba } = shrink(pixels, edge);
    const png = encodePng({ width, height, rgba });
    if (png.length <= maxBytes) return { png, width, height };
    edge = Math.min(edge - 1, Math.floor(edge * Math.sqrt(maxBytes / png.length) * MARGIN));
  }
  return undefined;
}

/** Whether no pixel is visible. */
export function isTransparent({ rgba }: Pixels): boolean {
  for (let at = 3; at < rgba.length; at += 4) if (rgba[at] !== 0) return false;
  return true;
}

/** The image with a longer edge of `edge` pixels. Each pixel is the average of the area that it covers. */
function shrink({ width: oldWidth, height: oldHeight, rgba: old }: Pixels, edge: number): Pixels {
  const scale = edge / Math.max(oldWidth, oldHeight);
  if (scale >= 1) return { width: oldWidth, height: oldHeight, rgba: old };
  const width = Math.max(1, Math.round(oldWidth * scale));
  const height = Math.max(1, Math.round(oldHeight * scale));
  const rgba = new Uint8Array(width * height * 4);
  const [perColumn, perRow] = [oldWidth / width, oldHeight / height];
  // First the columns of each old row, then the rows, with the share of each pixel that a new pixel covers.
  const columns = new Float64Array(width * 4);
  const sums = new Float64Array(width * 4);
  for (let y = 0; y < height; y++) {
    sums.fill(0);
    const [top, bottom] = [y * perRow, (y + 1) * perRow];
    for (let row = Math.floor(top); row < Math.min(bottom, oldHeight); row++) {
      sumColumns(old.subarray(row * oldWidth * 4, (row + 1) * oldWidth * 4), perColumn, columns);
      const weight = Math.min(bottom, row + 1) - Math.max(top, row);
      for (let i = 0; i < sums.length; i++) sums[i]! += columns[i]! * weight;
    }
    const area = perColumn * perRow;
    for (let i = 0; i < sums.length; i++) rgba[y * sums.length + i] = Math.round(sums[i]! / area);
  }
  return { width, height, rgba };
}

/** Adds up the pixels of a row, of which each sum covers `perColumn`. */
function sumColumns(row: Uint8Array, perColumn: number, sums: Float64Array): void {
  for (let i = 0; i < sums.length; i += 4) {
    const start = (i / 4) * perColumn;
    const end = Math.min(start + perColumn, row.length / 4);
    let [r, g, b, a] = [0, 0, 0, 0];
    for (let x = Math.floor(start); x < end; x++) {
      const weight = Math.min(x + 1, end) - Math.max(x, start);
      const at = x * 4;
      r += row[at]! * weight;
      g += row[at + 1]! * weight;
      b += row[at + 2]! * weight;
      a += row[at + 3]! * weight;
    }
    sums[i] = r;
    sums[i + 1] = g;
    sums[i + 2] = b;
    sums[i + 3] = a;
  }
}

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
/** Color types of PNG. */
const RGB = 2;
const RGBA = 6;

function encodePng({ width, height, rgba }: Pixels): Uint8Array {
  const isOpaque = !hasAlpha(rgba);
  const channels = isOpaque ? 3 : 4;
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, isOpaque ? RGB : RGBA], 8);
  const rows = filterRows(toStraight(rgba, channels), width * channels, channels);
  const chunks = [chunk('IHDR', header), chunk('IDAT', deflateSync(rows)), chunk('IEND', Buffer.alloc(0))];
  return Buffer.concat([Buffer.from(SIGNATURE), ...chunks]);
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

/** The sum of the distances from zero of bytes with a sign. */
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
