import { describe, expect, test } from 'vitest';
import { prepareSideModule } from '../../packages/core/src/wasm/prepare-side-module.ts';
import type { SideModuleFacts } from '../../packages/core/src/wasm/sandbox-sections.ts';
import type { Code } from './assembler.ts';
import { buildLinked, type LinkSource, MEMORY_BASE, TABLE_BASE, USUAL_IMPORTS } from './link-assembler.ts';

const EMPTY: LinkSource = {
  dylink: { memory: [16, 2], table: [2, 0] },
  types: [
    [[], []],
    [['i32'], ['i32']],
  ],
  imports: USUAL_IMPORTS,
  functions: [{ type: 0, code: [], export: 'f' }],
};
const withCode = (...code: Code[]): LinkSource => ({ ...EMPTY, functions: [{ type: 0, code, export: 'f' }] });
const withImport = (...entry: NonNullable<LinkSource['imports']>[number]): LinkSource => ({
  ...EMPTY,
  imports: [...USUAL_IMPORTS, entry],
});

function factsOf(prepared: Uint8Array): SideModuleFacts {
  const module = new WebAssembly.Module(prepared as BufferSource);
  const [section] = WebAssembly.Module.customSections(module, 'sandbox.side');
  return JSON.parse(new TextDecoder().decode(section));
}

describe('prepareSideModule', () => {
  test('describes what the linker has to provide', () => {
    const prepared = prepareSideModule(
      buildLinked({
        dylink: {
          memory: [32, 3],
          table: [2, 1],
          needed: ['libb.so'],
          runtimePaths: ['$ORIGIN/libs'],
          imports: [
            ['GOT.mem', 'maybe', 1],
            ['GOT.mem', 'other', 0],
          ],
          exports: [['f', 0]],
        },
        types: EMPTY.types,
        imports: [
          ...USUAL_IMPORTS,
          ['env', 'puts', { func: 1 }],
          ['wasi_snapshot_preview1', 'fd_write', { func: 1 }],
          ['GOT.mem', 'maybe', { global: 'i32', mutable: true }],
          ['GOT.func', 'qsort', { global: 'i32', mutable: true }],
          ['env', '__cpp_exception', { tag: 0 }],
        ],
        functions: [
          { type: 0, code: [], export: 'f' },
          { type: 0, code: [] },
        ],
        globals: [
          { mutable: true, init: [['i32.const', 7]] },
          { init: [MEMORY_BASE, ['i32.const', 4], ['i32.add']] },
          { init: [['i32.const', 20]] },
        ],
        exports: [['table_of_names', 'global', 7]],
        start: 3,
        elements: [{ at: [TABLE_BASE], functions: [3, 2] }],
        data: [
          { at: [MEMORY_BASE], bytes: [1, 2, 3] },
          { at: [['i32.const', 16], MEMORY_BASE, ['i32.add']], bytes: [9] },
        ],
      }),
    );
    expect(factsOf(prepared)).toEqual({
      memoryBytes: 32,
      memoryAlign: 8,
      tableSize: 2,
      tableAlign: 2,
      needed: ['libb.so'],
      runtimePaths: ['$ORIGIN/libs'],
      weak: ['maybe'],
      functions: [
        ['env', 'puts'],
        ['wasi_snapshot_preview1', 'fd_write'],
      ],
      tags: ['__cpp_exception'],
      gotMem: ['maybe'],
      gotFunc: ['qsort'],
      globals: [
        { mutable: true, base: 'none', offset: 7 },
        { mutable: false, base: 'memory', offset: 4 },
        { mutable: false, base: 'none', offset: 20 },
      ],
      exportedFunctions: [['f', 1]],
      exportedData: [['table_of_names', 20]],
      hasStart: true,
      bound: [],
      data: [[0, 17]],
    });
  });

  test('leaves nothing that takes effect at instantiation except its part of the table', () => {
    const source: LinkSource = { ...EMPTY, start: 0, data: [{ at: [MEMORY_BASE], bytes: [1] }] };
    const module = new WebAssembly.Module(prepareSideModule(buildLinked(source)) as BufferSource);
    expect(WebAssembly.Module.exports(module).map(({ name }) => name)).toEqual(['f', 'sandbox:start']);
    expect(WebAssembly.Module.imports(module).map(({ name }) => name)).toEqual([
      ...USUAL_IMPORTS.map(([, name]) => name),
      'fuel',
      'stack_limit',
      'host',
    ]);
  });

  describe('binds imports that the module exports itself', () => {
    const weak = (...more: Code[]): LinkSource => ({
      ...EMPTY,
      imports: [...USUAL_IMPORTS, ['env', 'puts', { func: 1 }], ['env', 'weak', { func: 0 }]],
      functions: [
        { type: 0, code: [], export: 'weak' },
        { type: 0, code: [['call', 1], ...more], export: 'f' },
      ],
    });
    const bind = (source: LinkSource, mainFunctions: readonly string[] = []) => {
      const { bound, functions } = factsOf(
        prepareSideModule(buildLinked(source), { mainFunctions: new Set(mainFunctions) }),
      );
      return { bound, functions };
    };
    const puts = ['env', 'puts'];

    test('unless the main module has a function of the same name', () => {
      expect(bind(weak())).toEqual({ bound: ['weak'], functions: [puts] });
      expect(bind(weak(), ['weak'])).toEqual({ bound: [], functions: [puts, ['env', 'weak']] });
    });

    test('unless they are in an element segment', () => {
      const listed = { ...weak(), elements: [{ at: [TABLE_BASE], functions: [1] }] };
      expect(bind(listed)).toEqual({ bound: [], functions: [puts, ['env', 'weak']] });
    });

    test('and no other import of the same name', () => {
      const source = weak();
      const imports = [...source.imports!, ['wasi_snapshot_preview1', 'weak', { func: 0 }] as const];
      expect(bind({ ...source, imports })).toEqual({
        bound: ['weak'],
        functions: [puts, ['wasi_snapshot_preview1', 'weak']],
      });
    });

    test('which must have the same type', () => {
      const source = weak();
      const functions = [
        { type: 1, code: [['local.get', 0]], export: 'weak' },
        source.functions[1]!,
      ] as const;
      const prepared = prepareSideModule(buildLinked({ ...source, functions: [...functions] as never }));
      expect(WebAssembly.validate(prepared as BufferSource)).toBe(false);
    });
  });

  test('accepts SIMD, exceptions, calls through the table and a module without imports', () => {
    for (const source of [
      withCode(['i32.const', 1], ['i32x4.splat'], ['i32x4.extract_lane', 0], ['drop']),
      withCode({ op: 'try', body: [['call', 0]], catchAll: [] }),
      withCode(['i32.const', 0], ['call_indirect', 0, 0]),
      { ...EMPTY, dylink: {}, imports: [] },
    ])
      expect(WebAssembly.validate(prepareSideModule(buildLinked(source)) as BufferSource)).toBe(true);
  });

  const { dylink: _, ...withoutDylink } = EMPTY;
  test.each<[what: string, source: LinkSource, message: string]>([
    ['no dylink.0 section', withoutDylink, 'does not start with a dylink.0 section'],
    ['an unknown subsection', { ...EMPTY, dylink: { raw: [[9, []]] } }, 'unknown subsection 9'],
    ['a repeated subsection', { ...EMPTY, dylink: { raw: [[1, [0, 0, 0, 0]]] } }, 'repeated or out of order'],
    ['extra bytes in a subsection', { ...EMPTY, dylink: { raw: [[2, [0, 0]]] } }, 'extra bytes'],
    ['too much memory', { ...EMPTY, dylink: { memory: [2 ** 31, 0] } }, 'too much memory'],
    ['too large a table', { ...EMPTY, dylink: { table: [2 ** 20, 0] } }, 'too many table entries'],
    ['a huge alignment', { ...EMPTY, dylink: { memory: [0, 31] } }, 'alignment out of range'],
    ['thread-local symbols', { ...EMPTY, dylink: { exports: [['x', 0x100]] } }, 'thread-local'],
    ['a memory of its own', { ...EMPTY, imports: [], memoryPages: 1 }, 'a memory of its own'],
    ['a table of its own', { ...EMPTY, imports: [], tables: [1] }, 'a table of its own'],
    ['a second table', { ...EMPTY, tables: [1] }, 'a table of its own'],
    ['another table', withImport('env', 'table2', { table: 0 }), 'does not provide'],
    ['the table twice', withImport('env', '__indirect_function_table', { table: 0 }), 'more than once'],
    ['another memory', { ...EMPTY, imports: [['env', 'm', { memory: 0 }]] }, 'does not provide'],
    ['shared memory', { ...EMPTY, imports: [['env', 'memory', { memory: 1, flags: 3 }]] }, 'shared'],
    ['an unknown module', withImport('js', 'eval', { func: 0 }), 'unknown module'],
    ['the imports of the rewriter', withImport('sandbox', 'fuel', { func: 0 }), 'unknown module'],
    ['the fuel counter', withImport('sandbox', 'fuel', { global: 'i64', mutable: true }), 'does not provide'],
    ['an unknown global', withImport('env', '__tls_base', { global: 'i32' }), 'does not provide'],
    ['a constant GOT entry', withImport('GOT.mem', 'x', { global: 'i32' }), 'wrong type'],
    ['a GOT entry of 64 bits', withImport('GOT.mem', 'x', { global: 'i64', mutable: true }), 'wrong type'],
    ['a mutable base', withImport('env', '__memory_base', { global: 'i32', mutable: true }), 'wrong type'],
    ['two bases', withImport('env', '__memory_base', { global: 'i32' }), 'more than once'],
    ['exceptions of JavaScript', withImport('env', 'invoke_vii', { func: 0 }), 'runs JavaScript on the host'],
    [
      'a function for exceptions of JavaScript',
      withImport('env', '__cxa_find_matching_catch_2', { func: 0 }),
      'runs JavaScript on the host',
    ],
    ['EM_ASM', withImport('env', 'emscripten_asm_const_int', { func: 0 }), 'runs JavaScript on the host'],
    ['the section of EM_ASM', { ...EMPTY, exports: [['__start_em_asm', 'global', 0]] }, 'JavaScript'],
    ['EM_JS', { ...EMPTY, exports: [['__em_js__f', 'global', 0]] }, 'JavaScript'],
    ['a reserved export', { ...EMPTY, exports: [['sandbox:start', 'function', 0]] }, 'reserved'],
    ['an exported memory', { ...EMPTY, exports: [['memory', 'memory', 0]] }, 'a memory or a table'],
    ['an exported table', { ...EMPTY, exports: [['t', 'table', 0]] }, 'a memory or a table'],
    ['an exported imported global', { ...EMPTY, exports: [['x', 'global', 0]] }, 'not the address'],
    [
      'an exported variable global',
      {
        ...EMPTY,
        globals: [{ mutable: true, init: [['i32.const', 0]] }],
        exports: [['x', 'global', 3]],
      },
      'not the address',
    ],
    ['a global of 64 bits', { ...EMPTY, globals: [{ type: 'i64', init: [['i64.const', 0]] }] }, 'not an i32'],
    [
      'a global relative to the stack',
      { ...EMPTY, globals: [{ init: [['global.get', 2]] }] },
      'not known at link time',
    ],
    ['table.set', withCode(['i32.const', 0], ['ref.null', 0x70], ['table.set', 0]), 'table.set'],
    ['table.grow', withCode(['ref.null', 0x70], ['i32.const', 1], ['table.grow', 0], ['drop']), 'table.grow'],
    [
      'table.fill',
      withCode(['i32.const', 0], ['ref.null', 0x70], ['i32.const', 1], ['table.fill', 0]),
      'table.fill',
    ],
    [
      'table.copy',
      withCode(['i32.const', 0], ['i32.const', 0], ['i32.const', 0], ['table.copy', 0, 0]),
      'table.copy',
    ],
    [
      'elem.drop',
      { ...withCode(['elem.drop', 0]), elements: [{ at: [TABLE_BASE], functions: [0] }] },
      'elem.drop',
    ],
    ['memory.grow', withCode(['i32.const', 1], ['memory.grow', 0], ['drop']), 'allocator of the main module'],
    [
      'data.drop',
      { ...withCode(['data.drop', 0]), data: [{ at: [MEMORY_BASE], bytes: [1] }] },
      'data segments',
    ],
    ['a passive data segment', { ...EMPTY, data: [{ bytes: [1] }] }, 'not relative to __memory_base'],
    ['data at a fixed address', { ...EMPTY, data: [{ at: [['i32.const', 8]], bytes: [1] }] }, 'not relative'],
    ['data relative to the table', { ...EMPTY, data: [{ at: [TABLE_BASE], bytes: [1] }] }, 'not relative'],
    [
      'data beyond its memory',
      { ...EMPTY, data: [{ at: [MEMORY_BASE], bytes: new Array(17).fill(1) }] },
      'beyond',
    ],
    [
      'data before its memory',
      { ...EMPTY, data: [{ at: [MEMORY_BASE, ['i32.const', -4], ['i32.add']], bytes: [1] }] },
      'beyond',
    ],
    [
      'functions at a fixed table entry',
      { ...EMPTY, elements: [{ at: [['i32.const', 1]], functions: [0] }] },
      'not a list of functions relative',
    ],
    [
      'functions beyond its part of the table',
      { ...EMPTY, elements: [{ at: [TABLE_BASE], functions: [0, 0, 0] }] },
      'exceeds the table size that the module declares (2)',
    ],
    [
      'functions before its part of the table',
      { ...EMPTY, elements: [{ at: [TABLE_BASE, ['i32.const', -1], ['i32.add']], functions: [0] }] },
      'exceeds the table size that the module declares (2)',
    ],
    ['relaxed SIMD', withCode(['f32x4.relaxed_madd']), 'relaxed SIMD'],
  ])('rejects %s', (_what, source, message) => {
    const bytes = buildLinked(source);
    expect(() => prepareSideModule(bytes)).toThrow(
      expect.objectContaining({ code: 'module_invalid', message: expect.stringContaining(message) }),
    );
  });

  test('rejects a module that is cut off or changed anywhere, or prepares it', () => {
    const bytes = buildLinked({
      ...EMPTY,
      dylink: { memory: [16, 2], table: [2, 0], needed: ['a.so'], runtimePaths: ['$ORIGIN'] },
      start: 0,
      elements: [{ at: [TABLE_BASE], functions: [0] }],
      data: [{ at: [MEMORY_BASE], bytes: [1, 2] }],
    });
    const attempt = (changed: Uint8Array) => {
      try {
        prepareSideModule(changed);
      } catch (cause) {
        expect(cause).toMatchObject({ code: 'module_invalid' });
      }
    };
    for (let at = 0; at < bytes.length; at++) {
      attempt(bytes.slice(0, at));
      for (const value of [0, 1, 0x7f, 0x80, 0xff]) {
        const changed = bytes.slice();
        changed[at] = value;
        attempt(changed);
      }
    }
  });
});
