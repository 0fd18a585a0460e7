import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CappedOutput } from '../../packages/core/src/kernel/capped-output.ts';
import { repetitions } from '../support/repetitions.ts';

const bytes = (text: string) => new TextEncoder().encode(text);

describe('capped output', () => {
  test('stores bytes up to the limit and counts the rest', () => {
    const output = new CappedOutput(10);
    expect(output.push(bytes('12345678'))).toHaveLength(8);
    expect(output.push(bytes('90abc'))).toHaveLength(2);
    expect(output.push(new Uint8Array(1_000_000))).toHaveLength(0);
    expect(output.text()).toBe('1234567890');
    expect(output.dropped).toBe(1_000_003);
  });

  test.each(['é', '☃', '😀'])('omits %s when the cap cuts it', (character) => {
    for (let limit = 1; limit < bytes(character).length; limit++) {
      const output = new CappedOutput(2 + limit);
      output.push(bytes(`ok${character}`));
      expect(output.text()).toBe('ok');
    }
  });

  test('replaces bytes that are not UTF-8', () => {
    const output = new CappedOutput(100);
    output.push(new Uint8Array([0x61, 0xff, 0x62]));
    expect(output.text()).toBe('a�b');
  });

  test('keeps the text within the cap although replacement characters are longer', () => {
    const output = new CappedOutput(1000);
    output.push(new Uint8Array(990).fill(0xff));
    expect(output.text()).toBe('\ufffd'.repeat(333));
    expect(output.dropped).toBeGreaterThan(600);
    expect(output.text()).toBe('\ufffd'.repeat(333));
  });

  // guarantee: output-limit
  // proves: Capped output stays within its limit, and every byte is either accepted or counted as dropped.
  test('accepts exactly the bytes of its text, however they are split', () => {
    const byte = fc.oneof(
      fc.constantFrom(
        0x41,
        0x80,
        0xbf,
        0xc2,
        0xe0,
        0xe2,
        0x98,
        0x83,
        0xed,
        0xa0,
        0xf0,
        0x9f,
        0xf4,
        0xff,
        0xef,
        0xbb,
      ),
      fc.integer({ min: 0, max: 255 }),
    );
    const chunks = fc.array(fc.array(byte, { maxLength: 8 }), { maxLength: 8 });
    fc.assert(
      fc.property(chunks, fc.integer({ min: 0, max: 60 }), (written, limit) => {
        const all = Uint8Array.from(written.flat());
        const output = new CappedOutput(limit);
        const accepted = written.map((chunk) => [...output.push(Uint8Array.from(chunk))]);
        accepted.push([...output.finish()]);
        const decode = (data: Uint8Array) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(data);
        const text = output.text();
        expect(decode(Uint8Array.from(accepted.flat()))).toBe(text);
        expect(accepted.flat().length + output.dropped).toBe(all.length);
        expect(bytes(text).length).toBeLessThanOrEqual(limit);
        expect(decode(all).startsWith(text)).toBe(true);
        if (bytes(decode(all)).length <= limit) expect(text).toBe(decode(all));
      }),
      { numRuns: repetitions(500, 5_000) },
    );
  });

  test('drops everything after the first byte that does not fit', () => {
    const output = new CappedOutput(4);
    output.push(bytes('ab☃'));
    output.push(bytes('cd'));
    expect([output.text(), output.dropped]).toEqual(['ab', 5]);
  });
});
