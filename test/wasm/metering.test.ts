/** On every path, metered code charges exactly what the reference interpreter counts for the original code. */
import { setFlagsFromString } from 'node:v8';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { repetitions } from '../support/repetitions.ts';
import { build, type Code, type ModuleSource } from './assembler.ts';
import { generate } from './module-generator.ts';
import { Interpreter } from './reference-interpreter.ts';
import { AMPLE_FUEL, execute, prepareModule, start } from './run-module.ts';

// Tail calls are behind a flag in Node 20.
setFlagsFromString('--experimental-wasm-return-call');

const INPUTS = [
  [0, 0],
  [1, 5],
  [77, 2],
] as const;

const RUNS = repetitions(80, 2000);

describe('metering', () => {
  // guarantee: fuel-limit
  // proves: Metering counts the instructions of random functions exactly, at every call to the host and at the end.
  it('charges random functions exactly, at every call to the host and at the end', () => {
    const outcomes = { thrown: 0, finished: 0, probes: 0 };
    const property = fc.property(fc.array(fc.nat(999), { minLength: 20, maxLength: 400 }), (tape) => {
      const source = generate(tape);
      for (const args of INPUTS) {
        const expected = new Interpreter(source).run('run', args);
        const metered = execute(source, args, true, AMPLE_FUEL);
        expect(metered.result).toBe(expected.result);
        expect(metered.fuel).toBe(expected.fuel);
        expect(metered.probes).toEqual(expected.probes);
        expect(Buffer.compare(metered.memory, expected.memory)).toBe(0);
        outcomes[expected.result === 'thrown' ? 'thrown' : 'finished']++;
        outcomes.probes += expected.probes.length;
      }
    });
    fc.assert(property, { seed: 20240607, numRuns: RUNS });
    // The property is meaningful only if the generator produces all outcomes often enough.
    expect(outcomes.thrown).toBeGreaterThan(RUNS / 14);
    expect(outcomes.finished).toBeGreaterThan(RUNS / 2);
    expect(outcomes.probes).toBeGreaterThan(RUNS / 10);
  });

  it('charges the same amount when fuel is granted in slices, and does not change results', () => {
    let refills = 0;
    const property = fc.property(fc.array(fc.nat(999), { minLength: 20, maxLength: 400 }), (tape) => {
      const source = generate(tape);
      const args = [3, 9];
      const expected = new Interpreter(source).run('run', args);
      const sliced = execute(source, args, true, 25n);
      const tiny = execute(source, args, true, 1n);
      const plain = execute(source, args, false, AMPLE_FUEL);
      for (const outcome of [sliced, tiny]) {
        expect(outcome.fuel).toBe(expected.fuel);
        expect(outcome.result).toBe(expected.result);
      }
      expect(plain.result).toBe(expected.result);
      expect(plain.fuel).toBe(0);
      refills += sliced.refills;
    });
    fc.assert(property, { seed: 7, numRuns: RUNS });
    expect(refills).toBeGreaterThan(20);
  });
});

describe('metering of special cases', () => {
  it.each([
    [
      'memory.fill',
      [
        ['i32.const', 0],
        ['i32.const', 1],
        ['i32.const', 60_000],
        ['memory.fill', 0],
      ],
    ],
    ['memory.grow', [['i32.const', 5], ['memory.grow', 0], ['drop']]],
  ] as [string, Code[]][])('checks the fuel before %s executes', (_, code) => {
    const source = single(code, { memoryPages: 1 });
    let seen: { bytes: number; first: number | undefined } | undefined;
    const guest = start(prepareModule(build(source), { exports: ['run'] }), {}, () => {
      seen = { bytes: guest.memory.buffer.byteLength, first: new Uint8Array(guest.memory.buffer)[0] };
    });
    guest.fuel.value = 100n;
    expect(() => guest.exports['run']!()).toThrow(WebAssembly.RuntimeError);
    expect(seen).toEqual({ bytes: 65_536, first: 0 });
    expect(new Uint8Array(guest.memory.buffer)[0]).toBe(0);
  });

  it('grows memory only if the host admits the pages', () => {
    const source: ModuleSource = {
      types: [[['i32'], ['i32']]],
      functions: [
        {
          type: 0,
          code: [
            ['local.get', 0],
            ['memory.grow', 0],
          ],
          export: 'run',
        },
      ],
      memoryPages: 1,
    };
    const asked: number[] = [];
    const admit = (pages: number) => {
      asked.push(pages);
      return pages <= 5 ? pages : -1;
    };
    const prepared = prepareModule(build(source), { exports: ['run'] });
    const guest = start(prepared, {}, () => {}, admit);
    guest.fuel.value = AMPLE_FUEL;
    expect([5, 6].map((pages) => guest.exports['run']!(pages))).toEqual([1, -1]);
    expect(asked).toEqual([5, 6]);
    expect(guest.memory.buffer.byteLength).toBe(6 * 65_536);
  });

  it('charges long chains of tail calls exactly', () => {
    const down: readonly Code[] = [
      ['local.get', 0],
      ['i32.eqz'],
      { op: 'if', yes: [['i32.const', 7], ['return']] },
      ['local.get', 0],
      ['i32.const', 1],
      ['i32.sub'],
      ['return_call', 0],
    ];
    const source: ModuleSource = {
      types: [[['i32'], ['i32']]],
      functions: [{ type: 0, code: down, export: 'run' }],
      memoryPages: 1,
    };
    const expected = new Interpreter(source).run('run', [1000]);
    for (const slice of [AMPLE_FUEL, 10n]) {
      const metered = execute(source, [1000], true, slice);
      expect([metered.result, metered.fuel]).toEqual([7, expected.fuel]);
    }
    expect(execute(source, [300_000], true, 1000n).fuel).toBe(300_000 * 7 + 4);
  });

  it('charges loops with parameters exactly', () => {
    // local.get 0  loop (i32) -> (i32)  i32.const 1  i32.sub  local.tee 0  local.get 0  br_if 0  end
    const code = Uint8Array.of(0x20, 0, 0x03, 0, 0x41, 1, 0x6b, 0x22, 0, 0x20, 0, 0x0d, 0, 0x0b);
    const source: ModuleSource = {
      types: [[['i32'], ['i32']]],
      functions: [{ type: 0, code, export: 'run' }],
      memoryPages: 1,
    };
    for (const slice of [AMPLE_FUEL, 10n]) {
      expect(execute(source, [100], true, slice)).toMatchObject({ result: 0, fuel: 1 + 100 * 5 });
    }
  });

  it('limits the work between two checks in functions without loops and recursion', () => {
    // 2 ** 24 calls of the last function, without a loop or a cycle.
    const chain = Array.from({ length: 24 }, (_, i): ModuleSource['functions'][number] => ({
      type: 0,
      code: [['global.get', 0], ['global.set', 0], ...twice(i === 0 ? ['nop'] : ['call', i - 1])],
      ...(i === 23 && { export: 'run' }),
    }));
    const source: ModuleSource = { types: [[[], []]], functions: chain, globals: [0] };
    let longest = 0;
    const guest = start(prepareModule(build(source), { exports: ['run'] }), {}, (fuel) => {
      longest = Math.max(longest, -Number(fuel.value));
      fuel.value = 0n;
    });
    guest.exports.run!();
    expect(longest).toBeGreaterThan(0);
    expect(longest).toBeLessThan(400_000);
  });
});

const twice = (code: Code): Code[] => [code, code];

const FOREVER: readonly Code[] = [{ op: 'loop', type: 'void', body: [['br', 0]] }];

function single(code: readonly Code[], more: Partial<ModuleSource> = {}): ModuleSource {
  return { types: [[[], []]], functions: [{ type: 0, code, export: 'run' }], ...more };
}

describe('exhausted fuel', () => {
  it.each([
    ['an endless loop', single(FOREVER)],
    ['a loop that catches every exception', single([{ op: 'try', body: FOREVER, catchAll: FOREVER }])],
    ['endless recursion', single([['call', 0]])],
    [
      'endless mutual recursion',
      single([['call', 1]], {
        functions: [...single([['call', 1]]).functions, { type: 0, code: [['call', 0]] }],
      }),
    ],
    [
      'endless indirect recursion',
      single(
        [
          ['i32.const', 0],
          ['call_indirect', 0, 0],
        ],
        { tables: [1], elements: [0] },
      ),
    ],
  ])('makes %s ask the host, and trap when the host grants nothing', (_, source) => {
    const prepared = prepareModule(build(source), { exports: ['run'] });
    let asked = 0;
    const guest = start(prepared, {}, (fuel) => {
      asked++;
      expect(Number(fuel.value)).toBeLessThan(0);
      expect(Number(fuel.value)).toBeGreaterThan(-10);
      if (asked < 5) fuel.value = 1000n;
    });
    guest.fuel.value = 1000n;
    expect(() => guest.exports['run']!()).toThrow(WebAssembly.RuntimeError);
    expect(asked).toBe(5);
  });

  it('does not occur with exactly the fuel that a program needs, and occurs once with less', () => {
    const body: Code[] = [
      {
        op: 'loop',
        type: 'void',
        body: [['local.get', 0], ['i32.const', 1], ['i32.sub'], ['local.tee', 0], ['br_if', 0]],
      },
    ];
    const source: ModuleSource = {
      types: [[['i32'], []]],
      functions: [
        { type: 0, code: body },
        {
          type: 0,
          code: [
            ['local.get', 0],
            ['call', 0],
            ['i32.const', 1],
            ['call', 0],
          ],
          export: 'run',
        },
      ],
    };
    const prepared = prepareModule(build(source), { exports: ['run'] });
    const total = 4 + 5 * 100 + 5;
    for (const [fuel, asks] of [
      [total, 0],
      [total - 6, 1],
    ] as const) {
      let asked = 0;
      const guest = start(prepared, {}, (counter) => {
        asked++;
        counter.value = (counter.value as bigint) + 1000n;
      });
      guest.fuel.value = BigInt(fuel);
      guest.exports['run']!(100);
      expect([asked, Number(guest.fuel.value) - asked * 1000]).toEqual([asks, fuel - total]);
    }
  });
});
