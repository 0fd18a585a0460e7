/** An observed function: it informs the host of its calls as long as the host wants to know. */
import { describe, expect, it } from 'vitest';
import { trampolineModule } from '../../packages/core/src/wasm/trampoline.ts';
import { build, type ModuleSource } from './assembler.ts';
import { prepareModule, start } from './run-module.ts';

/** `run` calls function 0 with its parameter and with the same parameter plus 1. */
const SOURCE: ModuleSource = {
  types: [
    [['i32'], []],
    [['i32'], ['i32']],
  ],
  functions: [
    {
      type: 0,
      export: 'observed',
      code: [
        {
          op: 'loop',
          type: 'void',
          body: [['local.get', 0], ['i32.const', 1], ['i32.sub'], ['local.tee', 0], ['br_if', 0]],
        },
      ],
    },
    {
      type: 1,
      code: [
        ['local.get', 0],
        ['call', 0],
        ['local.get', 0],
        ['i32.const', 1],
        ['i32.add'],
        ['call', 0],
        ['local.get', 0],
      ],
      export: 'run',
    },
  ],
  memoryPages: 1,
};

function observe(observations: number, parameters: readonly number[]) {
  const guest = start(prepareModule(build(SOURCE), { exports: ['run'], observed: 'observed' }));
  const seen: number[] = [];
  const trampoline = new WebAssembly.Instance(
    new WebAssembly.Module(trampolineModule([{ params: ['i32'], results: [] }]) as BufferSource),
    { host: { 0: (value: number) => seen.push(value) } },
  );
  const exports = guest.exports as unknown as WebAssembly.Exports;
  (exports['host'] as WebAssembly.Table).set(1, trampoline.exports['0']);
  const counter = exports['observations'] as WebAssembly.Global<'i32'>;
  counter.value = observations;
  guest.fuel.value = 1_000_000n;
  for (const parameter of parameters) guest.exports['run']!(parameter);
  return { seen, counter: counter.value, fuel: 1_000_000n - (guest.fuel.value as bigint) };
}

describe('observed function', () => {
  it('passes its parameters to the host before it runs, and counts the calls', () => {
    expect(observe(10, [5, 7])).toMatchObject({ seen: [5, 6, 7, 8], counter: 6 });
  });

  it('counts the calls of which the host is not informed as negative', () => {
    expect(observe(1, [5, 7])).toMatchObject({ seen: [5], counter: -3 });
  });

  it('costs no fuel', () => {
    const plain = start(prepareModule(build(SOURCE), { exports: ['run'] }));
    plain.fuel.value = 1_000_000n;
    plain.exports['run']!(5);
    const fuel = 1_000_000n - (plain.fuel.value as bigint);
    expect([observe(10, [5]).fuel, observe(0, [5]).fuel]).toEqual([fuel, fuel]);
  });

  it('must be in the module and return nothing', () => {
    const prepare = (observed: string) => prepareModule(build(SOURCE), { exports: ['run'], observed });
    expect(() => prepare('run')).toThrow('the function "run" cannot be observed');
    expect(() => prepare('other')).toThrow('does not define and export a function "other"');
  });
});
