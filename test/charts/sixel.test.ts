/** Sixel images, decoded again. */
import { describe, expect, it } from 'vitest';
import type { Pixels } from '../../src/charts/indexed-pixels.ts';
import { toSixel } from '../../src/charts/sixel.ts';
import { decodeSixel } from '../support/sixel.ts';

type Rgba = readonly [number, number, number, number];

/** An image of opaque or fully transparent pixels. */
function pixelsOf(width: number, height: number, color: (x: number, y: number) => Rgba): Pixels {
  const rgba = new Uint8Array(width * height * 4);
  for (let at = 0; at < width * height; at++) rgba.set(color(at % width, Math.floor(at / width)), at * 4);
  return { width, height, rgba };
}

/** The largest difference of a channel between an image and its Sixel form. */
function difference(pixels: Pixels): number {
  const { at } = decodeSixel(toSixel(pixels));
  let largest = 0;
  for (let i = 0; i < pixels.width * pixels.height; i++) {
    const drawn = at(i % pixels.width, Math.floor(i / pixels.width))!;
    for (const channel of [0, 1, 2] as const)
      largest = Math.max(largest, Math.abs(drawn[channel] - pixels.rgba[i * 4 + channel]!));
  }
  return largest;
}

describe('Sixel images', () => {
  it('have the colors of the pixels, and no transparent pixels', () => {
    // The height is not a multiple of the six rows of a band.
    const image = pixelsOf(23, 8, (x, y) => (x === y ? [0, 0, 0, 0] : [(x % 3) * 51, y * 17, 255, 255]));
    const { width, height, at } = decodeSixel(toSixel(image));
    expect([width, height]).toEqual([23, 8]);
    expect([at(7, 6), at(22, 7), at(3, 3), at(7, 7)]).toEqual([
      [51, 102, 255],
      [51, 120, 255],
      undefined,
      undefined,
    ]);
  });

  it('differ from images with up to 256 colors only by the rounding of the format', () => {
    expect(difference(pixelsOf(256, 7, (x) => [x, 255 - x, x >> 1, 255]))).toBeLessThanOrEqual(2);
  });

  it('have 256 colors if there are more: the most frequent ones, and others that are near', () => {
    // A background and 16 × 16 × 8 other colors.
    const image = pixelsOf(64, 64, (x, y) =>
      y < 32 ? [250, 250, 250, 255] : [(x & 15) << 4, (y & 15) << 4, (x >> 4) << 6, 255],
    );
    const { colors, at } = decodeSixel(toSixel(image));
    expect(colors).toBe(256);
    expect(at(0, 0)).toEqual([250, 250, 250]);
    expect(difference(image)).toBeLessThanOrEqual(34);
  });

  it('are short for rows of one color', () => {
    expect(toSixel(pixelsOf(1000, 6, () => [255, 0, 0, 255]))).toBe(
      '\x1bP0;1;0q"1;1;1000;6#0;2;100;0;0#0!1000~-\x1b\\',
    );
  });
});
