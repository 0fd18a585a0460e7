import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { forEachConcurrently } from '../../packages/core/src/concurrency/for-each-concurrently.ts';

describe('forEachConcurrently', () => {
  test('runs every task, at most eight at a time', async () => {
    const done: number[] = [];
    let running = 0;
    let most = 0;
    await forEachConcurrently(
      Array.from({ length: 50 }, (_, i) => i),
      async (item) => {
        most = Math.max(most, ++running);
        await sleep(1);
        running--;
        done.push(item);
      },
    );
    expect(done.sort((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, i) => i));
    expect(most).toBe(8);
  });

  test('throws the first error once all running tasks have ended, and starts no further task', async () => {
    let started = 0;
    let running = 0;
    const run = forEachConcurrently(Array(100).keys(), async (item) => {
      started++;
      running++;
      await sleep(item === 3 ? 1 : 10);
      running--;
      if (item >= 3) throw new Error(`task ${item}`);
    });
    await expect(run).rejects.toThrow('task 3');
    expect(running).toBe(0);
    expect(started).toBe(8);
  });

  test('does not block the event loop with tasks that never wait', async () => {
    let turns = 0;
    const timer = setInterval(() => turns++, 0);
    const end = Date.now() + 50;
    await forEachConcurrently(Array(1_000_000).keys(), async () => {
      if (Date.now() > end && turns > 0) throw new Error('stop');
    }).catch(() => {});
    clearInterval(timer);
    expect(turns).toBeGreaterThan(0);
  });
});
