import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, test } from 'vitest';
import { atOnce, finishInSlices, inSlices, SliceQueue } from '../../packages/core/src/concurrency/slices.ts';

/** Steps that each take a few milliseconds of processor time. */
function* steps(count: number, order: string[]): Generator<undefined, string> {
  for (let i = 0; i < count; i++) {
    const endMs = performance.now() + 3;
    while (performance.now() < endMs);
    order.push(`step ${i}`);
    yield;
  }
  return 'done';
}

describe('work in slices', () => {
  it('is complete at once if it is short', () => {
    const done: string[] = [];
    inSlices(
      steps(0, []),
      (value) => done.push(value),
      () => {},
    );
    expect(done).toEqual(['done']);
  });

  it('lets other work run in between if it is long', async () => {
    const order: string[] = [];
    const work = finishInSlices(steps(20, order));
    await nextTurn();
    order.push('other work');
    expect(await work).toBe('done');
    expect(order).toHaveLength(21);
    expect(order.at(-1)).toBe('step 19');
    expect(order.indexOf('other work')).toBeGreaterThan(0);
  });

  it('continues only one work in each turn of the event loop', async () => {
    let turn = 0;
    const count = () => {
      turn++;
      timer = setImmediate(count);
    };
    let timer = setImmediate(count);
    const workersIn = new Map<number, Set<number>>();
    function* work(worker: number): Generator<undefined, void> {
      for (let i = 0; i < 4; i++) {
        const endMs = performance.now() + 9;
        while (performance.now() < endMs);
        workersIn.set(turn, (workersIn.get(turn) ?? new Set()).add(worker));
        yield;
      }
    }
    await Promise.all([1, 2, 3].map((worker) => finishInSlices(work(worker))));
    clearImmediate(timer);
    // All of them start at once.
    expect(workersIn.get(0)?.size).toBe(3);
    workersIn.delete(0);
    expect([...workersIn.values()].map(({ size }) => size)).toEqual(Array(9).fill(1));
  });

  it('reports the exception of a step', async () => {
    const failing = (function* (): Generator<undefined, never> {
      yield;
      throw new Error('no');
    })();
    await expect(finishInSlices(failing)).rejects.toThrow('no');
  });

  it('can run at once', () => {
    expect(atOnce(steps(2, []))).toBe('done');
  });
});

test('a queue of slices runs one slice per turn, and keys take turns', async () => {
  const turns: (() => void)[] = [];
  const queue = new SliceQueue(1, (run) => void turns.push(run));
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
