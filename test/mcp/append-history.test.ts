/** The checker of histories finds every kind of violation. */
import { describe, expect, test } from 'vitest';
import { type Operation, violations } from './append-history.ts';

const append = (item: string, at: readonly [number, number], more: Partial<Operation> = {}): Operation => ({
  list: 'l',
  kind: 'append',
  item,
  startMs: at[0],
  endMs: at[1],
  outcome: 'ok',
  ...more,
});
const read = (seen: readonly string[], at: readonly [number, number]): Operation => ({
  list: 'l',
  kind: 'read',
  startMs: at[0],
  endMs: at[1],
  outcome: 'ok',
  seen,
});
const check = (final: readonly string[], ...history: Operation[]) =>
  violations(history, new Map([['l', final]]));

describe('a history', () => {
  test('is accepted if its operations can be ordered', () => {
    const history = [
      append('a', [0, 5], { seen: ['a'] }),
      append('b', [1, 4], { seen: ['a', 'b'] }),
      append('c', [6, 7], { outcome: 'none' }),
      append('d', [6, 9], { outcome: 'unknown' }),
      read(['a', 'b'], [3, 8]),
    ];
    expect(check(['a', 'b'], ...history)).toEqual([]);
    expect(check(['a', 'b', 'd'], ...history)).toEqual([]);
  });

  test.each([
    ['lost', check([], append('a', [0, 1]))],
    ['twice', check(['a', 'a'], append('a', [0, 1], { outcome: 'unknown' }))],
    ['not appended by this history', check(['x'])],
    ['reported as not appended', check(['a'], append('a', [0, 1], { outcome: 'none' }))],
    ['saw another list', check(['a'], append('a', [0, 1]), read(['b'], [2, 3]))],
    ['appended at', check(['b', 'a'], append('b', [0, 9]), append('a', [0, 9], { seen: ['b'] }))],
    ['after another had seen', check(['a', 'b'], append('b', [0, 1]), append('a', [2, 3]))],
    ['after another had seen', check(['a'], append('a', [0, 1]), read([], [2, 3]))],
    ['seen before', check(['a'], read(['a'], [0, 1]), append('a', [2, 3], { outcome: 'unknown' }))],
  ])('is rejected with a message that contains "%s"', (text, found) => {
    expect(found.join()).toContain(text);
  });
});
