/** What the build of QuickJS changes compared with its release: costs of collections and arrays, two results, and the stack. */
import { describe, expect, test } from 'vitest';
import { javascript } from '../support/sandbox.ts';

const fuelOf = async (program: string) => {
  const { fuel_consumed, success, stderr } = await javascript(program, { fuel_budget: 4_000_000_000 });
  expect([success, stderr]).toEqual([true, '']);
  return fuel_consumed;
};

describe('build of QuickJS', () => {
  test.each([
    ['Map with integers', 'const m = new Map(); for (let i = 0; i < N; i++) m.set(i, i);'],
    ['Map with fractions', 'const m = new Map(); for (let i = 0; i < N; i++) m.set(i / 8, i);'],
    ['Set with BigInts', 'const s = new Set(); for (let i = 0n; i < N; i++) s.add(i);'],
    ['Map with objects', 'const m = new Map(); for (let i = 0; i < N; i++) m.set({}, i);'],
  ])('has collections whose cost grows with their size only: %s', async (_, program) => {
    const [none, some, many] = await Promise.all(
      [0, 5_000, 20_000].map((count) => fuelOf(`const N = ${count}; ${program}`)),
    );
    expect((many! - none!) / (some! - none!)).toBeLessThan(6);
  });

  test('moves the elements of an array in one piece', async () => {
    const insert = 'const a = []; for (let i = 0; i < 4000; i++)';
    const [push, unshift, splice] = await Promise.all(
      ['a.push(i)', 'a.unshift(i)', 'a.splice(a.length >> 1, 0, i)'].map((call) =>
        fuelOf(`${insert} ${call};`),
      ),
    );
    expect(Math.max(unshift!, splice!) / push!).toBeLessThan(25);
  });

  test('counts references of elements that are moved, overwritten and doubled', async () => {
    const { stdout } = await javascript(`
      const a = Array.from({ length: 9 }, (_, i) => ({ i }));
      a.copyWithin(2, 0, 6); a.copyWithin(0, 3); a.splice(1, 3); a.unshift(...a.splice(2, 2), a[0]);
      const parts = JSON.stringify(a);
      for (let i = 0; i < 5; i++) a.splice(i, 1, {}, { i });
      console.log(parts, a.length, JSON.stringify(a));`);
    const expected = () => {
      const a: unknown[] = Array.from({ length: 9 }, (_, i) => ({ i }));
      a.copyWithin(2, 0, 6);
      a.copyWithin(0, 3);
      a.splice(1, 3);
      a.unshift(...a.splice(2, 2), a[0]);

      const parts = JSON.stringify(a);
      for (let i = 0; i < 5; i++) a.splice(i, 1, {}, { i });
      return `${parts} ${a.length} ${JSON.stringify(a)}\n`;
    };
    expect(stdout).toBe(expected());
  });

  test('removes all elements behind a new length, and dates become invalid', async () => {
    const { stdout } = await javascript(`
      const a = [1, 2, 3];
      a.length = 10; a.reverse(); a.length = 15; a.shift(); a.reverse(); a.pop(); a.push('a'); a.shift();
      a.length = 0; a.push(null); a.length = 6;
      const d = new Date(0);
      console.log(Object.keys(a).join(), d.setUTCFullYear(NaN), d.getTime(), new Date(NaN).setUTCMonth(1))`);
    expect(stdout).toBe('0 NaN NaN NaN\n');
  });

  test('has a stack for 6,551 calls of a simple function', async () => {
    const { stdout } = await javascript(
      'let depth = 0; const f = () => { depth++; f(); }; try { f(); } catch (error) { console.log(error.name, depth >= 6551); }',
    );
    expect(stdout).toBe('RangeError true\n');
  });
});
