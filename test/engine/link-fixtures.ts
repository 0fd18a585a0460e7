/** A small main module, side modules and guests for tests of the linker. Needs no compiler and no interpreter. */

import {
  compileSideModule,
  mainSymbols,
  type SideModule,
} from '../../packages/core/src/engine/compile-side-module.ts';
import { type CompiledModule, Guest } from '../../packages/core/src/engine/guest.ts';
import { UNLIMITED_RUN } from '../../packages/core/src/engine/run-context.ts';
import { sideModuleStub } from '../../packages/core/src/engine/side-module-stub-file.ts';
import { sha256Hex } from '../../packages/core/src/framing/digest.ts';
import type { Entry } from '../../packages/core/src/fs/flat-entries.ts';
import { readOnlyTree } from '../../packages/core/src/fs/flat-entries.ts';
import { Volume } from '../../packages/core/src/fs/volume.ts';
import { prepareModule } from '../../packages/core/src/wasm/prepare-module.ts';
import { prepareSideModule } from '../../packages/core/src/wasm/prepare-side-module.ts';
import { buildLinked, type LinkSource, USUAL_IMPORTS } from '../wasm/link-assembler.ts';

/** Types of all modules here: 0 `()`, 1 `(i32) -> i32`, 2 `(i32, i32) -> i32`, 3 `(i32)`. */
export const TYPES: LinkSource['types'] = [
  [[], []],
  [['i32'], ['i32']],
  [['i32', 'i32'], ['i32']],
  [['i32'], []],
];

export const MAIN_DATA = 1024;
export const MAIN_TABLE = 4;
/** The largest block that malloc of the main module returns. */
export const MAX_BLOCK = 100_000;

const MAIN = prepareModule(
  buildLinked({
    types: TYPES,
    imports: [['env', 'host_twice', { func: 1 }]],
    functions: [
      {
        type: 1,
        export: 'malloc',
        code: [
          ['local.get', 0],
          ['i32.const', MAX_BLOCK],
          ['i32.gt_u'],
          { op: 'if', yes: [['i32.const', 0], ['return']] },
          ['global.get', 1],
          ['global.get', 1],
          ['local.get', 0],
          ['i32.add'],
          ['i32.const', 15],
          ['i32.add'],
          ['i32.const', -16],
          ['i32.and'],
          ['global.set', 1],
        ],
      },
      { type: 3, export: 'free', code: [] },
      { type: 2, export: 'main_add', code: [['local.get', 0], ['local.get', 1], ['i32.add']] },
      { type: 1, export: 'main_unlisted', code: [['local.get', 0], ['i32.const', 1000], ['i32.add']] },
      {
        // Calls a function pointer and returns its result, or what it throws plus 1.
        type: 2,
        export: 'call_and_catch',
        locals: ['i32'],
        code: [
          {
            op: 'try',
            body: [
              ['local.get', 1],
              ['local.get', 0],
              ['call_indirect', 1, 0],
              ['local.set', 2],
            ],
            catch: [['i32.const', 1], ['i32.add'], ['local.set', 2]],
          },
          ['local.get', 2],
        ],
      },
      {
        type: 1,
        export: 'main_throw',
        code: [
          ['local.get', 0],
          ['throw', 0],
        ],
      },
    ],
    tables: [MAIN_TABLE],
    memoryPages: 8,
    tags: [3],
    globals: [
      { mutable: true, init: [['i32.const', 60_000]] },
      { mutable: true, init: [['i32.const', 65_536]] },
      { init: [['i32.const', MAIN_DATA]] },
    ],
    exports: [
      ['__indirect_function_table', 'table', 0],
      ['__stack_pointer', 'global', 0],
      ['main_data', 'global', 2],
      ['__cpp_exception', 'tag', 0],
    ],
    elements: [{ at: [['i32.const', 1]], functions: [3, 5] }],
  }),
  {
    exports: [
      '__indirect_function_table',
      '__stack_pointer',
      '__cpp_exception',
      'malloc',
      'free',
      'main_add',
      'call_and_catch',
    ],
    stackPointer: '__stack_pointer',
    linkable: true,
  },
);

const compiled: CompiledModule = {
  module: new WebAssembly.Module(MAIN.bytes as BufferSource),
  minPages: MAIN.memory.minPages,
  stateGlobals: MAIN.stateGlobals.map(({ name }) => name),
};

const mainFunctions = new Set(mainSymbols(compiled.module).functions.keys());
const sideModules = new Map<string, SideModule>();
const layer: Entry[] = [{ path: 'libs', kind: 'dir', mode: 0o555, mtimeMs: 0 }];

/** Puts a file into the read-only layer, which is at /lib. */
export function addFile(path: string, data: Uint8Array): void {
  layer.push({ path, kind: 'file', mode: 0o444, mtimeMs: 0, data });
}

export function addLink(path: string, target: string): void {
  layer.push({ path, kind: 'symlink', mode: 0o777, mtimeMs: 0, target });
}

export type SideSource = Omit<LinkSource, 'types' | 'imports'> & Pick<LinkSource, 'imports'>;

/** Installs a side module as /lib/<path>. Its imports follow the usual ones. Returns its digest. */
export function install(path: string, source: SideSource): string {
  const bytes = buildLinked({
    dylink: {},
    types: TYPES,
    ...source,
    imports: [...USUAL_IMPORTS, ...(source.imports ?? [])],
  });
  const sha256 = sha256Hex(bytes);
  sideModules.set(sha256, compileSideModule(sha256, prepareSideModule(bytes, { mainFunctions })));
  addFile(path, sideModuleStub(sha256));
  return sha256;
}

/** A new guest of the main module that can load what is installed. */
export function newGuest(find = (sha256: string) => sideModules.get(sha256)): Guest {
  const volume = new Volume({ maxBytes: 2 ** 20, maxFiles: 100 }, () => 0);
  volume.mount('/lib', readOnlyTree(layer, 1));
  const linkage = {
    imports: () => ({ env: { host_twice: (value: number) => value * 2 } }),
    overrides: [],
    interrupt: () => {},
  };
  const size = { pages: compiled.minPages, maxPages: 64 };
  const guest = new Guest(compiled, linkage, size, volume, find);
  guest.stack.setLimit(50_000);
  guest.beginRun({ ...UNLIMITED_RUN, fuelBudget: 1_000_000_000 });
  return guest;
}
