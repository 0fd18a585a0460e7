/** The texts for traps do not depend on the version of V8. */
import { describe, expect, test } from 'vitest';
import { classifyException } from '../../packages/core/src/engine/guest.ts';

const NOTHING_FULL = { isStackFull: false, isMemoryFull: false };
const messageOf = (text: string) =>
  classifyException(new WebAssembly.RuntimeError(text), NOTHING_FULL).message;

describe('the message of a trap', () => {
  test.each([
    ['unreachable', 'an unreachable instruction was executed'],
    ['memory access out of bounds', 'memory was accessed out of bounds'],
    ['operation does not support unaligned accesses', 'memory was accessed out of bounds'],
    ['divide by zero', 'an integer was divided by zero'],
    ['remainder by zero', 'an integer was divided by zero'],
    ['divide result unrepresentable', 'the result of an integer division is too large'],
    ['float unrepresentable in integer range', 'a number is too large for an integer'],
    [
      'null function or function signature mismatch',
      'a function was called that is null or has another signature',
    ],
    ['indirect call signature mismatch', 'a function was called that is null or has another signature'],
    ['table index is out of bounds', 'a table was accessed out of bounds'],
    ['a message of a later version', 'an instruction failed'],
  ])('of V8 "%s" is "%s"', (text, message) => {
    expect(messageOf(text)).toBe(message);
  });

  test('of this V8 is known', () => {
    // (func unreachable)
    const bytes = [
      0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 7, 5, 1, 1, 102, 0, 0, 10, 5, 1, 3, 0, 0,
      11,
    ];
    const instance = new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array(bytes)));
    try {
      (instance.exports['f'] as () => void)();
    } catch (cause) {
      expect(classifyException(cause, NOTHING_FULL)).toEqual({
        reason: 'unreachable',
        message: 'an unreachable instruction was executed',
      });
    }
    expect.assertions(1);
  });

  test('of a full stack is fixed', () => {
    expect(classifyException(new RangeError('Maximum call stack size exceeded'), NOTHING_FULL)).toEqual({
      reason: 'stack_overflow',
      message: 'the stack of the host is full',
    });
  });
});
