/**
 * Reduces drawn images and writes them as PNG. Pixels come from the rasteriser, and their number is bounded; nothing is decoded
 * here.
 */
import { encodePng } from './encode-png.ts';
import type { Pixels } from './indexed-pixels.ts';

interface Picture {
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

/** The image with a longer edge of at most `edge` pixels. Each pixel is the average of the area that it covers. */
export function shrink({ width: oldWidth, height: oldHeight, rgba: old }: Pixels, edge: number): Pixels {
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

/** Adds up the pixels of a row; each sum covers `perColumn` of them. */
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
