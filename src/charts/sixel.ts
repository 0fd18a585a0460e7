/**
 * Writes pixels as Sixel, the image format of DEC terminals: bands of six rows, and in each band a line for every colour. The
 * pixels are those of the rasteriser; the result contains only printable characters between its start and end sequences.
 */
import { type Pixels, toIndexed } from './indexed-pixels.ts';

const ESCAPE = '\x1b';
const COLORS = 256;
const BAND = 6;
/** Pixels with less alpha are not drawn, so that the background of the terminal shows. */
const MIN_ALPHA = 128;
const TRANSPARENT = -1;
const LEVELS = [0, 64, 128, 191, 255];
/** Evenly spaced colours: every colour is near one of them. */
const SPACED = LEVELS.flatMap((r) => LEVELS.flatMap((g) => LEVELS.map((b) => [r, g, b] as const)));

interface Colored {
  /** Red, green and blue of each colour, from 0 to 255. */
  readonly palette: readonly (readonly [number, number, number])[];
  /** The number of the colour of each pixel, or `TRANSPARENT`. */
  readonly indices: Int16Array;
}

export function toSixel(pixels: Pixels): string {
  const { width, height } = pixels;
  const { palette, indices } = exactColors(pixels) ?? frequentColors(pixels);
  const colors = palette.map((rgb, i) => `#${i};2;${rgb.map((c) => Math.round((c * 100) / 255)).join(';')}`);
  let bands = '';
  for (let top = 0; top < height; top += BAND) {
    const lines = bandLines(indices.subarray(top * width, (top + BAND) * width), width);
    bands += `${lines.map(([color, line]) => `#${color}${line}`).join('$')}-`;
  }
  return `${ESCAPE}P0;1;0q"1;1;${width};${height}${colors.join('')}${bands}${ESCAPE}\\`;
}

/** The colours of a band, and for each the columns as characters, whose bits are the rows that have the colour. */
function bandLines(indices: Int16Array, width: number): (readonly [number, string])[] {
  const columns = new Map<number, Uint8Array>();
  for (let at = 0; at < indices.length; at++) {
    const color = indices[at]!;
    if (color === TRANSPARENT) continue;
    const bits = columns.get(color) ?? new Uint8Array(width);
    columns.set(color, bits);
    bits[at % width]! |= 1 << Math.floor(at / width);
  }
  return [...columns].map(([color, bits]) => [color, runs(bits)] as const);
}

/** The columns as characters; runs are shortened and trailing empty columns left out. */
function runs(bits: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bits.length; ) {
    let end = at + 1;
    while (end < bits.length && bits[end] === bits[at]) end++;
    const character = String.fromCharCode(63 + bits[at]!);
    if (bits[at] !== 0 || end < bits.length)
      text += end - at > 3 ? `!${end - at}${character}` : character.repeat(end - at);
    at = end;
  }
  return text;
}

/** The colours of an image that has at most 256. */
function exactColors(pixels: Pixels): Colored | undefined {
  const indexed = toIndexed(pixels);
  if (indexed === undefined) return undefined;
  const { palette: rgba, indices } = indexed;
  const isDrawn = (color: number) => rgba[color * 4 + 3]! >= MIN_ALPHA;
  return {
    palette: Array.from({ length: rgba.length / 4 }, (_, i) => straight(rgba, i * 4)),
    indices: Int16Array.from(indices, (color) => (isDrawn(color) ? color : TRANSPARENT)),
  };
}

interface ColorGroup {
  count: number;
  sum: [number, number, number];
}

/**
 * Groups similar colours. The palette has the mean colours of the groups with the most pixels, which are flat areas and text in
 * charts, and evenly spaced colours for the others.
 */
function frequentColors({ rgba, width, height }: Pixels): Colored {
  const groups = new Map<number, ColorGroup>();
  const keys = new Int32Array(width * height).fill(TRANSPARENT);
  for (let at = 0; at < keys.length; at++) {
    if (rgba[at * 4 + 3]! < MIN_ALPHA) continue;
    const rgb = straight(rgba, at * 4);
    // Five bits of each channel.
    const key = ((rgb[0] >> 3) << 10) | ((rgb[1] >> 3) << 5) | (rgb[2] >> 3);
    const group = groups.get(key) ?? ({ count: 0, sum: [0, 0, 0] } satisfies ColorGroup);
    groups.set(key, group);
    group.count++;
    for (const i of [0, 1, 2] as const) group.sum[i] += rgb[i];
    keys[at] = key;
  }
  const means = [...groups]
    .toSorted(([, a], [, b]) => b.count - a.count)
    .map(
      ([
        key,
        {
          count,
          sum: [r, g, b],
        },
      ]) => [key, [r / count, g / count, b / count]] as const,
    );
  const frequent = COLORS - SPACED.length;
  const palette = [...means.slice(0, frequent).map(([, rgb]) => rgb), ...SPACED];
  const numbers = new Map(means.map(([key, rgb], i) => [key, i < frequent ? i : nearest(palette, rgb)]));
  return { palette, indices: Int16Array.from(keys, (key) => numbers.get(key) ?? TRANSPARENT) };
}

/** The number of the colour with the smallest distance. */
function nearest(palette: Colored['palette'], [r, g, b]: Colored['palette'][number]): number {
  let best = 0;
  let least = Number.POSITIVE_INFINITY;
  for (const [i, [pr, pg, pb]] of palette.entries()) {
    const distance = (pr - r) ** 2 + (pg - g) ** 2 + (pb - b) ** 2;
    if (distance < least) [best, least] = [i, distance];
  }
  return best;
}

/** Red, green and blue of a pixel with premultiplied alpha. */
function straight(rgba: Uint8Array, at: number): [number, number, number] {
  const factor = 255 / Math.max(1, rgba[at + 3]!);
  const channel = (i: number) => Math.min(255, Math.round(rgba[at + i]! * factor));
  return [channel(0), channel(1), channel(2)];
}
