import { expect, test } from 'vitest';
import { SliceQueue } from '../../src/concurrency/slices.ts';

test('one slice runs per turn, and keys take turns', async () => {
  const turns: (() => void)[] = [];
  const queue = new SliceQueue((run) => void turns.push(run));
  const order: string[] = [];
  const work = async (key: string, slices: number) => {
    for (let i = 0; i < slices; i++) {
      await queue.next(key);
      order.push(key);
    }
  };
  const all = [work('burst', 3), work('burst', 3), work('other', 2)];
  const perTurn: number[] = [];
  for (let turn = turns.shift(); turn !== undefined; turn = turns.shift()) {
    const before = order.length;
    turn();
    await new Promise(setImmediate);
    perTurn.push(order.length - before);
  }
  await Promise.all(all);
  expect(perTurn).toEqual(Array.from({ length: 8 }, () => 1));
  expect(order.slice(0, 4)).toEqual(['burst', 'other', 'burst', 'other']);
});
