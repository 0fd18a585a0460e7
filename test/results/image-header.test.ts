import { describe, expect, it } from 'vitest';
import { isDecodable, readImageHeader } from '../../packages/core/src/results/image-header.ts';

const bytes = (...parts: (string | number[])[]) =>
  new Uint8Array(
    parts.flatMap((part) => (typeof part === 'string' ? [...Buffer.from(part, 'latin1')] : part)),
  );
const u32 = (value: number) => [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];
const zeros = (count: number) => new Array<number>(count).fill(0);

const png = (width: number, height: number) =>
  bytes('\x89PNG\r\n\x1a\n', u32(13), 'IHDR', u32(width), u32(height), [8, 2, 0, 0, 0], u32(0));
const jpeg = bytes(
  [0xff, 0xd8],
  [0xff, 0xe0, 0, 16, ...zeros(14)],
  [0xff, 0xc4, 0, 4, 0, 0],
  [0xff, 0xc2, 0, 17, 8, 0, 30, 0, 40, ...zeros(12)],
);
const gif = bytes('GIF89a', [44, 1, 200, 0, 0, 0, 0]);
const lossy = bytes('RIFF', u32(0), 'WEBP', 'VP8 ', zeros(10), [100, 0, 50, 0]);
const lossless = bytes('RIFF', u32(0), 'WEBP', 'VP8L', zeros(5), [99, 64, 12, 0], zeros(5));
const extended = bytes('RIFF', u32(0), 'WEBP', 'VP8X', zeros(8), [99, 0, 0, 49, 0, 0]);

describe('image header', () => {
  it.each([
    ['PNG', png(640, 480), { mime: 'image/png', width: 640, height: 480 }],
    ['progressive JPEG after other segments', jpeg, { mime: 'image/jpeg', width: 40, height: 30 }],
    ['GIF', gif, { mime: 'image/gif', width: 300, height: 200 }],
    ['lossy WebP', lossy, { mime: 'image/webp', width: 100, height: 50 }],
    ['lossless WebP', lossless, { mime: 'image/webp', width: 100, height: 50 }],
    ['extended WebP', extended, { mime: 'image/webp', width: 100, height: 50 }],
  ])('has the dimensions of the image: %s', (_, image, header) => {
    expect(readImageHeader(image)).toEqual(header);
  });

  it.each([0x01, 0xd0, 0xd8])(
    'of a JPEG has no other dimensions after the marker %s, which has no length',
    (marker) => {
      const comment = [0xff, 0xfe, 0xff, 0xfd, ...zeros(0xfffb)];
      // A reader that takes the marker of the comment for a length ends in the next comment, at a false frame.
      const hidden = [0xff, 0xfe, 0, 30, ...[0xff, 0xc0, 0, 17, 8, 0, 1, 0, 1], ...zeros(19)];
      for (let offset = 0; offset < 8; offset++) {
        const pad = [0xff, 0xfe, 0, 2 + offset, ...zeros(offset)];
        const frame = [0xff, 0xc0, 0, 17, 8, 0, 30, 0, 40, ...zeros(12)];
        const image = bytes([0xff, 0xd8, 0xff, marker], comment, pad, hidden, frame);
        expect(readImageHeader(image)).toEqual({ mime: 'image/jpeg', width: 40, height: 30 });
      }
    },
  );

  it('of a GIF has the size of its largest frame', () => {
    const frame = [0x2c, 0, 0, 0, 0, 0x60, 0xea, 0x60, 0xea, 0, 2, 1, 0, 0];
    const image = bytes(
      [...Buffer.from('GIF89a')],
      [1, 0, 1, 0, 0x80, 0, 0],
      zeros(6),
      [0x21, 0xf9, 1, 0, 0],
      frame,
      [0x3b],
    );
    expect(readImageHeader(image)).toEqual({ mime: 'image/gif', width: 60_000, height: 60_000 });
  });

  it('is undefined for every truncated image', () => {
    for (const image of [png(1, 1), jpeg, gif, lossy, lossless, extended])
      for (let length = 0; length < 13; length++)
        expect(readImageHeader(image.subarray(0, length))).toBeUndefined();
  });

  it('is undefined for other content, regardless of its signature', () => {
    for (const text of [
      '<svg/>',
      '<!DOCTYPE html>',
      '%PDF-1.7',
      'PNG',
      '\x89PNG\r\n\x1a\nnot an image at all, no header',
    ])
      expect(readImageHeader(bytes(text, zeros(40)))).toBeUndefined();
    expect(readImageHeader(png(0, 5))).toBeUndefined();
  });

  it('is read in bounded time from a JPEG with endless segments', () => {
    const segments = new Uint8Array(8_000_000).fill(0xff);
    segments.set([0xff, 0xd8, 0xff]);
    expect(readImageHeader(segments)).toBeUndefined();
  });

  it('rejects dimensions that are too large to decode', () => {
    const of = (width: number, height: number) => isDecodable(readImageHeader(png(width, height))!);
    expect([of(8000, 8000), of(16_384, 100), of(100_000, 10), of(10, 100_000), of(16_000, 16_000)]).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
    expect(of(0xffffffff, 0xffffffff)).toBe(false);
  });
});
