/** Images are reduced by averaging and written as PNG within limits. */
import { describe, expect, it } from 'vitest';
import { isTransparent, type Pixels, toPng } from '../../src/charts/pixels.ts';
import { decodePng } from '../support/png.ts';

/** An image with a color for each pixel, as straight RGBA. */
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
  it('has the colors of the pixels, with and without transparency', () => {
    const opaque = pixelsOf(37, 5, (x, y) => [x * 6, y * 50, (x * y) % 256, 255]);
    const { at } = draw(opaque);
    for (const [x, y] of [
      [0, 0],
      [36, 4],
      [20, 3],
    ] as const)
      expect(at(x, y)).toEqual([x * 6, y * 50, (x * y) % 256, 255]);
    const faint = draw(pixelsOf(3, 3, () => [255, 0, 0, 51]));
    expect(faint.at(1, 1)).toEqual([255, 0, 0, 51]);
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
