import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SLICE_BYTES } from '../../packages/core/src/concurrency/slices.ts';
import {
  decodeChunks,
  encodeContent,
  SlicedText,
  toBase64,
} from '../../packages/core/src/model-text/sliced-text.ts';

/** Counts the slices after the first one. */
function counter() {
  const counted = { waits: 0, nextSlice: async () => void counted.waits++ };
  return counted;
}
const now = async () => {};
const SIZE = 3 * SLICE_BYTES + 1000;
const TEXTS = {
  ascii: 'a'.repeat(SIZE),
  'two bytes': `x${'é'.repeat(SIZE / 2)}`,
  'three bytes': `${'漢'.repeat(SIZE / 3)}x`,
  'four bytes': `xyz${'😀'.repeat(SIZE / 4)}`,
};

describe('large contents are converted in slices', () => {
  test.each(Object.entries(TEXTS))('text of %s', async (_, text) => {
    const bytes = Buffer.from(text);
    const reading = counter();
    const sliced = (await SlicedText.of(bytes, reading.nextSlice))!;
    expect(reading.waits).toBeGreaterThanOrEqual(3);
    expect(sliced.chars).toBe(text.length);
    const waits = reading.waits;
    expect(await sliced.slice(0, 100)).toBe(text.slice(0, 100));
    expect(await sliced.slice(text.length - 101)).toBe(text.slice(-101));
    // Only the parts that are needed are decoded.
    expect(reading.waits - waits).toBeLessThanOrEqual(1);
    expect((await sliced.slice()) === text).toBe(true);
    const writing = counter();
    expect(Buffer.compare(await encodeContent(text, 'utf8', writing.nextSlice), bytes)).toBe(0);
    expect(writing.waits).toBeGreaterThanOrEqual(2);
    const receiving = counter();
    expect(
      (await decodeChunks([bytes.subarray(0, 5), bytes.subarray(5)], receiving.nextSlice)) === text,
    ).toBe(true);
    expect(receiving.waits).toBeGreaterThanOrEqual(3);
  });

  test('base64', async () => {
    const bytes = Buffer.from(Uint8Array.from({ length: SIZE }, (_, i) => i * 7));
    const encoding = counter();
    const text = await toBase64(bytes, encoding.nextSlice);
    expect(text === bytes.toString('base64')).toBe(true);
    expect(encoding.waits).toBeGreaterThanOrEqual(3);
    const wrapped = text.replaceAll(/.{76}/g, '$&\r\n');
    const decoding = counter();
    expect(Buffer.compare(await encodeContent(wrapped, 'base64', decoding.nextSlice), bytes)).toBe(0);
    expect(decoding.waits).toBeGreaterThanOrEqual(3);
  });
});

test('base64 text is accepted and decoded as Node does it, wherever it is divided', async () => {
  const base64 = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString('base64'));
  await fc.assert(
    fc.asyncProperty(base64, async (text) => {
      expect(Buffer.compare(await encodeContent(text, 'base64', now), Buffer.from(text, 'base64'))).toBe(0);
    }),
  );
  for (const invalid of [
    'a=b',
    'AAAA=A',
    '*',
    `${'A'.repeat(SIZE)}=${'A'.repeat(SIZE)}`,
    `${'A'.repeat(SIZE)}-`,
  ])
    await expect(encodeContent(invalid, 'base64', now)).rejects.toThrow(/not valid base64/);
});

test('binary data is not text: invalid UTF-8, zero bytes and many control characters', async () => {
  for (const bytes of [[0xff], [0x61, 0], [0xc3], Array.from({ length: SIZE }, () => 7)])
    expect(await SlicedText.of(Uint8Array.from(bytes), now)).toBeUndefined();
  const coloured = '\u001b[31mred\u001b[0m'.repeat(20);
  expect(await (await SlicedText.of(Buffer.from(coloured), now))!.slice()).toBe(coloured);
  const withMark = await SlicedText.of(Buffer.from('\ufefftext'), now);
  expect(await withMark!.slice()).toBe('text');
  expect(await (await SlicedText.of(new Uint8Array(0), now))!.slice()).toBe('');
});

test('the parts of any text are those of the whole text', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'grapheme' }), fc.nat(20), fc.nat(20), async (text, from, length) => {
      const plain = text.replaceAll(/[\p{Cc}\ufeff]/gu, '');
      const sliced = (await SlicedText.of(Buffer.from(plain), now))!;
      expect(await sliced.slice(from, from + length)).toBe(plain.slice(from, from + length));
    }),
  );
});

test('content with a lone surrogate is rejected instead of being changed', async () => {
  for (const text of ['\ud800', 'x\udc00y', `${'a'.repeat(SLICE_BYTES / 2 - 1)}\ud800b`, '\ud83d'])
    await expect(encodeContent(text, 'utf8', now)).rejects.toThrow(/lone surrogate/);
  const pair = `${'a'.repeat(SLICE_BYTES / 2 - 1)}😀b`;
  expect(Buffer.from(await encodeContent(pair, 'utf8', now)).toString()).toBe(pair);
});
