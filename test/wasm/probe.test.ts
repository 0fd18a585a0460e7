/** The probe: a local that a module publishes when its fuel runs out at the head of one of its loops. */
import { describe, expect, it } from 'vitest';
import { build, type Code, type ModuleSource } from './assembler.ts';
import { prepareModule, start } from './run-module.ts';

const countDown = (local: number): Code => ({
  op: 'loop',
  type: 'void',
  body: [['local.get', local], ['i32.const', 1], ['i32.sub'], ['local.tee', local], ['br_if', 0]],
});

/** Counts parameter 0 down to 0 in one loop, then parameter 1 in another. */
const SOURCE: ModuleSource = {
  types: [[['i32', 'i32'], ['i32']]],
  functions: [{ type: 0, code: [countDown(0), countDown(1), ['local.get', 0]], export: 'run' }],
  memoryPages: 1,
};

describe('loop probe', () => {
  it('publishes the local at the probed loop and nothing at other loops', () => {
    const probe = { function: 'run', loop: 1, local: 1 };
    const seen: number[] = [];
    const guest = start(prepareModule(build(SOURCE), { exports: ['run'], probe }), {}, (fuel) => {
      seen.push((guest.exports['probe'] as unknown as WebAssembly.Global).value as number);
      fuel.value = (fuel.value as bigint) + 60n;
    });
    guest.fuel.value = 60n;
    expect(guest.exports['run']!(100, 100)).toBe(0);
    const probed = seen.filter((value) => value !== 0);
    expect(probed.length).toBeGreaterThan(3);
    expect(probed).toEqual([...probed].sort((a, b) => b - a));
    expect(seen.slice(0, 5)).toEqual([0, 0, 0, 0, 0]);
    expect(Math.max(...probed)).toBeLessThanOrEqual(100);
  });
});
