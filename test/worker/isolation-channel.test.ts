/** What a process that runs guests may send: frames are bounded before they are kept, and values are counted while they are decoded. */
import { describe, expect, test } from 'vitest';
import {
  ChannelError,
  decodeUntrusted,
  encodeUntrusted,
  frame,
  MessageFrames,
} from '../../packages/core/src/worker/isolation/isolation-channel.ts';

const BODY_AT = 6;
const decode = (value: unknown) => decodeUntrusted(encodeUntrusted(value).subarray(BODY_AT));
/** A body with these values and attachments. */
function body(values: Uint8Array, attachments = Buffer.alloc(0)): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(values.length);
  return Buffer.concat([length, values, attachments]);
}

describe('the channel of a process with guests', () => {
  test('carries plain data unchanged', () => {
    const data = {
      texts: ['', 'é\u00ff', '日本', '\ud800 lone', 'x'.repeat(100_000)],
      numbers: [0, -0, 1.5, -1e300, Number.NaN, Number.MAX_SAFE_INTEGER],
      others: [true, false, null, undefined],
      bytes: [new Uint8Array(0), Uint8Array.from([1, 2, 3]), new Uint8Array(100_000).fill(7)],
      ['__proto__']: { polluted: true },
    };
    const found = decode(data) as typeof data;
    expect(found).toEqual(data);
    expect(Object.getPrototypeOf(found)).toBe(Object.prototype);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  test('delivers frames however they are cut', () => {
    const sent = Array.from({ length: 50 }, (_, i) => Buffer.alloc(i * 37, i));
    const stream = Buffer.concat(sent.map((part) => frame(part)));
    for (const size of [1, 5, 7, 1000, stream.length]) {
      const received: Buffer[] = [];
      const reader = new MessageFrames(
        () => 10_000,
        (one) => received.push(Buffer.from(one)),
      );
      for (let at = 0; at < stream.length; at += size) reader.push(stream.subarray(at, at + size));
      expect(received).toEqual(sent);
    }
  });

  // guarantee: separate-process
  // proves: A frame of a process with guests that is larger than its jobs allow is refused before its contents arrive.
  test('refuses a frame that is too large before its contents arrive', () => {
    const reader = new MessageFrames(
      () => 1000,
      () => {},
    );
    reader.push(frame(Buffer.alloc(1000)));
    const header = frame(Buffer.alloc(1001)).subarray(0, BODY_AT);
    reader.push(header.subarray(0, 5));
    expect(() => reader.push(header.subarray(5))).toThrow(ChannelError);
  });

  const [ARRAY, OBJECT, NULL] = [8, 9, 1];
  const forged: Record<string, () => Buffer> = {
    'millions of values': () =>
      body(Buffer.from(encodeUntrusted(new Array(2_000_001).fill(null)).subarray(10))),
    'deep nesting': () => body(Buffer.alloc(200_000, Buffer.from([ARRAY, 1]))),
    'more items than bytes': () => body(Buffer.from([ARRAY, 0xff, 0xff, 0xff, 0xff, 0x0f, NULL])),
    'a key that is not a text': () => body(Buffer.from([OBJECT, 1, NULL, NULL])),
    'an unknown value': () => body(Buffer.from([200])),
    'a text that is cut off': () => body(Buffer.from([5, 100, 65])),
    'bytes that are cut off': () => body(Buffer.from([7, 100]), Buffer.alloc(99)),
    'bytes that belong to no value': () => body(Buffer.from([NULL]), Buffer.alloc(1)),
    'two values': () => body(Buffer.from([NULL, NULL])),
    'values beyond the body': () => body(Buffer.from([NULL])).fill(0xff, 0, 4),
    'no values': () => Buffer.alloc(0),
  };

  // guarantee: separate-process
  // proves: Values of a process with guests are counted while they are decoded; data that is not plain and complete is refused.
  test.each(Object.entries(forged))('refuses %s', (_, make) => {
    expect(() => decodeUntrusted(make())).toThrow(ChannelError);
  });
});
