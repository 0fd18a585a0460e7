/** Limits of showing an image or SVG of a program, which docs/RESULTS.md states. */
import { readFileSync } from 'node:fs';
import { describe, expect, it, test } from 'vitest';
import { type DrawingLimits, PICTURE_LIMITS } from '../../packages/core/src/charts/chart-limits.ts';
import { formatBytes, formatFuel } from '../../packages/core/src/quantities.ts';

// The rasteriser is read from the built files.
const { convertPicture } = (await import(
  new URL('../../packages/core/dist/worker/thread/convert-picture.js', import.meta.url).href
)) as typeof import('../../packages/core/src/worker/thread/convert-picture.ts');

const SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="700" height="700"><circle r="700"/></svg>';
const size = { maxEdge: 100, maxBytes: 100_000 } as const;

const draw = (source: string | Uint8Array, limits?: Partial<DrawingLimits>) => {
  let fuel = 0;
  const cancel = new Int32Array(new SharedArrayBuffer(4));
  const control = { cancel, cancelValue: -1, onSlice: (used: number) => (fuel = used) };
  const drawn = convertPicture({ type: 'picture', source, limits: size }, control, {
    ...PICTURE_LIMITS,
    ...limits,
  });
  return { drawn, fuel };
};

/** The start of a PNG with these dimensions, followed by zeros. */
function pngOf(width: number, height: number, bytes: number): Uint8Array {
  const png = Buffer.alloc(bytes);
  png.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13]);
  png.write('IHDR', 12, 'latin1');
  png.writeUInt32BE(width, 16);
  png.writeUInt32BE(height, 20);
  png.set([8, 2], 24);
  return png;
}

describe('drawing a picture', () => {
  test.each([
    ['fuel', { fuel: 1_000_000 }, 'drawing it takes too much fuel'],
    ['time', { timeMs: 0 }, 'drawing it takes too long'],
    ['memory', { memoryBytes: 4 * 1024 * 1024 }, 'takes too much memory'],
  ])('is stopped by the limit of its %s', (_, limits, problem) => {
    expect(draw(SVG, limits).drawn).toEqual({
      problem: expect.stringMatching(new RegExp(`${problem}\\. Make the image smaller or simpler$`)),
    });
  });

  // Fuel that is enough for the same images with ordinary values.
  const SMALL = { fuel: 80_000_000 };
  const svg = (content: string) =>
    `<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20">${content}</svg>`;
  const turbulence = (octaves: number) =>
    svg(
      `<filter id="f" x="0" y="0" width="1" height="1"><feTurbulence baseFrequency="0.9" numOctaves="${octaves}"/></filter><rect width="40" height="20" filter="url(#f)"/>`,
    );
  const markers = (count: number) =>
    svg(
      `<marker id="m" markerWidth="1500" markerHeight="1500"><rect width="1500" height="1500" opacity="0.5"/></marker><path marker-mid="url(#m)" d="M0 0${'h1v1'.repeat(count)}"/>`,
    );
  const text = (size: string, count: number) =>
    svg(`<text font-size="${size}" y="1000">${'text and more text'.repeat(count)}</text>`);

  test.each([
    ['filters', turbulence(2), turbulence(1_000_000)],
    ['markers', markers(1), markers(5000)],
    ['text', text('10', 1), text('1e6', 20_000)],
  ])('is stopped by its fuel limit because of costly %s', (_, cheap, costly) => {
    expect(draw(cheap, SMALL).drawn).toMatchObject({ width: 80, height: 40 });
    expect(draw(costly, SMALL).drawn).toEqual({
      problem: 'drawing it takes too much fuel. Make the image smaller or simpler',
    });
  });

  it('succeeds within the limits and reports its fuel', () => {
    const { drawn, fuel } = draw(SVG);
    expect(drawn).toMatchObject({ width: 100, height: 100 });
    expect(fuel).toBeGreaterThan(1_000_000);
  });

  test.each([
    ['bytes', pngOf(4, 4, PICTURE_LIMITS.bytes + 1), 'it has 16,777,217 bytes, and the limit is 16 MiB'],
    [
      'data',
      pngOf(4000, 6000, 1000),
      'it is damaged: its header promises 4000 × 6000 pixels, which do not fit into its 1,000 bytes',
    ],
    ['pixels', pngOf(4001, 6000, 100), 'it has 4001 × 6000 pixels, and the limit is 24,000,000'],
  ])('does not decode an image above the limit of its %s', (_, image, problem) => {
    expect(draw(image)).toEqual({ drawn: { problem }, fuel: 0 });
  });

  it('has the limits that docs/RESULTS.md states', () => {
    const { pixels, bytes, fuel, timeMs, memoryBytes } = PICTURE_LIMITS;
    const sentence = `limits of ${pixels / 1e6} million pixels, ${formatBytes(bytes)} of image data, ${formatFuel(fuel)} fuel, ${timeMs / 1000} seconds and ${formatBytes(memoryBytes)} of memory`;
    const document = readFileSync(new URL('../../docs/RESULTS.md', import.meta.url), 'utf8');
    expect(document.replaceAll('\n', ' ')).toContain(sentence);
  });
});
