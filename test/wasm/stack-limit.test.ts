/** Recursion ends where the stack pointer reaches its limit, whether or not the functions have frames of their own. */
import { describe, expect, it } from 'vitest';
import { prepareModule } from '../../packages/core/src/wasm/prepare-module.ts';
import { build, type Code, type ModuleSource } from './assembler.ts';
import { AMPLE_FUEL, start } from './run-module.ts';

const TOP = 4096;
const LIMIT = 1024;

/** Recursion as deep as the parameter says: `deeper` calls the function again if it is not zero. The result is the depth. */
const recursive = (deeper: readonly Code[]): readonly Code[] => [
  ['local.get', 0],
  {
    op: 'if',
    yes: [
      ['local.get', 0],
      ['i32.const', 1],
      ['i32.sub'],
      ...deeper,
      ['i32.const', 1],
      ['i32.add'],
      ['return'],
    ],
  },
  ['i32.const', 0],
];
const push: readonly Code[] = [['global.get', 0], ['i32.const', 32], ['i32.sub'], ['global.set', 0]];
const pop: readonly Code[] = [['global.get', 0], ['i32.const', 32], ['i32.add'], ['global.set', 0]];
const T = { types: [[['i32'], ['i32']]], globals: [TOP], memoryPages: 1 } as const;

/** Modules whose `run` recurses, and the bytes of stack that one level takes. */
const MODULES: Record<string, { source: ModuleSource; bytes: number }> = {
  'a function without a frame': {
    source: { ...T, functions: [{ type: 0, code: recursive([['call', 0]]), export: 'run' }] },
    bytes: 16,
  },
  'a function with a frame': {
    source: {
      ...T,
      functions: [{ type: 0, code: [...push, ...recursive([['call', 0], ...pop]), ...pop], export: 'run' }],
    },
    bytes: 32,
  },
  'two functions without frames': {
    source: {
      ...T,
      functions: [
        { type: 0, code: recursive([['call', 1]]), export: 'run' },
        {
          type: 0,
          code: [
            ['local.get', 0],
            ['call', 0],
          ],
        },
      ],
    },
    bytes: 16,
  },
  'calls through a table': {
    source: {
      ...T,
      tables: [1],
      elements: [0],
      functions: [
        {
          type: 0,
          code: recursive([
            ['i32.const', 0],
            ['call_indirect', 0, 0],
          ]),
          export: 'run',
        },
      ],
    },
    bytes: 16,
  },
  'a branch out of the function': {
    source: {
      ...T,
      functions: [
        {
          type: 0,
          code: [
            {
              op: 'block',
              type: 'void',
              body: [['i32.const', 0], ['local.get', 0], ['i32.eqz'], ['br_if', 1], ['drop']],
            },
            ['local.get', 0],
            ['i32.const', 1],
            ['i32.sub'],
            ['call', 0],
            ['i32.const', 1],
            ['i32.add'],
          ],
          export: 'run',
        },
      ],
    },
    bytes: 16,
  },
};

function instantiate(source: ModuleSource) {
  const prepared = prepareModule(build({ ...source, exportedGlobal: '__stack_pointer' }), {
    exports: ['run', '__stack_pointer'],
    stackPointer: '__stack_pointer',
  });
  const guest = start(prepared);
  const exports = guest.exports as unknown as Record<string, WebAssembly.Global<'i32'>>;
  guest.fuel.value = AMPLE_FUEL;
  exports['stack_limit']!.value = LIMIT;
  return { run: guest.exports['run']!, pointer: exports['__stack_pointer']!, fuel: guest.fuel };
}

describe.each(Object.entries(MODULES))('stack limit: %s', (_, { source, bytes }) => {
  it('allows recursion until the stack is full, and restores the stack pointer', () => {
    const { run, pointer } = instantiate(source);
    const levels = (TOP - LIMIT) / bytes;
    expect(run(levels - 2)).toBe(levels - 2);
    expect(pointer.value).toBe(TOP);
  });

  it('stops deeper recursion, always at the same depth', () => {
    const outcomes = [1, 2].map(() => {
      const { run, pointer, fuel } = instantiate(source);
      expect(() => run((TOP - LIMIT) / bytes + 2)).toThrow(WebAssembly.RuntimeError);
      return [pointer.value, fuel.value];
    });
    expect(outcomes[0]![0]).toBeLessThan(LIMIT);
    expect(outcomes[0]![0]).toBeGreaterThanOrEqual(LIMIT - 2 * bytes);
    expect(outcomes[1]).toEqual(outcomes[0]);
  });

  it('does not change the fuel', () => {
    const { run, fuel } = instantiate(source);
    run(20);
    const plain = start(prepareModule(build(source), { exports: ['run'] }));
    plain.fuel.value = AMPLE_FUEL;
    plain.exports['run']!(20);
    expect(fuel.value).toBe(plain.fuel.value);
  });
});

describe('stack limit', () => {
  it('adds nothing to functions that cannot recurse', () => {
    const source: ModuleSource = { ...T, functions: [{ type: 0, code: [['local.get', 0]], export: 'run' }] };
    const { run, pointer } = instantiate(source);
    pointer.value = 0;
    expect(run(7)).toBe(7);
  });

  it('requires a mutable i32 global', () => {
    const source: ModuleSource = { ...T, functions: [{ type: 0, code: [['local.get', 0]], export: 'run' }] };
    expect(() => prepareModule(build(source), { exports: ['run'], stackPointer: 'run' })).toThrow(
      'mutable i32 global',
    );
  });
});
