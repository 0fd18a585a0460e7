import { describe, expect, test } from 'vitest';
import { FunctionTable } from '../../packages/core/src/engine/function-table.ts';
import type { Guest } from '../../packages/core/src/engine/guest.ts';
import { LinkFailure } from '../../packages/core/src/engine/link-failure.ts';
import {
  type LinkState,
  linkState,
  MAX_HANDLES,
  MAX_LINKED_SYMBOLS,
  MAX_SIDE_MODULES,
  MAX_SLOTS,
  MAX_TABLE_ENTRIES,
} from '../../packages/core/src/engine/link-state.ts';
import { UNLIMITED_RUN } from '../../packages/core/src/engine/run-context.ts';
import { sideModuleStub } from '../../packages/core/src/engine/side-module-stub-file.ts';
import { checked } from '../../packages/core/src/framing/json-checks.ts';
import type { Code } from '../wasm/assembler.ts';
import { MEMORY_BASE, TABLE_BASE } from '../wasm/link-assembler.ts';
import {
  addFile,
  addLink,
  install,
  MAIN_DATA,
  MAIN_TABLE,
  MAX_BLOCK,
  newGuest,
  type SideSource,
} from './link-fixtures.ts';

const GOT = { global: 'i32', mutable: true } as const;
/** Loads the word at an offset from the memory base. */
const load = (offset: number): Code[] => [MEMORY_BASE, ['i32.load', 2, offset]];
const store = (offset: number, ...value: Code[]): Code[] => [MEMORY_BASE, ...value, ['i32.store', 2, offset]];

let handles = 0;

/** Opens a module and returns functions that call its exports. */
function open(guest: Guest, path: string, isGlobal = false) {
  const handle = ++handles;
  const module = guest.linker.open(`/lib/${path}`, isGlobal, handle);
  return {
    handle,
    ...module.at,
    address: (name: string) => guest.linker.symbol(handle, name),
    call: (name: string, ...args: number[]) => guest.callTable(guest.linker.symbol(handle, name), ...args),
  };
}

const counter = install('counter.so', {
  dylink: { memory: [16, 4], table: [1, 0] },
  imports: [
    ['env', 'main_add', { func: 2 }],
    ['env', 'host_twice', { func: 1 }],
    ['env', 'missing', { func: 1 }],
    ['GOT.mem', 'main_data', GOT],
    ['GOT.mem', 'own_data', GOT],
    ['GOT.func', 'main_add', GOT],
    ['GOT.func', 'main_unlisted', GOT],
    ['GOT.func', 'count', GOT],
  ],
  globals: [{ mutable: true, init: [['i32.const', 5]] }, { init: [['i32.const', 8]] }],
  exports: [['own_data', 'global', 9]],
  functions: [
    // 3: adds its parameter to a word in memory and to a global.
    {
      type: 1,
      export: 'count',
      code: [
        ...store(0, ...load(0), ['local.get', 0], ['call', 0]),
        ['global.get', 8],
        ['local.get', 0],
        ['i32.add'],
        ['global.set', 8],
        ...load(0),
      ],
    },
    { type: 1, export: 'global', code: [['global.get', 8]] },
    {
      type: 1,
      export: 'twice',
      code: [
        ['local.get', 0],
        ['call', 1],
      ],
    },
    {
      type: 1,
      export: 'call_missing',
      code: [
        ['local.get', 0],
        ['call', 2],
      ],
    },
    // 7: the global offset table entry with this index.
    {
      type: 1,
      export: 'offset',
      code: [
        ['global.get', 3],
        ['local.get', 0],
        ['i32.eqz'],
        ['br_if', 0],
        ['drop'],
        ['global.get', 4],
        ['local.get', 0],
        ['i32.const', 1],
        ['i32.eq'],
        ['br_if', 0],
        ['drop'],
        ['global.get', 5],
        ['local.get', 0],
        ['i32.const', 2],
        ['i32.eq'],
        ['br_if', 0],
        ['drop'],
        ['global.get', 6],
        ['local.get', 0],
        ['i32.const', 3],
        ['i32.eq'],
        ['br_if', 0],
        ['drop'],
        ['global.get', 7],
      ],
    },
    // 8, 9, 10: each appends its digit to the word at offset 4.
    { type: 0, code: store(4, ...load(4), ['i32.const', 10], ['i32.mul'], ['i32.const', 1], ['i32.add']) },
    {
      type: 0,
      export: '__wasm_apply_data_relocs',
      code: store(4, ...load(4), ['i32.const', 10], ['i32.mul'], ['i32.const', 2], ['i32.add']),
    },
    {
      type: 0,
      export: '__wasm_call_ctors',
      code: store(4, ...load(4), ['i32.const', 10], ['i32.mul'], ['i32.const', 3], ['i32.add']),
    },
    { type: 1, export: 'order', code: load(4) },
    { type: 1, export: 'zero', code: load(12) },
  ],
  start: 8,
  elements: [{ at: [TABLE_BASE], functions: [3] }],
  data: [{ at: [MEMORY_BASE], bytes: [100, 0, 0, 0] }],
});

describe('loading', () => {
  const guest = newGuest();
  // Memory that the module gets must be cleared.
  guest.view.all.fill(0xff, 65_536);
  const module = open(guest, 'counter.so');

  test('places memory and table entries and writes the data', () => {
    expect(module.memoryBase % 16).toBe(0);
    expect(module.tableBase).toBe(MAIN_TABLE);
    expect(module.call('count', 7)).toBe(107);
    expect(module.call('zero', 0)).toBe(0);
  });

  test('calls start function, relocations and constructors once, in this order', () => {
    expect(module.call('order', 0)).toBe(123);
    expect(open(guest, 'counter.so').call('order', 0)).toBe(123);
  });

  test('links functions of the main module and of the host', () => {
    expect(module.call('twice', 21)).toBe(42);
    expect(module.call('global', 0)).toBe(12);
  });

  test('fills the global offset table with addresses of the main module and its own', () => {
    expect(module.call('offset', 0)).toBe(MAIN_DATA);
    expect(module.call('offset', 1)).toBe(module.memoryBase + 8);
    // Functions that have a table entry keep it.
    expect(module.call('offset', 2)).toBe(1);
    expect(module.call('offset', 4)).toBe(module.tableBase);
    expect(module.address('count')).toBe(module.tableBase);
    // Others get one, always the same.
    const unlisted = module.call('offset', 3);
    expect(unlisted).toBeGreaterThan(module.tableBase);
    expect(guest.callTable(unlisted, 1)).toBe(1001);
    expect(module.address('global')).toBe(module.address('global'));
    expect(module.address('own_data')).toBe(module.memoryBase + 8);
  });

  test('stops the guest when it calls a function that does not exist', () => {
    expect(() => module.call('call_missing', 1)).toThrow(
      expect.objectContaining({ stop: expect.objectContaining({ reason: 'denied_call' }) }),
    );
  });
});

describe('libraries', () => {
  install('libs/liba.so', {
    dylink: { memory: [4, 2] },
    exports: [['shared', 'global', 3]],
    globals: [{ init: [['i32.const', 0]] }],
    functions: [{ type: 1, export: 'lib_square', code: [['local.get', 0], ['local.get', 0], ['i32.mul']] }],
    data: [{ at: [MEMORY_BASE], bytes: [9, 0, 0, 0] }],
  });
  install('user.so', {
    dylink: { needed: ['liba.so'], runtimePaths: ['/nowhere', '$ORIGIN/libs'] },
    imports: [
      ['env', 'lib_square', { func: 1 }],
      ['GOT.mem', 'shared', GOT],
    ],
    functions: [
      {
        type: 1,
        export: 'square',
        code: [
          ['local.get', 0],
          ['call', 0],
        ],
      },
      {
        type: 1,
        export: 'shared_value',
        code: [
          ['global.get', 3],
          ['i32.load', 2, 0],
        ],
      },
    ],
  });
  install('lost.so', { dylink: { needed: ['libz.so'], runtimePaths: ['$ORIGIN'] }, functions: [] });
  install('cycle.so', { dylink: { needed: ['cycle.so'], runtimePaths: ['$ORIGIN'] }, functions: [] });
  install('plain.so', {
    imports: [['env', 'lib_square', { func: 1 }]],
    functions: [
      {
        type: 1,
        export: 'square',
        code: [
          ['local.get', 0],
          ['call', 0],
        ],
      },
    ],
  });
  install('weak.so', {
    dylink: { imports: [['GOT.func', 'nowhere', 1]] },
    imports: [['GOT.func', 'nowhere', GOT]],
    functions: [{ type: 1, export: 'value', code: [['global.get', 3]] }],
  });
  install('undefined.so', { imports: [['GOT.mem', 'nowhere', GOT]], functions: [] });
  install('address.so', { imports: [['GOT.func', 'host_twice', GOT]], functions: [] });
  install('mismatch.so', {
    dylink: { memory: [64, 0], table: [3, 0] },
    imports: [['env', 'main_add', { func: 1 }]],
    functions: [],
  });
  install('large.so', { dylink: { memory: [MAX_BLOCK, 2] }, functions: [] });
  addLink('alias.so', 'counter.so');
  addFile('text.so', new TextEncoder().encode('not a stub'));
  addFile('other.so', sideModuleStub('0'.repeat(64)));

  test('are found through the search path of the module, and their symbols are used', () => {
    const module = open(newGuest(), 'user.so');
    expect(module.call('square', 12)).toBe(144);
    expect(module.call('shared_value', 0)).toBe(9);
    expect(module.call('lib_square', 3)).toBe(9);
  });

  test('offer their symbols to later modules only if they are opened globally', () => {
    const guest = newGuest();
    open(guest, 'user.so');
    expect(() => open(guest, 'plain.so').call('square', 2)).toThrow();
    const other = newGuest();
    open(other, 'libs/liba.so', true);
    expect(open(other, 'plain.so').call('square', 2)).toBe(4);
  });

  test('are loaded once, whatever path leads to them', () => {
    const guest = newGuest();
    open(guest, 'counter.so').call('count', 1);
    expect(open(guest, 'alias.so').call('count', 1)).toBe(102);
    expect(guest.linker.state()!.modules).toHaveLength(1);
  });

  test('leave weak symbols zero', () => {
    expect(open(newGuest(), 'weak.so').call('value', 0)).toBe(0);
  });

  test.each([
    ['lost.so', 'needs libz.so'],
    ['cycle.so', 'depends on itself'],
    ['undefined.so', 'undefined symbol: nowhere'],
    ['address.so', 'takes the address of host_twice, but host_twice is a host function'],
    ['mismatch.so', 'main_add'],
    ['large.so', 'not enough memory'],
    ['text.so', 'not a library of an installed package'],
    ['other.so', 'is not installed'],
    ['missing.so', 'ENOENT'],
    ['libs', 'not a library of an installed package'],
  ])('leave no trace if they fail to load: %s (%s)', (path, message) => {
    const guest = newGuest();
    expect(() => open(guest, path)).toThrow(LinkFailure);
    expect(() => open(guest, path)).toThrow(message);
    expect(guest.linker.state()).toBeUndefined();
    expect(open(guest, 'counter.so').tableBase).toBe(MAIN_TABLE);
  });

  // guarantee: native-libraries
  // proves: Libraries are not loaded from files that a guest can write.
  test('are not loaded from files that a guest can write', () => {
    const guest = newGuest();
    guest.kernel.volume.fill('/app', [
      { path: 'copy.so', kind: 'file', mode: 0o644, mtimeMs: 0, data: sideModuleStub(counter) },
    ]);
    expect(() => guest.linker.open('/app/copy.so', false, 1)).toThrow(
      'not a library of an installed package',
    );
  });

  test('do not reveal symbols of the main module or of unknown handles', () => {
    const guest = newGuest();
    const { handle } = open(guest, 'counter.so');
    expect(() => guest.linker.symbol(handle, 'malloc')).toThrow('undefined symbol');
    expect(() => guest.linker.symbol(handle + 1, 'count')).toThrow('not available');
  });
});

describe('exceeding the limit of a guest', () => {
  const WIDE_TABLE = 65_536;
  const empty = install('empty.so', { dylink: { memory: [0, 0] }, functions: [] });
  const wide = install('wide.so', { dylink: { memory: [0, 0], table: [WIDE_TABLE, 0] }, functions: [] });
  for (let i = 0; i <= MAX_SIDE_MODULES; i++) addFile(`many-${i}.so`, sideModuleStub(empty));
  for (let i = 0; i < 5; i++) addFile(`wide-${i}.so`, sideModuleStub(wide));

  test('on open libraries is an error', () => {
    const guest = newGuest();
    for (let handle = 1; handle <= MAX_HANDLES; handle++) guest.linker.open('/lib/empty.so', false, handle);
    expect(() => guest.linker.open('/lib/empty.so', false, MAX_HANDLES + 1)).toThrow(
      'too many libraries are open',
    );
    expect(guest.linker.state()!.modules[0]!.handles).toHaveLength(MAX_HANDLES);
  });

  test('on loaded libraries is an error', () => {
    const guest = newGuest();
    for (let i = 0; i < MAX_SIDE_MODULES; i++) guest.linker.open(`/lib/many-${i}.so`, false, i + 1);
    expect(() => guest.linker.open(`/lib/many-${MAX_SIDE_MODULES}.so`, false, 1)).toThrow(
      'too many libraries are loaded',
    );
    expect(guest.linker.state()!.modules).toHaveLength(MAX_SIDE_MODULES);
  });

  test('on the function table is an error', () => {
    const guest = newGuest();
    const fitting = Math.floor((MAX_TABLE_ENTRIES - MAIN_TABLE) / WIDE_TABLE);
    for (let i = 0; i < fitting; i++) guest.linker.open(`/lib/wide-${i}.so`, false, i + 1);
    expect(() => guest.linker.open(`/lib/wide-${fitting}.so`, false, 99)).toThrow(
      'the function table is full',
    );
    expect(guest.linker.state()!.modules).toHaveLength(fitting);
  });

  test('on imported symbols is an error, also for a restored state', { tags: 'full' }, () => {
    const COUNT = 45_000;
    const imports = Array.from({ length: COUNT }, () => ['GOT.mem', 'main_data', GOT] as const);
    const source = { dylink: { memory: [0, 0] as const }, imports, functions: [] };
    const sha256 = install('symbols.so', source);
    for (let i = 0; i < 10; i++) addFile(`symbols-${i}.so`, sideModuleStub(sha256));
    const guest = newGuest();
    guest.beginRun({ ...UNLIMITED_RUN, fuelBudget: 1e12 });
    const fitting = Math.floor(MAX_LINKED_SYMBOLS / (COUNT + 10));
    for (let i = 0; i < fitting; i++) guest.linker.open(`/lib/symbols-${i}.so`, false, i + 1);
    const message = 'the libraries import too many symbols';
    expect(() => guest.linker.open(`/lib/symbols-${fitting}.so`, false, 99)).toThrow(message);
    const state = guest.linker.state()!;
    expect(state.modules).toHaveLength(fitting);
    const forged = { ...state.modules.at(-1)!, path: '/lib/symbols-9.so', handles: [99] };
    expect(() => newGuest().linker.restore({ ...state, modules: [...state.modules, forged] })).toThrow(
      message,
    );
  });

  test('on function pointers is an error', () => {
    const table = new FunctionTable(new WebAssembly.Table({ element: 'anyfunc', initial: 0 }));
    for (let i = 0; i < MAX_SLOTS; i++) table.slotFor(undefined, `f${i}`, () => null);
    expect(() => table.slotFor(undefined, 'one more', () => null)).toThrow('too many function pointers');
    expect(table.slotFor(undefined, 'f7', () => null)).toBe(7);
  });
});

describe('code of side modules', () => {
  install('code.so', {
    imports: [
      ['env', 'main_throw', { func: 1 }],
      ['env', 'call_and_catch', { func: 2 }],
      ['env', '__cpp_exception', { tag: 3 }],
    ],
    functions: [
      {
        type: 1,
        export: 'throws',
        code: [
          ['local.get', 0],
          ['throw', 0],
        ],
      },
      {
        type: 1,
        export: 'catches',
        locals: ['i32'],
        code: [
          {
            op: 'try',
            body: [['local.get', 0], ['call', 0], ['drop']],
            catch: [['i32.const', 2], ['i32.mul'], ['local.set', 1]],
          },
          ['local.get', 1],
        ],
      },
      {
        type: 1,
        export: 'simd',
        code: [
          ['local.get', 0],
          ['i32x4.splat'],
          ['i32.const', 3],
          ['i32x4.splat'],
          ['i32x4.mul'],
          ['i32x4.extract_lane', 2],
        ],
      },
      {
        type: 1,
        export: 'loop',
        code: [
          {
            op: 'loop',
            type: 'void',
            body: [['local.get', 0], ['i32.const', 1], ['i32.sub'], ['local.tee', 0], ['br_if', 0]],
          },
          ['local.get', 0],
        ],
      },
      { type: 1, export: 'recurse', code: [['local.get', 0], ['call', 6], ['i32.const', 1], ['i32.add']] },
    ],
  });

  test('throws exceptions that the main module catches, and catches those of the main module', () => {
    const guest = newGuest();
    const module = open(guest, 'code.so');
    expect(guest.call('call_and_catch', module.address('throws'), 41)).toBe(42);
    expect(module.call('catches', 21)).toBe(42);
  });

  test('can use SIMD', () => {
    expect(open(newGuest(), 'code.so').call('simd', 14)).toBe(42);
  });

  test('is charged exactly', () => {
    const guest = newGuest();
    const module = open(guest, 'code.so');
    const address = module.address('loop');
    const cost = (turns: number) => {
      const before = guest.fuelConsumed;
      guest.callTable(address, turns);
      return guest.fuelConsumed - before;
    };
    expect(cost(1_000_001) - cost(1)).toBe(5_000_000);
  });

  test('is stopped when the fuel is used up', () => {
    const guest = newGuest();
    const module = open(guest, 'code.so');
    guest.beginRun({ ...UNLIMITED_RUN, fuelBudget: 10_000_000 });
    expect(() => module.call('loop', 0)).toThrow(
      expect.objectContaining({ stop: expect.objectContaining({ reason: 'out_of_fuel' }) }),
    );
    expect(guest.limitReached).toBe('out_of_fuel');
  });

  test('is stopped when the stack in guest memory is full', () => {
    const guest = newGuest();
    const module = open(guest, 'code.so');
    expect(() => module.call('recurse', 0)).toThrow(WebAssembly.RuntimeError);
    expect(guest.stack.isFull).toBe(true);
  });

  test('costs the same fuel to load in every guest', () => {
    const fuel = () => {
      const guest = newGuest();
      open(guest, 'user.so');
      return guest.fuelConsumed;
    };
    expect(fuel()).toBe(fuel());
    expect(fuel()).toBeGreaterThan(200_000);
  });
});

/** What the static linker writes for C++ with templates and inline functions: weak functions are imported and exported. */
describe('weak functions and variables', () => {
  /** An inline function with a static variable, and a caller of it. The variable is the first word of the memory. */
  const counting = (increment: number, caller: string): SideSource => ({
    dylink: { memory: [8, 2] },
    imports: [
      ['env', 'inline_count', { func: 1 }],
      ['GOT.mem', 'static_variable', GOT],
      ['GOT.func', 'inline_count', GOT],
    ],
    globals: [{ init: [['i32.const', 0]] }],
    exports: [['static_variable', 'global', 5]],
    functions: [
      {
        type: 1,
        export: 'inline_count',
        code: [
          ['global.get', 3],
          ['global.get', 3],
          ['i32.load', 2, 0],
          ['i32.const', increment],
          ['i32.add'],
          ['i32.store', 2, 0],
          ['global.get', 3],
          ['i32.load', 2, 0],
        ],
      },
      {
        type: 1,
        export: caller,
        code: [
          ['local.get', 0],
          ['call', 0],
        ],
      },
      { type: 1, export: `${caller}_pointer`, code: [['global.get', 4]] },
    ],
  });
  install('libs/libcount.so', counting(1, 'count_in_library'));
  for (const name of ['first', 'second']) {
    const { dylink, ...rest } = counting(10, `count_in_${name}`);
    install(`${name}.so`, {
      ...rest,
      dylink: { ...dylink, needed: ['libcount.so'], runtimePaths: ['$ORIGIN/libs'] },
    });
  }

  test('are called in the module itself, and the variables are those of the first module that has them', () => {
    const guest = newGuest();
    const first = open(guest, 'first.so');
    const second = open(guest, 'second.so');
    // Each module calls its own copy of the function. All copies use the variable of the library.
    expect(first.call('count_in_library', 0)).toBe(1);
    expect(first.call('count_in_first', 0)).toBe(11);
    expect(second.call('count_in_second', 0)).toBe(21);
    // Function pointers are equal in all modules.
    const pointers = [
      first.call('count_in_library_pointer', 0),
      first.call('count_in_first_pointer', 0),
      second.call('count_in_second_pointer', 0),
    ];
    expect(new Set(pointers).size).toBe(1);
    expect(guest.callTable(pointers[0]!, 0)).toBe(22);
    expect(guest.linker.state()!.modules.map(({ path }) => path)).toEqual([
      '/lib/libs/libcount.so',
      '/lib/first.so',
      '/lib/second.so',
    ]);
  });

  test('behave in the same way, with the same fuel, in a guest to which the state was copied', () => {
    const from = newGuest();
    const { handle } = open(from, 'first.so');
    const to = newGuest();
    copyTo(from, to);
    const results = [from, to].map((guest) => {
      const before = guest.fuelConsumed;
      const address = guest.linker.symbol(handle, 'count_in_first');
      return [guest.callTable(address, 0), guest.callTable(address, 0), guest.fuelConsumed - before];
    });
    expect(results[0]).toEqual(results[1]);
    expect(results[0]!.slice(0, 2)).toEqual([10, 20]);
  });

  test('of the main module replace those of a library', () => {
    install('replaced.so', {
      imports: [['env', 'main_add', { func: 2 }]],
      functions: [
        { type: 2, export: 'main_add', code: [['i32.const', -1]] },
        {
          type: 1,
          export: 'use',
          code: [
            ['local.get', 0],
            ['i32.const', 2],
            ['call', 0],
          ],
        },
      ],
    });
    expect(open(newGuest(), 'replaced.so').call('use', 40)).toBe(42);
  });

  test('throw exceptions through several modules', () => {
    // The library throws; the weak function of the user passes the exception on; the user catches it.
    install('libs/libthrow.so', {
      imports: [['env', '__cpp_exception', { tag: 3 }]],
      functions: [
        {
          type: 1,
          export: 'lib_throw',
          code: [
            ['local.get', 0],
            ['throw', 0],
          ],
        },
      ],
    });
    install('catcher.so', {
      dylink: { needed: ['libthrow.so'], runtimePaths: ['$ORIGIN/libs'] },
      imports: [
        ['env', 'lib_throw', { func: 1 }],
        ['env', 'inline_throw', { func: 1 }],
        ['env', '__cpp_exception', { tag: 3 }],
      ],
      functions: [
        {
          type: 1,
          export: 'inline_throw',
          code: [
            ['local.get', 0],
            ['call', 0],
          ],
        },
        {
          type: 1,
          export: 'catches',
          locals: ['i32'],
          code: [
            {
              op: 'try',
              body: [['local.get', 0], ['call', 1], ['drop']],
              catch: [['i32.const', 100], ['i32.add'], ['local.set', 1]],
            },
            ['local.get', 1],
          ],
        },
      ],
    });
    const guest = newGuest();
    const module = open(guest, 'catcher.so');
    expect(module.call('catches', 5)).toBe(105);
    expect(guest.call('call_and_catch', module.address('inline_throw'), 41)).toBe(42);
  });
});

describe('the floating-point status', () => {
  const drop = (index: number): Code[] => [['i32.const', 0], ['call', index], ['drop']];
  const imports = [
    ['env', 'fetestexcept', { func: 1 }],
    ['env', 'feraiseexcept', { func: 1 }],
  ] as const;
  // The functions of numpy, whose constants are 0. Function 2 reads the status, 3 clears it, and 4 sets a flag.
  install('status.so', {
    imports,
    functions: [
      { type: 1, code: [...drop(0), ['i32.const', 0]], export: 'read' },
      { type: 1, code: [['local.get', 0], ['call', 2], ['drop'], ['i32.const', 0]], export: 'clear' },
      { type: 0, code: drop(1), export: 'merged' },
      {
        type: 1,
        code: [
          ['call', 4],
          ['i32.const', 0],
        ],
        export: 'set',
      },
    ],
  });
  install('algebra.so', {
    imports,
    functions: [{ type: 1, code: [...drop(1), ['local.get', 0]], export: 'fail' }],
  });

  test('is read and cleared by one library after another has set it', () => {
    const guest = newGuest();
    const status = open(guest, 'status.so');
    const algebra = open(guest, 'algebra.so');
    const read = () => status.call('read', 0);
    const values = [read()];
    algebra.call('fail', 1);
    values.push(read(), read(), status.call('clear', 0), read());
    // Which flag this sets is not known.
    status.call('set', 0);
    values.push(read());
    expect(values).toEqual([0, 8, 8, 8, 0, 0]);
  });
});

/** Copies memory and state of a guest to another one. */
function copyTo(from: Guest, to: Guest): void {
  to.view.all.set(from.view.all);
  to.setGlobals(from.globals());
  const state: unknown = JSON.parse(JSON.stringify(from.linker.state() ?? null));
  to.linker.restore(state === null ? undefined : checkedState(state));
}

function checkedState(state: unknown): LinkState {
  return checked(linkState, state, (path) => new Error(`the link state is invalid at ${path}`));
}

describe('link state', () => {
  test('is restored in another guest, where no code of the modules runs', () => {
    const first = newGuest();
    const module = open(first, 'counter.so');
    open(first, 'user.so');
    module.call('count', 5);
    const unlisted = module.call('offset', 3);
    const second = newGuest();
    copyTo(first, second);
    const call = (guest: Guest, name: string, ...args: number[]) =>
      guest.callTable(guest.linker.symbol(module.handle, name), ...args);
    expect(second.fuelConsumed).toBe(0);
    expect(second.callTable(unlisted, 1)).toBe(1001);
    for (const guest of [first, second]) {
      expect(call(guest, 'order', 0)).toBe(123);
      expect(call(guest, 'count', 1)).toBe(106);
      expect(call(guest, 'global', 0)).toBe(11);
    }
    // Both continue in the same way.
    const fuels = [first, second].map((guest) => {
      const before = guest.fuelConsumed;
      const { address } = open(guest, 'code.so');
      return [guest.fuelConsumed - before, address('simd')];
    });
    expect(fuels[0]).toEqual(fuels[1]);
  });

  test('is restored in place: modules at the same place are kept, others are dropped', () => {
    const guest = newGuest();
    open(guest, 'user.so');
    const memory = guest.view.all.slice();
    const globals = guest.globals();
    const saved = guest.linker.state();
    const { tableBase } = open(guest, 'counter.so');
    expect(guest.table.get(tableBase)).not.toBeNull();
    guest.view.all.set(memory);
    guest.setGlobals(globals);
    guest.linker.restore(saved);
    expect(guest.linker.state()).toEqual(saved);
    expect(guest.table.get(tableBase)).toBeNull();
    expect(open(guest, 'counter.so').tableBase).toBe(tableBase);
    guest.linker.restore(undefined);
    expect(guest.linker.state()).toBeUndefined();
    expect(open(guest, 'counter.so').tableBase).toBe(MAIN_TABLE);
  });

  test('is restored in place again and again, whether code has run or libraries were opened', () => {
    const guest = newGuest();
    const count = open(guest, 'counter.so').address('count');
    const memory = guest.view.all.slice();
    const globals = guest.globals();
    const saved = guest.linker.state()!;
    const changes = [
      () => guest.callTable(count, 5),
      () => guest.callTable(count, 6),
      () => open(guest, 'user.so').tableBase,
      () => guest.callTable(count, 7),
    ];
    const changed = changes.map((change) => {
      change();
      const isChanged = JSON.stringify(guest.linker.state()) !== JSON.stringify(saved);
      guest.view.all.set(memory);
      guest.setGlobals(globals);
      guest.linker.restore(saved);
      expect(guest.linker.state()).toEqual(saved);
      return isChanged;
    });
    expect(changed).toEqual([true, true, true, true]);
    expect(guest.callTable(count, 1)).toBe(101);
  });

  const opened = () => {
    const guest = newGuest();
    open(guest, 'counter.so');
    open(guest, 'user.so');
    return guest.linker.state()!;
  };
  const at = (path: string, value: (old: never) => unknown) => ({ path: path.split('.'), value });
  test.each([
    ['an unknown module', at('modules.0.sha256', () => 'f'.repeat(64))],
    ['table entries of the main module', at('modules.0.table_base', () => 1)],
    ['table entries beyond the end', at('table_end', () => MAIN_TABLE)],
    ['a table that is too short', at('table_end', () => 0)],
    ['memory that does not exist', at('modules.0.memory_base', () => 0xffff_0000)],
    ['a scope of later modules', at('modules.0.scope', () => [1])],
    ['needed modules that do not exist', at('modules.0.needed', () => [7])],
    ['too few globals', at('modules.0.globals', () => [])],
    ['a module that is loaded twice', at('modules', (modules: unknown[]) => [...modules, modules[0]])],
    ['a slot of the main module', at('slots.0.slot', () => 1)],
    ['a slot in the part of a module', at('slots.0.slot', () => MAIN_TABLE)],
    ['a function that does not exist', at('slots.0.name', () => '__proto__')],
    ['a slot of a module that does not exist', at('slots.0.module', () => 9)],
  ])('is rejected with %s', (_, { path, value }) => {
    type Fields = Record<string, unknown>;
    const state = structuredClone(opened());
    const last = path.at(-1)!;
    const parent = path.slice(0, -1).reduce((found, key) => found[key] as Fields, state as unknown as Fields);
    parent[last] = value(parent[last] as never);
    expect(() => newGuest().linker.restore(checkedState(state))).toThrow(LinkFailure);
  });

  test.each<[what: string, change: (state: LinkState) => unknown]>([
    ['an unknown field', (state) => ({ ...state, more: 1 })],
    ['no modules', (state) => ({ ...state, modules: [] })],
    ['a table of any size', (state) => ({ ...state, table_end: 2 ** 31 })],
    ['a value that is not an integer', (state) => ({ ...state, table_end: 0.5 })],
    [
      'a digest that is not one',
      ({ modules, ...rest }) => ({ ...rest, modules: [{ ...modules[0], sha256: 'x' }] }),
    ],
    [
      'globals of 64 bits',
      ({ modules, ...rest }) => ({ ...rest, modules: [{ ...modules[0], globals: [2 ** 40] }] }),
    ],
  ])('does not match its schema with %s', (_, change) => {
    expect(linkState(change(opened()))).toBeDefined();
  });
});
