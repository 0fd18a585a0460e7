import { describe, expect, test } from 'vitest';
import { FairScheduler, QueueFullError } from '../../src/mcp/fair-scheduler.ts';
import { percentiles } from '../../src/mcp/metrics.ts';

const never = new AbortController().signal;
const settle = () => new Promise((next) => setImmediate(next));

/** Tasks that record when they start and end on request. */
function controlledTasks() {
  const order: string[] = [];
  const ends = new Map<string, () => void>();
  const work = (name: string) => () =>
    new Promise<string>((resolve) => {
      order.push(name);
      ends.set(name, () => resolve(name));
    });
  return { order, work, end: (name: string) => ends.get(name)!() };
}

describe('fair scheduler', () => {
  test('alternates between tenants, regardless of how many calls each has queued', async () => {
    const scheduler = new FairScheduler({ total: 1, perTenant: 1, queued: 10, tenants: 2 });
    const { order, work, end } = controlledTasks();
    for (const name of ['a1', 'a2', 'a3']) void scheduler.run('a', name, never, work(name));
    for (const name of ['b1', 'b2']) void scheduler.run('b', name, never, work(name));
    for (let i = 0; i < 5; i++) {
      await settle();
      end(order[i]!);
    }
    expect(order).toEqual(['a1', 'b1', 'a2', 'b2', 'a3']);
  });

  test('limits the running calls of one tenant', async () => {
    const scheduler = new FairScheduler({ total: 2, perTenant: 1, queued: 10, tenants: 2 });
    const { order, work } = controlledTasks();
    for (const name of ['a1', 'a2']) void scheduler.run('a', name, never, work(name));
    void scheduler.run('b', 'b1', never, work('b1'));
    await settle();
    expect(order).toEqual(['a1', 'b1']);
    expect([scheduler.running, scheduler.queued]).toEqual([2, 1]);
  });

  test('reserves a slot for every tenant that has nothing running', async () => {
    const scheduler = new FairScheduler({ total: 4, perTenant: 4, queued: 10, tenants: 3 });
    const { order, work, end } = controlledTasks();
    for (const name of ['a1', 'a2', 'a3', 'a4']) void scheduler.run('a', name, never, work(name));
    await settle();
    expect(order).toEqual(['a1', 'a2']);
    for (const name of ['b1', 'b2']) void scheduler.run('b', name, never, work(name));
    void scheduler.run('c', 'c1', never, work('c1'));
    await settle();
    expect(order).toEqual(['a1', 'a2', 'b1', 'c1']);
    end('c1');
    await settle();
    // The slot of c is reserved again.
    expect(order).toEqual(['a1', 'a2', 'b1', 'c1']);
    end('a1');
    await settle();
    expect(order).toEqual(['a1', 'a2', 'b1', 'c1', 'a3']);
  });

  test('runs calls with the same key in order, without holding a slot for them', async () => {
    const scheduler = new FairScheduler({ total: 2, perTenant: 2, queued: 10, tenants: 1 });
    const { order, work, end } = controlledTasks();
    void scheduler.run('a', 'session', never, work('first'));
    void scheduler.run('a', 'session', never, work('second'));
    void scheduler.run('a', 'other', never, work('other'));
    await settle();
    expect(order).toEqual(['first', 'other']);
    end('first');
    await settle();
    expect(order).toEqual(['first', 'other', 'second']);
  });

  test('frees the slot of a call that throws, and the queue entry of a cancelled call', async () => {
    const scheduler = new FairScheduler({ total: 1, perTenant: 1, queued: 1, tenants: 1 });
    await expect(scheduler.run('a', '1', never, () => Promise.reject(new Error('failed')))).rejects.toThrow(
      'failed',
    );
    expect(scheduler.running).toBe(0);
    const { work, end } = controlledTasks();
    void scheduler.run('a', '2', never, work('2'));
    const cancel = new AbortController();
    const waiting = scheduler.run('a', '3', cancel.signal, work('3'));
    await expect(scheduler.run('a', '4', never, work('4'))).rejects.toBeInstanceOf(QueueFullError);
    cancel.abort(new Error('cancelled'));
    await expect(waiting).rejects.toThrow('cancelled');
    expect(scheduler.queued).toBe(0);
    end('2');
    await settle();
    expect(scheduler.running).toBe(0);
  });
});

test('percentiles use the nearest rank', () => {
  const hundred = Array.from({ length: 100 }, (_, i) => 100 - i);
  expect(percentiles(hundred)).toEqual({ p50: 50, p95: 95, p99: 99 });
  expect(percentiles([])).toEqual({ p50: 0, p95: 0, p99: 0 });
});
