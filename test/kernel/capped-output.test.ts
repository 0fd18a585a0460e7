import { describe, expect, test } from 'vitest';
import { CappedOutput } from '../../src/kernel/capped-output.ts';

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
});
