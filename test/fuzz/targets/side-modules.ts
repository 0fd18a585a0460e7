/**
 * Mutated side modules: each is rejected with module_invalid, does not compile, cannot be linked, or runs within its fuel. If it
 * is linked, its state can be restored in another guest. Nothing else reaches the host.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { compileSideModule, type SideModule } from '../../../packages/core/src/engine/compile-side-module.ts';
import type { Guest } from '../../../packages/core/src/engine/guest.ts';
import { LinkFailure } from '../../../packages/core/src/engine/link-failure.ts';
import { GuestStopped } from '../../../packages/core/src/engine/run-context.ts';
import { sideModuleStub } from '../../../packages/core/src/engine/side-module-stub-file.ts';
import { SandboxError } from '../../../packages/core/src/errors.ts';
import { prepareSideModule } from '../../../packages/core/src/wasm/prepare-side-module.ts';
import { addFile, newGuest, TYPES } from '../../engine/link-fixtures.ts';
import { buildLinked, MEMORY_BASE, TABLE_BASE, USUAL_IMPORTS } from '../../wasm/link-assembler.ts';
import { applyEdits, edits, smallEdits } from '../mutations.ts';
import type { FuzzTarget } from '../target.ts';

const HEADER_BYTES = 8;
const SHA256 = 'f'.repeat(64);

/** A module with everything that the linker handles: data, relocations, table entries, GOT, weak symbols, exceptions, loops. */
const MODULE = buildLinked({
  dylink: {
    memory: [32, 4],
    table: [2, 1],
    runtimePaths: ['$ORIGIN/libs'],
    exports: [['visible', 0]],
    imports: [['GOT.mem', 'nowhere', 1]],
  },
  types: TYPES,
  imports: [
    ...USUAL_IMPORTS,
    ['env', 'main_add', { func: 2 }],
    ['env', 'host_twice', { func: 1 }],
    ['env', '__cpp_exception', { tag: 3 }],
    ['GOT.mem', 'main_data', { global: 'i32', mutable: true }],
    ['GOT.mem', 'nowhere', { global: 'i32', mutable: true }],
    ['GOT.func', 'visible', { global: 'i32', mutable: true }],
  ],
  functions: [
    {
      type: 1,
      export: 'visible',
      code: [
        ['local.get', 0],
        ['local.get', 0],
        ['call', 0],
        ['call', 1],
      ],
    },
    {
      type: 1,
      export: 'loop',
      locals: ['i32'],
      code: [
        {
          op: 'loop',
          type: 'void',
          body: [
            ['local.get', 1],
            ['i32.const', 1],
            ['i32.add'],
            ['local.tee', 1],
            ['i32.const', 9],
            ['i32.lt_u'],
            ['br_if', 0],
          ],
        },
        {
          op: 'try',
          body: [
            ['local.get', 1],
            ['throw', 0],
          ],
          catch: [['local.set', 1]],
        },
        ['local.get', 1],
      ],
    },
    {
      type: 0,
      export: '__wasm_apply_data_relocs',
      code: [MEMORY_BASE, TABLE_BASE, ['i32.store', 2, 8]],
    },
    {
      type: 0,
      export: '__wasm_call_ctors',
      code: [MEMORY_BASE, ['i32.const', 7], ['i32.store', 2, 12]],
    },
  ],
  elements: [{ at: [TABLE_BASE], functions: [2, 3] }],
  data: [{ at: [MEMORY_BASE], bytes: [1, 2, 3, 4, 5] }],
});

type Outcome = 'rejected' | 'does not compile' | 'not linked' | 'stopped' | 'ran';

let current: SideModule | undefined;
const openGuest = () => newGuest((sha256) => (sha256 === SHA256 ? current : undefined));

function isGuestFailure(cause: unknown): boolean {
  return (
    cause instanceof GuestStopped ||
    cause instanceof WebAssembly.RuntimeError ||
    cause instanceof WebAssembly.Exception ||
    // The engine has no room for the frames of the guest.
    cause instanceof RangeError
  );
}

function tryModule(bytes: Uint8Array): Outcome {
  let prepared: Uint8Array;
  try {
    prepared = prepareSideModule(bytes);
  } catch (cause) {
    assert(cause instanceof SandboxError, String(cause));
    assert.equal(cause.code, 'module_invalid');
    return 'rejected';
  }
  try {
    current = compileSideModule(SHA256, prepared);
  } catch (cause) {
    assert(cause instanceof WebAssembly.CompileError, String(cause));
    return 'does not compile';
  }
  const guest = openGuest();
  try {
    guest.linker.open('/lib/fuzz.so', false, 1);
  } catch (cause) {
    if (cause instanceof LinkFailure) return 'not linked';
    assert(isGuestFailure(cause), String(cause));
    return 'stopped';
  }
  checkState(guest);
  try {
    guest.call('call_and_catch', guest.linker.symbol(1, 'loop'), 3);
    return 'ran';
  } catch (cause) {
    assert(isGuestFailure(cause) || cause instanceof LinkFailure, String(cause));
    return 'stopped';
  }
}

/** The state of a linked module can be restored, and is the same afterwards. */
function checkState(guest: Guest): void {
  const state = JSON.parse(JSON.stringify(guest.linker.state()));
  const other = openGuest();
  try {
    other.linker.restore(state);
  } catch (cause) {
    assert(cause instanceof LinkFailure, String(cause));
    return;
  }
  assert.deepEqual(other.linker.state(), state);
}

export const sideModules: FuzzTarget = {
  name: 'side-modules',
  shortRuns: 400,
  open() {
    addFile('fuzz.so', sideModuleStub(SHA256));
    const outcomes = new Map<Outcome, number>();
    const property = fc.property(fc.oneof(edits, smallEdits), (list) => {
      const outcome = tryModule(applyEdits(MODULE, list, HEADER_BYTES));
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    });
    return {
      property,
      checkCoverage() {
        assert.equal(tryModule(MODULE), 'ran');
        for (const outcome of ['rejected', 'does not compile', 'ran'] as const)
          assert(outcomes.get(outcome) !== undefined, `no module ${outcome}: ${[...outcomes]}`);
      },
    };
  },
};
