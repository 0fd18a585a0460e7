/** Bounds on side modules. Each module that is rejected is valid for the engine and would take it much memory or time. */
import { describe, expect, test } from 'vitest';
import { prepareSideModule } from '../../packages/core/src/wasm/prepare-side-module.ts';
import type { Code } from './assembler.ts';
import { buildLinked, type LinkSource, TABLE_BASE, USUAL_IMPORTS } from './link-assembler.ts';

type Types = LinkSource['types'];
const I32 = 'i32' as const;
const repeat = <T>(count: number, item: T): T[] => new Array(count).fill(item);
const BASE: LinkSource = {
  dylink: { table: [2, 0] },
  types: [[[], []]],
  imports: USUAL_IMPORTS,
  functions: [],
};

/** A function without parameters and results. `types` follow type 0. */
const withBody = (code: readonly Code[], locals = 0, types: Types = []): LinkSource => ({
  ...BASE,
  types: [[[], []], ...types],
  functions: [{ type: 0, locals: repeat(locals, I32), code }],
});
const nested = (count: number, op: 'block' | 'loop'): Code[] => {
  let body: Code[] = [];
  for (let i = 0; i < count; i++) body = [{ op, type: 'void', body }];
  return body;
};
const zero: Code = ['i32.const', 0];
const skip: Code = { op: 'if', yes: [] };
const block = (body: readonly Code[]): Code => ({ op: 'block', type: 'void', body });
const many = (count: number, ...code: Code[]): Code[] => repeat(count, code).flat();
const targets = (count: number): Code => ({ op: 'br_table', targets: repeat(count, 0) });
const exports = (count: number): [string, 'function', number][] =>
  Array.from({ length: count }, (_, i) => [`f${i}`, 'function', 0]);

describe('a side module', () => {
  test('may be several times as large as the largest functions of known libraries', { tags: 'full' }, () => {
    for (const source of [
      withBody(many(250_000, ['nop'], zero, ['drop'])),
      withBody([], 4000),
      withBody(nested(1200, 'block')),
      withBody(many(20_000, ['call', 0])),
      withBody([block([zero, targets(15_000)])], 100),
      withBody(many(6000, zero, skip), 500),
      withBody([...many(60, zero), ...many(6000, zero, skip), ...many(60, ['drop'])], 60),
    ])
      expect(prepareSideModule(buildLinked(source)).length).toBeGreaterThan(0);
  });

  const wide: Types = [[[], repeat(9, I32)]];
  test.each<[what: string, source: LinkSource, message: RegExp]>([
    ['a long function', withBody(many(1_500_001, ['nop'])), /function 0 has \d+ bytes of code/],
    ['many locals', withBody([], 5001), /function 0 has 5001 locals/],
    ['deep nesting', withBody(nested(1501, 'block')), /function 0 has 1501 nested blocks/],
    ['many branches', withBody(many(30_001, zero, skip)), /function 0 has 30001 branches/],
    ['many calls', withBody(many(30_001, ['call', 0])), /30001 branches/],
    ['many indirect calls', withBody(many(30_001, zero, ['call_indirect', 0, 0])), /30001 branches/],
    ['many targets of br_table', withBody([block([zero, targets(30_001)])]), /30002 branches/],
    ['locals at branches', withBody(many(5000, zero, skip), 1000), /5000000 live values at branches/],
    ['locals at targets', withBody([block([zero, targets(5000)])], 1000), /live values/],
    ['locals at loops', withBody(nested(500, 'loop'), 1000), /5000000 live values/],
    [
      'locals at calls with a handler',
      withBody([{ op: 'try', body: many(5000, ['call', 0]), catchAll: [] }], 1000),
      /live values/,
    ],
    [
      'operands at branches',
      withBody([...many(5000, zero), ...many(1000, zero, skip), ...many(5000, ['drop'])]),
      /5000000 live values/,
    ],
    [
      'operands below nested blocks',
      withBody([...many(5000, zero), ...nested(1000, 'block'), ...many(5000, ['drop'])]),
      /5000000 live values/,
    ],
    [
      'operands that unreachable code seems to take',
      withBody([
        ...many(5000, zero),
        block([['unreachable'], ...many(6000, ['drop'])]),
        ...many(1000, zero, skip),
        ...many(5000, ['drop']),
      ]),
      /live values/,
    ],
    ['many parameters', withBody([], 0, [[repeat(201, I32), []]]), /type 1 has 201 parameters/],
    ['many results', withBody([], 0, wide), /type 1 has 9 results/],
    ['many types', withBody([], 0, repeat(5000, [[], []])), /section 1 has 5001 entries/],
    [
      'many functions',
      { ...BASE, functions: repeat(100_001, { type: 0, code: [] }) },
      /section 3 has 100001 entries/,
    ],
    [
      'many imports',
      { ...BASE, imports: repeat(50_001, ['env', 'f', { func: 0 }] as const) },
      /section 2 has 50001 entries/,
    ],
    ['many globals', { ...BASE, globals: repeat(50_001, { init: [zero] }) }, /section 6 has 50001 entries/],
    ['many exports', { ...withBody([]), exports: exports(50_001) }, /section 7 has 50001 entries/],
    [
      'many element segments',
      { ...withBody([]), elements: repeat(17, { at: [TABLE_BASE], functions: [0] }) },
      /section 9 has 17 entries/,
    ],
    [
      'a long element segment',
      { ...withBody([]), elements: [{ at: [TABLE_BASE], functions: repeat(200_001, 0) }] },
      /element segment 0 has 200001 entries/,
    ],
    ['many data segments', { ...BASE, data: repeat(10_001, { bytes: [] }) }, /section 11 has 10001 entries/],
    ['many tags', { ...BASE, tags: repeat(101, 0) }, /section 13 has 101 entries/],
  ])('is rejected with %s', (_, source, message) => {
    const bytes = buildLinked(source);
    expect(() => prepareSideModule(bytes)).toThrow(
      expect.objectContaining({ code: 'module_invalid', message: expect.stringMatching(message) }),
    );
  });

  test('is rejected if it is too large', () => {
    expect(() => prepareSideModule(new Uint8Array(64 * 1024 * 1024 + 1))).toThrow(/more than 67108864 bytes/);
  });

  const poll = new Map([['env.poll', 'iii>i']]);
  const importing = (params: Types[number][0], results: Types[number][1]): LinkSource => ({
    ...BASE,
    types: [
      [[], []],
      [params, results],
    ],
    imports: [...USUAL_IMPORTS, ['env', 'poll', { func: 1 }]],
  });

  test('imports a host function with its exact type', () => {
    const prepare = (...type: Parameters<typeof importing>) =>
      prepareSideModule(buildLinked(importing(...type)), { hostSignatures: poll });
    expect(prepare([I32, I32, I32], [I32]).length).toBeGreaterThan(0);
    for (const type of ['i64', 'f32', 'f64', 'v128', 'funcref', 'externref'] as const) {
      expect(() => prepare([I32, type, I32], [I32])).toThrow(
        /imports "env\.poll" with the type i.i>i instead of iii>i/,
      );
      expect(() => prepare([I32, I32, I32], [type])).toThrow(/with the type iii>. instead of iii>i/);
    }
    expect(() => prepare([I32, I32], [I32])).toThrow(/with the type ii>i instead/);
    expect(() => prepare([I32, I32, I32], [])).toThrow(/with the type iii> instead/);
    expect(() => prepare([I32, I32, I32], [I32, I32])).toThrow(/with the type iii>ii instead/);
  });

  test('imports no function with vectors, which a function of the host cannot receive', () => {
    const bytes = buildLinked(importing(['v128'], []));
    expect(() => prepareSideModule(bytes)).toThrow(/imports "env\.poll", a function with vectors/);
  });

  test.each(['__wasm_call_ctors', '__wasm_apply_data_relocs', 'start'])(
    'has no parameters of %s, which the host calls',
    (name) => {
      const source: LinkSource = {
        ...BASE,
        types: [[['i64'], []]],
        functions: [{ type: 0, code: [], export: name }],
        ...(name === 'start' && { start: 0 }),
      };
      expect(() => prepareSideModule(buildLinked(source))).toThrow(/has parameters or results/);
    },
  );
});
