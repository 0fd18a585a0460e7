import { describe, expect, test } from 'vitest';
import { sha256, splitDigest } from '../../packages/core/src/framing/digest.ts';
import { decodeFrame, encodeFrame, FrameError } from '../../packages/core/src/framing/frame.ts';
import { decodeJsonHeader, encodeJsonHeader } from '../../packages/core/src/framing/json-header.ts';

const FORMAT = { magic: 'TEST', version: 3, fields: 2 };
const bytes = (text: string) => new TextEncoder().encode(text);
const frame = encodeFrame(FORMAT, [7, 0xffff_ffff], [bytes('ab'), bytes('c')]);

const problemOf = (action: () => unknown) => {
  try {
    action();
  } catch (cause) {
    return cause instanceof FrameError ? cause.problem : cause;
  }
  return undefined;
};

describe('frame', () => {
  test('has the documented layout', () => {
    const head = Buffer.concat([bytes('TEST'), Buffer.from([3, 0, 0, 0, 7, 0, 0, 0, 255, 255, 255, 255])]);
    const content = Buffer.concat([head, bytes('abc')]);
    expect(Buffer.from(frame)).toEqual(Buffer.concat([content, sha256(content)]));
  });

  test('decodes to what was encoded, even from shared memory', () => {
    const shared = new Uint8Array(new SharedArrayBuffer(frame.length));
    shared.set(frame);
    for (const source of [frame, shared]) {
      const { fields, body, digest } = decodeFrame(FORMAT, source);
      expect(fields).toEqual([7, 0xffff_ffff]);
      expect(Buffer.from(body).toString()).toBe('abc');
      expect(digest).toEqual(Buffer.from(frame.slice(-32)));
    }
  });

  test('is rejected when any byte is corrupted', () => {
    for (let at = 0; at < frame.length; at++) {
      const corrupted = frame.slice();
      corrupted[at]! ^= 0x10;
      const expected = at < 4 ? 'magic' : at < 8 ? 'version' : 'digest';
      expect(problemOf(() => decodeFrame(FORMAT, corrupted))).toBe(expected);
    }
  });

  test('is rejected at any shorter length', () => {
    for (let length = 0; length < frame.length; length++) {
      const expected = length < 16 + 32 ? 'truncated' : 'digest';
      expect(problemOf(() => decodeFrame(FORMAT, frame.subarray(0, length)))).toBe(expected);
    }
  });

  test('reports the version it has', () => {
    const other = encodeFrame({ ...FORMAT, version: 4 }, [1, 2], []);
    expect(() => decodeFrame(FORMAT, other)).toThrow('it has format 4, but this version reads 3');
  });
});

describe('JSON header', () => {
  test('is separated from the data that follows it', () => {
    const { header, data } = decodeJsonHeader(Buffer.concat([encodeJsonHeader({ a: 'ü' }), bytes('data')]));
    expect(header).toEqual({ a: 'ü' });
    expect(Buffer.from(data).toString()).toBe('data');
  });

  test('is rejected when it is cut off or not JSON', () => {
    const whole = encodeJsonHeader({ a: 1 });
    for (let length = 0; length < whole.length; length++)
      expect(problemOf(() => decodeJsonHeader(whole.subarray(0, length)))).toBe('header');
    expect(problemOf(() => decodeJsonHeader(Uint8Array.of(1, 0, 0, 0, 0x7b)))).toBe('header');
  });
});

describe('digest at the end', () => {
  test('is split off only when it matches', () => {
    const content = bytes('content');
    const whole = Buffer.concat([content, sha256(content)]);
    expect(splitDigest(whole)?.content).toEqual(Buffer.from(content));
    whole[0]! ^= 1;
    expect(splitDigest(whole)).toBeUndefined();
    expect(splitDigest(content)).toBeUndefined();
  });
});
