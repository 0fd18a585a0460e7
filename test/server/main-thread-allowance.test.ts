/** The time of the main thread per tenant, with a clock and an event loop that the test controls. */
import { describe, expect, test } from 'vitest';
import { MainThreadAllowance } from '../../packages/server/src/server/main-thread-allowance.ts';

/** A meter that allows 10 s per minute, whose clock the test moves. */
function start() {
  const loop = { now: 0, pending: [] as (() => void)[] };
  const time = new MainThreadAllowance(
    10,
    () => loop.now,
    (run) => loop.pending.push(run),
  );
  const work = (seconds: number) => {
    loop.now += seconds * 1000;
  };
  const endTurn = () => {
    for (const run of loop.pending.splice(0)) run();
  };
  return { time, loop, work, endTurn };
}

describe('time of the main thread', () => {
  test('is counted from the start of work for a tenant to the end of the turn', () => {
    const { time, work, endTurn } = start();
    work(100);
    time.attribute('ann');
    work(11);
    endTurn();
    expect(time.secondsToWait('ann')).toBe(6);
    work(100);
    time.attribute('bob');
    endTurn();
    expect([time.secondsToWait('ann'), time.secondsToWait('bob')]).toEqual([0, 0]);
  });

  test('is attributed to the tenant that was named last', () => {
    const { time, work, endTurn } = start();
    time.attribute('ann');
    work(1);
    time.attribute('bob');
    work(12);
    time.attribute('ann');
    work(1);
    endTurn();
    expect(time.secondsToWait('ann')).toBe(0);
    expect(time.secondsToWait('bob')).toBe(11);
  });

  test('accrues again while the tenant sends nothing', () => {
    const { time, work, endTurn } = start();
    time.attribute('ann');
    work(20);
    endTurn();
    expect(time.secondsToWait('ann')).toBe(60);
    work(59.5);
    expect(time.secondsToWait('ann')).toBe(1);
    work(2);
    expect(time.secondsToWait('ann')).toBe(0);
  });

  test('needs one callback per turn, however often work begins', () => {
    const { time, loop, endTurn } = start();
    for (let i = 0; i < 100; i++) time.attribute(`tenant-${i}`);
    expect(loop.pending).toHaveLength(1);
    endTurn();
    expect(loop.pending).toHaveLength(0);
  });
});
