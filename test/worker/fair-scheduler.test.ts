import { describe, expect, it } from 'vitest';
import {
  FairScheduler,
  type SchedulerLimits,
  type Turn,
} from '../../packages/core/src/worker/pool/fair-scheduler.ts';

const NO_LIMIT = Number.POSITIVE_INFINITY;
const settle = () => new Promise((next) => setImmediate(next));

/** A scheduler that records the order in which calls start. */
function start(limits: Partial<SchedulerLimits> & { maxRunning: number }) {
  const scheduler = new FairScheduler(
    { maxRunningPerTenant: NO_LIMIT, maxQueuedPerTenant: NO_LIMIT, expectedTenants: 1, ...limits },
    limits.maxRunning,
  );
  const order: string[] = [];
  const turns = new Map<string, Turn>();
  const call = async (
    name: string,
    {
      tenant = name[0]!,
      key = name,
      needsWorker = true,
      signal,
    }: {
      tenant?: string;
      key?: string;
      needsWorker?: boolean;
      signal?: AbortSignal;
    } = {},
  ) => {
    const turn = await scheduler.acquire({ tenant, key, needsWorker, signal });
    if (turn === undefined) return undefined;
    order.push(name);
    turns.set(name, turn);
    return turn;
  };
  const end = async (name: string) => {
    turns.get(name)!.release();
    await settle();
  };
  return { scheduler, order, call, end };
}

describe('tenants', () => {
  it('take turns, however many calls one of them has waiting', async () => {
    const { order, call, end } = start({ maxRunning: 1 });
    for (const name of ['a1', 'a2', 'a3', 'b1', 'b2']) void call(name);
    await settle();
    for (let i = 0; i < 5; i++) await end(order[i]!);
    expect(order).toEqual(['a1', 'b1', 'a2', 'b2', 'a3']);
  });

  it('leave places to others at their own limit', async () => {
    const { scheduler, order, call } = start({ maxRunning: 2, maxRunningPerTenant: 1 });
    for (const name of ['a1', 'a2', 'b1']) void call(name);
    await settle();
    expect(order).toEqual(['a1', 'b1']);
    expect([scheduler.running, scheduler.queued]).toEqual([2, 1]);
  });

  it('leave a place for every expected tenant that has nothing running', async () => {
    const { order, call, end } = start({ maxRunning: 4, expectedTenants: 3 });
    for (const name of ['a1', 'a2', 'a3', 'a4']) void call(name);
    await settle();
    expect(order).toEqual(['a1', 'a2']);
    for (const name of ['b1', 'b2', 'c1']) void call(name);
    await settle();
    expect(order).toEqual(['a1', 'a2', 'b1', 'c1']);
    await end('c1');
    expect(order).toEqual(['a1', 'a2', 'b1', 'c1']);
    await end('a1');
    expect(order).toEqual(['a1', 'a2', 'b1', 'c1', 'b2']);
  });

  it('have a limited number of waiting calls', async () => {
    const { scheduler, call } = start({ maxRunning: 1, maxQueuedPerTenant: 1 });
    await call('a1');
    void call('a2');
    await expect(call('a3')).rejects.toMatchObject({
      code: 'queue_full',
      message: 'The queue of calls is full (limit 1). Wait until a call ends, then try again.',
    });
    void call('b1');
    await settle();
    expect(scheduler.queued).toBe(2);
  });
});

describe('calls with the same key', () => {
  it('run in order and do not hold a place while they wait', async () => {
    const { order, call, end } = start({ maxRunning: 2 });
    void call('a1', { key: 'session' });
    void call('a2', { key: 'session' });
    void call('a3');
    await settle();
    expect(order).toEqual(['a1', 'a3']);
    await end('a1');
    expect(order).toEqual(['a1', 'a3', 'a2']);
  });

  it('include host code, which needs no worker', async () => {
    const { order, call, end } = start({ maxRunning: 1 });
    void call('a1', { key: 'session' });
    void call('a2', { key: 'session', needsWorker: false });
    void call('a3', { key: 'session' });
    void call('b1', { needsWorker: false });
    await settle();
    expect(order).toEqual(['a1', 'b1']);
    await end('a1');
    expect(order).toEqual(['a1', 'b1', 'a2']);
    await end('a2');
    expect(order).toEqual(['a1', 'b1', 'a2', 'a3']);
  });
});

describe('a waiting call', () => {
  it('leaves the queue when it is cancelled, and the call behind it starts', async () => {
    const { scheduler, order, call } = start({ maxRunning: 1 });
    const cancel = new AbortController();
    await call('a1');
    const waiting = call('a2', { key: 'session', signal: cancel.signal });
    void call('a3', { key: 'session', needsWorker: false });
    await settle();
    cancel.abort();
    expect(await waiting).toBeUndefined();
    await settle();
    expect(order).toEqual(['a1', 'a3']);
    expect(scheduler.queued).toBe(0);
  });

  it('does not start with a signal that is already aborted', async () => {
    const { order, call } = start({ maxRunning: 1 });
    expect(await call('a1', { signal: AbortSignal.abort() })).toBeUndefined();
    expect(order).toEqual([]);
  });

  it('starts when the capacity grows', async () => {
    const { scheduler, order, call } = start({ maxRunning: 4 });
    scheduler.capacity = 1;
    for (const name of ['a1', 'a2', 'b1']) void call(name);
    await settle();
    expect(order).toEqual(['a1']);
    scheduler.capacity = 2;
    await settle();
    expect(order).toEqual(['a1', 'b1']);
  });
});

describe('a turn', () => {
  it('can be released twice', async () => {
    const { scheduler, call } = start({ maxRunning: 2 });
    const turn = await call('a1');
    await call('b1');
    turn!.release();
    turn!.release();
    expect(scheduler.running).toBe(1);
  });
});

it('the scheduler keeps its cost per call constant when thousands of tenants wait', async () => {
  const { order, call, end } = start({ maxRunning: 1 });
  const count = 20_000;
  for (let i = 0; i < count; i++) void call(`t${i}`, { tenant: `t${i}` });
  await settle();
  // Quadratic work would take minutes here.
  for (let i = 0; i < count; i++) await end(`t${i}`);
  expect(order).toHaveLength(count);
});
