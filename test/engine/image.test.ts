import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { readImage } from '../../packages/core/src/engine/image.ts';
import { IMAGE_FORMAT } from '../../packages/core/src/engine/image-identity.ts';
import { encodeFrame } from '../../packages/core/src/framing/frame.ts';

const folder = new URL('../../packages/core/dist/guests/python/', import.meta.url);
const { origin } = JSON.parse(readFileSync(new URL('guest.json', folder), 'utf8'));
const image = new Uint8Array(readFileSync(new URL('boot.image', folder)));

describe('image', () => {
  test('records its origin and contains only memory that is not zero', () => {
    const { header, segments } = readImage(image, origin);
    expect(header).toMatchObject({ ...origin, cwd: '/app', umask: 0o022 });
    expect(segments.reduce((sum, segment) => sum + segment.bytes.length, 0)).toBeLessThan(
      header.pages * 65_536,
    );
  });

  test.each([0, 4, 8, 12, 100, 4096, 1_000_000, -1, -33])('is rejected when byte %i is corrupted', (at) => {
    const damaged = image.slice();
    const index = at < 0 ? damaged.length + at : at;
    damaged[index] = damaged[index]! ^ 0x40;
    expect(() => readImage(damaged, origin)).toThrow(expect.objectContaining({ code: 'image_invalid' }));
  });

  test.each([0, 10, 47, 4096, 1_000_000])('is rejected when it is truncated to %i bytes', (length) => {
    expect(() => readImage(image.slice(0, length), origin)).toThrow(
      expect.objectContaining({ code: 'image_invalid' }),
    );
  });

  test.each(['runtime', 'module', 'layers'])(
    'is rejected with a message that names the %s when it was built for another one',
    (part) => {
      expect(() => readImage(image, { ...origin, [part]: 'other' })).toThrow(`"${part}" is`);
    },
  );

  test.each([
    ['null', (): unknown => null],
    ['a missing field', ({ umask: _, ...rest }: object & { umask?: number }) => rest],
    ['more pages than a memory can have', (header: object) => ({ ...header, pages: 2 ** 32 })],
    ['a handle that is not a number', (header: object) => ({ ...header, handles: { run: 'x' } })],
  ])('is rejected when its header is %s, even under a correct digest', (_, change) => {
    const header = { ...origin, pages: 4, globals: {}, cwd: '/app', umask: 18, handles: {} };
    const text = Buffer.from(JSON.stringify(change(header)));
    const padding = new Uint8Array(4096 - 16 - text.length);
    const forged = encodeFrame(
      { magic: 'LWSI', version: IMAGE_FORMAT, fields: 2 },
      [text.length, 0],
      [text, padding],
    );
    expect(() => readImage(forged, origin)).toThrow(expect.objectContaining({ code: 'image_invalid' }));
  });
});
