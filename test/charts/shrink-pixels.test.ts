/** Images are reduced by averaging and written as PNG within limits. */
import { describe, expect, it } from 'vitest';
import type { Pixels } from '../../packages/core/src/charts/indexed-pixels.ts';
import { isTransparent, toPng } from '../../packages/core/src/charts/shrink-pixels.ts';
import { decodePng } from '../support/png.ts';

/** An image with a colour for each pixel, as straight RGBA. */
function pixelsOf(
  width: number,
  height: number,
  color: (x: number, y: number) => readonly [number, number, number, number],
): Pixels {
  const rgba = new Uint8Array(width * height * 4);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const [r, g, b, a] = color(x, y);
      const premultiplied = [r, g, b].map((channel) => Math.round((channel * a) / 255));
      rgba.set([...premultiplied, a], (y * width + x) * 4);
    }
  return { width, height, rgba };
}

const UNLIMITED = { maxEdge: 10_000, maxBytes: Number.POSITIVE_INFINITY };
const draw = (pixels: Pixels, limits = UNLIMITED) => {
  const { png, width, height } = toPng(pixels, limits)!;
  const decoded = decodePng(Buffer.from(png).toString('base64'));
  expect([decoded.width, decoded.height]).toEqual([width, height]);
  return decoded;
};

describe('PNG of pixels', () => {
  // Rows are repeated, and there is one colour more than a palette can have.
  const many = (x: number, y: number) => [x * 2, (y >> 1) * 50, (x * (y >> 1)) % 256] as const;
  const few = (x: number, y: number) => [x % 2 ? 255 : 0, 0, (y >> 1) * 50] as const;
  it.each([
    ['few opaque colors', few, 255, true],
    ['few transparent colors', few, 51, true],
    ['many opaque colors', many, 255, false],
    ['many transparent colors', many, 255, false],
  ])('has the colors of the pixels: %s', (name, color, alpha, hasPalette) => {
    const [width, height] = [name.startsWith('few') ? 37 : 65, 8];
    const isFaint = (x: number, y: number) => name.endsWith('transparent colors') && x === 7 && y === 7;
    const expected = (x: number, y: number): [number, number, number, number] =>
      isFaint(x, y) ? [255, 0, 0, 51] : [...color(x, y), alpha];
    const drawn = draw(pixelsOf(width, height, expected));
    expect(drawn.hasPalette).toBe(hasPalette);
    for (let y = 0; y < height; y++)
      for (let x = 0; x < width; x++) expect(drawn.at(x, y)).toEqual(expected(x, y));
  });

  it('has a palette if it has up to 256 colors, wherever its pixels are in memory', () => {
    for (const colors of [256, 257]) {
      const { rgba, ...size } = pixelsOf(colors, 1, (x) => [x & 255, x >> 8, 0, 255]);
      const shifted = new Uint8Array(rgba.length + 1).subarray(1);
      shifted.set(rgba);
      const drawn = draw({ ...size, rgba: shifted });
      expect(drawn.hasPalette).toBe(colors === 256);
      expect(drawn.at(colors - 1, 0)).toEqual([(colors - 1) & 255, (colors - 1) >> 8, 0, 255]);
    }
  });

  it('is reduced to the longer edge by averaging areas', () => {
    const stripes = pixelsOf(300, 60, (x) => (x % 3 === 0 ? [0, 0, 0, 255] : [255, 255, 255, 255]));
    const third = draw(stripes, { ...UNLIMITED, maxEdge: 100 });
    expect([third.width, third.height]).toEqual([100, 20]);
    for (const x of [0, 50, 99]) expect(third.at(x, 7)).toEqual([170, 170, 170, 255]);
    // A pixel on the border of two areas counts for both.
    const uneven = draw(
      pixelsOf(10, 1, (x) => (x < 4 ? [0, 0, 0, 255] : [200, 200, 200, 255])),
      {
        ...UNLIMITED,
        maxEdge: 4,
      },
    );
    expect([0, 1, 2, 3].map((x) => uneven.at(x, 0)[0])).toEqual([0, 80, 200, 200]);
    expect(draw(stripes, { ...UNLIMITED, maxEdge: 1 }).height).toBe(1);
  });

  it('is reduced until it has at most the given number of bytes', () => {
    let state = 1;
    const noise = pixelsOf(200, 200, () => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
      return [state & 255, (state >> 8) & 255, (state >> 16) & 255, 255];
    });
    const { png, width, height } = toPng(noise, { maxEdge: 1000, maxBytes: 20_000 })!;
    expect(png.length).toBeLessThanOrEqual(20_000);
    expect([width, height]).toEqual([width, width]);
    expect(width).toBeGreaterThan(50);
    expect(toPng(noise, { maxEdge: 1000, maxBytes: 50 })).toBeUndefined();
  });

  it('is recognised as transparent only if no pixel is visible', () => {
    expect(isTransparent(pixelsOf(9, 9, () => [0, 0, 0, 0]))).toBe(true);
    expect(isTransparent(pixelsOf(9, 9, (x, y) => [0, 0, 0, x + y === 16 ? 1 : 0]))).toBe(false);
  });
});
