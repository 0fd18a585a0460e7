import { describe, expect, test } from 'vitest';
import { atOnce } from '../../packages/core/src/concurrency/slices.ts';
import { heldBytes } from '../../packages/core/src/stores/format/state-size.ts';
import { type Holding, StateMemoryBudget } from '../../packages/core/src/stores/state-memory-budget.ts';
import type { SessionState } from '../../packages/core/src/stores/store.ts';
import { state } from './fixtures.ts';

const limitError = expect.objectContaining({ name: 'SandboxError', code: 'session_limit' });

/** A holding that can be unloaded unless it is in use. */
function idle(ledger: StateMemoryBudget, tenant: string, unloaded: string[], isInUse = () => false): Holding {
  const holding = ledger.open(tenant, async () => {
    if (isInUse()) return;
    unloaded.push(tenant);
    holding.set(0);
  });
  return holding;
}

describe('held bytes', () => {
  // guarantee: memory-limit
  // proves: The bytes that sessions hold are counted per tenant and in total.
  test('are counted per tenant and in total', async () => {
    const ledger = new StateMemoryBudget({ maxBytes: 100, maxBytesPerTenant: 60 });
    const [a, b] = [ledger.open('a'), ledger.open('b')];
    await a.resize(50);
    await b.resize(40);
    expect([ledger.total, ledger.ofTenant('a'), ledger.ofTenant('b')]).toEqual([90, 50, 40]);
    await a.resize(10);
    b.close();
    b.set(7);
    expect([ledger.total, ledger.ofTenant('a'), ledger.ofTenant('b')]).toEqual([10, 10, 0]);
  });

  test('are limited per tenant and in total', async () => {
    const ledger = new StateMemoryBudget({ maxBytes: 100, maxBytesPerTenant: 60 });
    const [a, b] = [ledger.open('a'), ledger.open('b')];
    await expect(a.resize(61)).rejects.toEqual(limitError);
    expect(() => a.resizeNow(61)).toThrow(limitError);
    await a.resize(60);
    await expect(b.resize(41)).rejects.toThrow('of this process');
    // Shrinking is possible even above the limit.
    b.set(80);
    await b.resize(70);
    expect(ledger.total).toBe(130);
  });

  test('are freed by unloading the least recently used, of the same tenant if its limit is exceeded', async () => {
    const unloaded: string[] = [];
    const ledger = new StateMemoryBudget({ maxBytes: 100, maxBytesPerTenant: 60 });
    const other = idle(ledger, 'b', unloaded);
    const first = idle(ledger, 'a', unloaded);
    const second = idle(ledger, 'a', unloaded);
    for (const holding of [other, first, second]) await holding.resize(30);
    const third = ledger.open('a');
    await third.resize(30);
    expect(unloaded).toEqual(['a']);
    expect([first.bytes, second.bytes, other.bytes]).toEqual([0, 30, 30]);
    const fourth = ledger.open('c');
    await fourth.resize(40);
    expect(unloaded).toEqual(['a', 'b']);
  });

  test('are not freed while they are in use', async () => {
    const ledger = new StateMemoryBudget({ maxBytes: 100, maxBytesPerTenant: 100 });
    await idle(ledger, 'a', [], () => true).resize(80);
    await expect(ledger.open('a').resize(30)).rejects.toEqual(limitError);
  });

  test('count contents that states share once', () => {
    const one = state(1, { f: 'x'.repeat(10_000) });
    const two = { ...one, version: 2 };
    const held = (...states: SessionState[]) => atOnce(heldBytes(states));
    expect(held(one, two)).toBeLessThan(held(one) + 1000);
    expect(held(one, one)).toBe(held(one));
    expect(held(one, state(2, { f: 'x'.repeat(10_000) }))).toBeGreaterThan(20_000);
  });

  test('are counted in steps whose number grows with the files that differ', () => {
    const many = (count: number) =>
      state(2, Object.fromEntries(Array.from({ length: count }, (_, i) => [`f${i}`, 'x'])));
    const steps = (...states: SessionState[]) => [...heldBytes(states)].length;
    expect(steps(state(1, {}), many(400))).toBeLessThan(2);
    expect(steps(state(1, {}), many(5_000))).toBeGreaterThanOrEqual(10);
    const { tmp } = { tmp: [...many(5_000).workspace.values()] };
    expect(steps({ ...state(1, {}), tmp })).toBeGreaterThanOrEqual(10);
    // Trees that share their entries need none.
    const one = many(5_000);
    expect(steps(one, { ...one, version: 3 })).toBe(0);
  });
});
