import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { SerialQueue } from '../../packages/core/src/concurrency/serial-queue.ts';

describe('SerialQueue', () => {
  test('runs one task at a time, in the order in which they were queued', async () => {
    const queue = new SerialQueue();
    const log: string[] = [];
    const task = (name: string, ms: number) => async () => {
      log.push(`${name} starts`);
      await sleep(ms);
      log.push(`${name} ends`);
      return name;
    };
    const results = await Promise.all([
      queue.run(task('a', 10)),
      queue.run(task('b', 1)),
      queue.run(() => 'c'),
    ]);
    expect(results).toEqual(['a', 'b', 'c']);
    expect(log).toEqual(['a starts', 'a ends', 'b starts', 'b ends']);
  });

  test('starts a task of runLater() after the caller has continued', async () => {
    const log: string[] = [];
    const queue = new SerialQueue();
    const done = queue.runLater(() => log.push('task'));
    await Promise.resolve();
    log.push('caller');
    await queue.run(() => log.push('next task'));
    await done;
    expect(log).toEqual(['caller', 'task', 'next task']);
  });

  test('does not start a task before run() has returned', async () => {
    const log: string[] = [];
    const done = new SerialQueue().run(() => log.push('task'));
    log.push('run returned');
    await done;
    expect(log).toEqual(['run returned', 'task']);
  });

  test('reports a failure to the caller of that task only and continues with the next task', async () => {
    const queue = new SerialQueue();
    const rejects = queue.run(async () => {
      throw new Error('rejected');
    });
    const throws = queue.run(() => {
      throw new Error('thrown');
    });
    const next = queue.run(async () => 'next');
    await expect(rejects).rejects.toThrow('rejected');
    await expect(throws).rejects.toThrow('thrown');
    await expect(next).resolves.toBe('next');
  });

  test('idle() waits for the tasks queued so far, failed ones included, and does not reject', async () => {
    const queue = new SerialQueue();
    await queue.idle();
    let finished = 0;
    const failing = queue.run(async () => {
      await sleep(5);
      finished++;
      throw new Error('fails');
    });
    failing.catch(() => {});
    void queue.run(async () => {
      await sleep(5);
      finished++;
    });
    await queue.idle();
    expect(finished).toBe(2);
  });
});
