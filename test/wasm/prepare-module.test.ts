/** The interface of a prepared module, and the modules that are rejected. */
import { describe, expect, it } from 'vitest';
import { SandboxError } from '../../packages/core/src/errors.ts';
import { trampolineModule } from '../../packages/core/src/wasm/trampoline.ts';
import { build, type ModuleSource } from './assembler.ts';
import { AMPLE_FUEL, prepareModule, start } from './run-module.ts';

const SOURCE: ModuleSource = {
  types: [
    [['i32', 'i32'], ['i32']],
    [[], ['i32']],
  ],
  functions: [
    { type: 0, code: [['local.get', 0], ['local.get', 1], ['i32.add']], export: 'add' },
    {
      type: 1,
      code: [
        ['i32.const', 4],
        ['i32.const', 5],
        ['call', 0],
      ],
      export: 'run',
    },
    {
      type: 1,
      code: [
        ['i32.const', 70],
        ['i32.load8_u', 0, 0],
      ],
      export: 'peek',
    },
  ],
  memoryPages: 2,
  globals: [5, 6],
  data: [
    { offset: 64, bytes: [1, 2, 3] },
    { offset: 70, bytes: [4] },
    { offset: 1000, bytes: [5] },
  ],
};

const prepare = (source: ModuleSource, options: Partial<Parameters<typeof prepareModule>[1]> = {}) =>
  prepareModule(build(source), { exports: ['run'], ...options });

const names = (bytes: Uint8Array) =>
  WebAssembly.Module.exports(new WebAssembly.Module(bytes as BufferSource)).map(
    (entry) => `${entry.kind} ${entry.name}`,
  );

describe('prepared module', () => {
  it('exports only the named items, plus fuel, host and its mutable globals', () => {
    const { bytes, stateGlobals } = prepare(SOURCE);
    expect(names(bytes)).toEqual([
      'function run',
      'global fuel',
      'table host',
      'global global:0',
      'global global:1',
    ]);
    expect(stateGlobals).toEqual([
      { name: 'global:0', type: 'i32' },
      { name: 'global:1', type: 'i32' },
    ]);
  });

  it('imports its memory and accepts any maximum', () => {
    const { bytes, memory } = prepare(SOURCE);
    expect(memory).toEqual({ minPages: 2, maxPages: undefined });
    const module = new WebAssembly.Module(bytes as BufferSource);
    expect(WebAssembly.Module.imports(module)).toEqual([{ module: 'env', name: 'memory', kind: 'memory' }]);
    for (const maximum of [2, 100, 65536]) {
      new WebAssembly.Instance(module, { env: { memory: new WebAssembly.Memory({ initial: 2, maximum }) } });
    }
  });

  it('returns its data segments and joins neighbours', () => {
    const prepared = prepare(SOURCE, { exports: ['peek'] });
    expect(prepared.data).toEqual([
      { offset: 64, bytes: Uint8Array.of(1, 2, 3, 0, 0, 0, 4) },
      { offset: 1000, bytes: Uint8Array.of(5) },
    ]);
    const guest = start(prepared);
    guest.fuel.value = AMPLE_FUEL;
    expect(guest.exports['peek']!()).toBe(4);
  });

  it('returns overlapping data segments in their original order', () => {
    const data = [
      { offset: 8, bytes: [1, 1, 1] },
      { offset: 9, bytes: [2] },
    ];
    expect(prepare({ ...SOURCE, data }).data.map((segment) => segment.offset)).toEqual([8, 9]);
  });

  it('preserves data segment indices if code uses them, and drops the data section otherwise', () => {
    const functions: ModuleSource['functions'] = [
      {
        type: 1,
        code: [
          ['i32.const', 70],
          ['i32.const', 0],
          ['i32.const', 2],
          ['memory.init', 1, 0],
          ['i32.const', 71],
          ['i32.load8_u', 0, 0],
        ],
        export: 'run',
      },
    ];
    const data = [{ offset: 64, bytes: [1, 2, 3] }, { bytes: [8, 9] }];
    const guest = start(prepare({ ...SOURCE, functions, data }));
    guest.fuel.value = AMPLE_FUEL;
    expect(guest.exports['run']!()).toBe(9);
    expect(Buffer.from(prepare(SOURCE).bytes).includes(Buffer.from([12, 1, 3]))).toBe(false);
  });

  it('calls the host in place of a replaced function, with an exact fuel counter', () => {
    const prepared = prepare(SOURCE, { hostOverrides: ['add'] });
    const memory = new WebAssembly.Memory({ initial: 2, maximum: 2 });
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(prepared.bytes as BufferSource), {
      env: { memory },
    });
    const fuel = exports['fuel'] as WebAssembly.Global<'i64'>;
    const seen: unknown[] = [];
    const host = {
      0: (left: number, right: number) => {
        seen.push(left, right, fuel.value);
        return left * right;
      },
    };
    const trampoline = new WebAssembly.Module(
      trampolineModule([{ params: ['i32', 'i32'], results: ['i32'] }]) as BufferSource,
    );
    (exports['host'] as WebAssembly.Table).set(
      1,
      new WebAssembly.Instance(trampoline, { host }).exports['0'],
    );
    fuel.value = 100n;
    expect((exports['run'] as () => number)()).toBe(20);
    expect(seen).toEqual([4, 5, 97n]);
  });

  it('has the same exports but no fuel code if metering is off', () => {
    const metered = prepare(SOURCE);
    const plain = prepare(SOURCE, { meter: false });
    expect(names(plain.bytes)).toEqual(names(metered.bytes));
    const guest = start(plain);
    guest.fuel.value = 10n;
    expect([guest.exports['run']!(), guest.fuel.value]).toEqual([9, 10n]);
  });
});

describe('prepareModule rejects', () => {
  it.each<readonly [string, Partial<ModuleSource>, Partial<Parameters<typeof prepareModule>[1]>, string]>([
    ['a missing export', {}, { exports: ['nothing'] }, '"nothing"'],
    ['a missing host function', {}, { hostOverrides: ['nothing'] }, '"nothing"'],
    ['a host function listed twice', {}, { hostOverrides: ['add', 'add'] }, 'twice'],
    ['a start function', { start: 0 }, {}, 'start function'],
    ['data beyond its memory', { data: [{ offset: 131072, bytes: [1] }] }, {}, 'beyond the memory'],
  ])('%s', (_, source, options, message) => {
    const attempt = () => prepare({ ...SOURCE, ...source }, options);
    expect(attempt).toThrow(SandboxError);
    expect(attempt).toThrow(message);
  });

  /** A module with a single section. */
  const section = (id: number, ...contents: number[]) =>
    Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, id, contents.length, ...contents);

  it.each([
    ['an empty file', new Uint8Array(0), 'magic number'],
    ['a component', Uint8Array.of(0, 0x61, 0x73, 0x6d, 0x0d, 0, 1, 0), 'magic number'],
    ['two memories', section(5, 2, 0, 1, 0, 1), 'multi-memory'],
    ['a 64-bit memory', section(5, 1, 4, 1), 'memory64'],
    ['a shared memory', section(5, 1, 3, 1, 1), 'threads'],
    ['a GC type', section(1, 1, 0x5f, 0), 'GC'],
    ['an imported memory', section(2, 1, 0, 0, 2, 0, 1), 'imports a memory'],
    ['a mutable v128 global', section(6, 1, 0x7b, 1, 0xfd, 12, ...new Array(16).fill(0), 0x0b), 'v128'],
    ['an unknown section', section(99, 0), 'unknown section'],
    ['a count larger than the section', section(1, 0xff, 0xff, 0xff, 0xff, 0x0f), 'too short'],
    ['an integer that is too long', section(1, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01), '32 bits'],
  ])('%s', (_, bytes, message) => {
    const attempt = () => prepareModule(bytes, { exports: [] });
    expect(attempt).toThrow(SandboxError);
    expect(attempt).toThrow(message);
  });
});

describe('recursion through the host', () => {
  it('is stopped by a check in every function that calls a replaced one', () => {
    const functions: ModuleSource['functions'] = [
      { type: 0, code: [['i32.const', 0]], export: 'host' },
      { type: 0, code: [['call', 0]], export: 'run' },
    ];
    const prepared = prepare({ ...SOURCE, types: [[[], ['i32']]], functions }, { hostOverrides: ['host'] });
    const memory = new WebAssembly.Memory({ initial: 2, maximum: 2 });
    const module = new WebAssembly.Module(prepared.bytes as BufferSource);
    const { exports } = new WebAssembly.Instance(module, { env: { memory } });
    const trampoline = new WebAssembly.Module(
      trampolineModule([
        { params: [], results: [] },
        { params: [], results: ['i32'] },
      ]) as BufferSource,
    );
    let refillCalls = 0;
    const host = { 0: () => refillCalls++, 1: () => (exports.run as () => number)() };
    const entries = new WebAssembly.Instance(trampoline, { host }).exports;
    (exports.host as WebAssembly.Table).set(0, entries['0']);
    (exports.host as WebAssembly.Table).set(1, entries['1']);
    (exports.fuel as WebAssembly.Global<'i64'>).value = 50n;
    expect(() => (exports.run as () => number)()).toThrow(WebAssembly.RuntimeError);
    expect(refillCalls).toBe(1);
  });
});
