import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { readImage } from '../../src/engine/image.ts';

const folder = new URL('../../dist/guests/python/', import.meta.url);
const { origin } = JSON.parse(readFileSync(new URL('guest.json', folder), 'utf8'));
const image = new Uint8Array(readFileSync(new URL('boot.image', folder)));

describe('an image', () => {
  test('says what it belongs to and covers just the memory that is not zero', () => {
    const { header, segments } = readImage(image, origin);
    expect(header).toMatchObject({ ...origin, cwd: '/app', umask: 0o022 });
    expect(segments.reduce((sum, run) => sum + run.bytes.length, 0)).toBeLessThan(header.pages * 65_536);
  });

  test.each([0, 4, 8, 12, 100, 4096, 1_000_000, -1, -33])('that is damaged at byte %i is noticed', (at) => {
    const damaged = image.slice();
    const index = at < 0 ? damaged.length + at : at;
    damaged[index] = damaged[index]! ^ 0x40;
    expect(() => readImage(damaged, origin)).toThrow(expect.objectContaining({ code: 'image_invalid' }));
  });

  test.each([0, 10, 47, 4096, 1_000_000])('that is cut to %i bytes is noticed', (length) => {
    expect(() => readImage(image.slice(0, length), origin)).toThrow(
      expect.objectContaining({ code: 'image_invalid' }),
    );
  });

  test.each(['runtime', 'module', 'layers'])(
    'that was made for another %s is refused by that name',
    (part) => {
      expect(() => readImage(image, { ...origin, [part]: 'other' })).toThrow(`another ${part}`);
    },
  );
});
