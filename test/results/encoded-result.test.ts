import { describe, expect, it } from 'vitest';
import { decodeResult, encodeResult } from '../../packages/core/src/results/encoded-result.ts';

const RESULT = { id: 'r1', is_main_result: false, mime: 'application/json', size_bytes: 2 };
const isParsed = (result: object) => Object.getOwnPropertyDescriptor(result, 'json')?.get === undefined;

describe('an encoded result', () => {
  it('is parsed when its data is read, and only once', () => {
    const result = decodeResult({ ...RESULT, json: '{"a":[1]}', data: '{"x":[1]}', chart: '{}' });
    expect([isParsed(result), Object.keys(result)]).toEqual([
      false,
      ['id', 'is_main_result', 'mime', 'size_bytes', 'json', 'data', 'chart'],
    ]);
    expect(result.json).toEqual({ a: [1] });
    expect(result.json).toBe(result.json);
    expect(JSON.parse(JSON.stringify(result))).toEqual({
      ...RESULT,
      json: { a: [1] },
      data: { x: [1] },
      chart: {},
    });
  });

  it('is encoded again without parsing', () => {
    const encoded = { ...RESULT, json: '[1]' };
    const result = decodeResult(encoded);
    expect(encodeResult(result)).toBe(encoded);
    expect(isParsed(result)).toBe(false);
    expect(encodeResult({ ...RESULT, json: [1] })).toEqual(encoded);
  });

  it('has no data if its text is invalid, too deep or too large', () => {
    const texts = ['{', '['.repeat(200) + ']'.repeat(200), `[${'0,'.repeat(400_000)}0]`];
    expect(texts.map((json) => decodeResult({ ...RESULT, json }).json)).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    const polluted = decodeResult({ ...RESULT, json: '{"__proto__":{"a":1}}' }).json as object;
    expect(Object.getOwnPropertyNames(polluted)).toEqual([]);
  });
});
