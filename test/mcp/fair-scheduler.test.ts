import { describe, expect, test } from 'vitest';
import { FairScheduler, QueueFullError } from '../../src/mcp/fair-scheduler.ts';
import { percentiles } from '../../src/mcp/metrics.ts';

const never = new AbortController().signal;
const settle = () => new Promise((next) => setImmediate(next));

/** Work that notes when it starts and ends when it is told to. */
function works() {
  const order: string[] = [];
  const ends = new Map<string, () => void>();
  const work = (name: string) => () =>
    new Promise<string>((resolve) => {
      order.push(name);
      ends.set(name, () => resolve(name));
    });
  return { order, work, end: (name: string) => ends.get(name)!() };
}

describe('scheduler', () => {
  test('go round the tenants, whoever has more waiting', async () => {
    const scheduler = new FairScheduler({ total: 1, perTenant: 1, queued: 10, tenants: 2 });
    const { order, work, end } = works();
    for (const name of ['a1', 'a2', 'a3']) void scheduler.run('a', name, never, work(name));
    for (const name of ['b1', 'b2']) void scheduler.run('b', name, never, work(name));
    for (let i = 0; i < 5; i++) {
      await settle();
      end(order[i]!);
    }
    expect(order).toEqual(['a1', 'b1', 'a2', 'b2', 'a3']);
  });

  test('leave a place for others when a tenant has a share of its own', async () => {
    const scheduler = new FairScheduler({ total: 2, perTenant: 1, queued: 10, tenants: 2 });
    const { order, work } = works();
    for (const name of ['a1', 'a2']) void scheduler.run('a', name, never, work(name));
    void scheduler.run('b', 'b1', never, work('b1'));
    await settle();
    expect(order).toEqual(['a1', 'b1']);
    expect([scheduler.running, scheduler.queued]).toEqual([2, 1]);
  });

  test('keep a place for every tenant who has nothing running, however much the others have', async () => {
    const scheduler = new FairScheduler({ total: 4, perTenant: 4, queued: 10, tenants: 3 });
    const { order, work, end } = works();
    for (const name of ['a1', 'a2', 'a3', 'a4']) void scheduler.run('a', name, never, work(name));
    await settle();
    expect(order).toEqual(['a1', 'a2']);
    for (const name of ['b1', 'b2']) void scheduler.run('b', name, never, work(name));
    void scheduler.run('c', 'c1', never, work('c1'));
    await settle();
    expect(order).toEqual(['a1', 'a2', 'b1', 'c1']);
    end('c1');
    await settle();
    // The place of c is kept again.
    expect(order).toEqual(['a1', 'a2', 'b1', 'c1']);
    end('a1');
    await settle();
    expect(order).toEqual(['a1', 'a2', 'b1', 'c1', 'a3']);
  });

  test('keep calls of one session in order without holding a place for them', async () => {
    const scheduler = new FairScheduler({ total: 2, perTenant: 2, queued: 10, tenants: 1 });
    const { order, work, end } = works();
    void scheduler.run('a', 'session', never, work('first'));
    void scheduler.run('a', 'session', never, work('second'));
    void scheduler.run('a', 'other', never, work('other'));
    await settle();
    expect(order).toEqual(['first', 'other']);
    end('first');
    await settle();
    expect(order).toEqual(['first', 'other', 'second']);
  });

  test('are given back when work throws, and when a waiting call is cancelled', async () => {
    const scheduler = new FairScheduler({ total: 1, perTenant: 1, queued: 1, tenants: 1 });
    await expect(scheduler.run('a', '1', never, () => Promise.reject(new Error('broke')))).rejects.toThrow(
      'broke',
    );
    expect(scheduler.running).toBe(0);
    const { work, end } = works();
    void scheduler.run('a', '2', never, work('2'));
    const cancel = new AbortController();
    const waiting = scheduler.run('a', '3', cancel.signal, work('3'));
    await expect(scheduler.run('a', '4', never, work('4'))).rejects.toBeInstanceOf(QueueFullError);
    cancel.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    expect(scheduler.queued).toBe(0);
    end('2');
    await settle();
    expect(scheduler.running).toBe(0);
  });
});

test('percentiles are those of the nearest rank', () => {
  const hundred = Array.from({ length: 100 }, (_, i) => 100 - i);
  expect(percentiles(hundred)).toEqual({ p50: 50, p95: 95, p99: 99 });
  expect(percentiles([])).toEqual({ p50: 0, p95: 0, p99: 0 });
});
