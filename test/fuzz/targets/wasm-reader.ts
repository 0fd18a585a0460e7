/**
 * Mutated modules: the reader rejects them with module_invalid or returns a module. If V8 accepts the mutated module, V8
 * accepts the prepared one too, and both compute the same.
 */
import assert from 'node:assert/strict';
import { setFlagsFromString } from 'node:v8';
import fc from 'fast-check';
import { SandboxError } from '../../../packages/core/src/errors.ts';
import type { PreparedModule } from '../../../packages/core/src/wasm/prepare-module.ts';
import { build } from '../../wasm/assembler.ts';
import { generate } from '../../wasm/module-generator.ts';
import { prepareModule, start } from '../../wasm/run-module.ts';
import { applyEdits, edits, smallEdits } from '../mutations.ts';
import type { FuzzTarget } from '../target.ts';

setFlagsFromString('--experimental-wasm-return-call');

const HEADER_BYTES = 8;
/** Mutated loops may never end, so modules run with little fuel. */
const FUEL = 20_000n;
const MAX_PROBES = 10_000;

type Outcome = { readonly result: unknown; readonly probes: number } | 'out of fuel' | 'out of stack';

class TooManyProbes extends Error {}

/** Runs `run(1, 5)` and reduces what happened to what both modules must have in common. */
function observe(run: (probe: () => void) => unknown): Outcome {
  let probes = 0;
  const probe = () => {
    if (++probes > MAX_PROBES) throw new TooManyProbes();
  };
  try {
    return { result: run(probe), probes };
  } catch (cause) {
    if (cause instanceof TooManyProbes) return 'out of fuel';
    // The frames of both modules differ in size, so the depth of the stack differs too.
    if (cause instanceof RangeError) return 'out of stack';
    if (cause instanceof WebAssembly.Exception) return { result: 'exception', probes };
    if (cause instanceof WebAssembly.RuntimeError) return { result: `trap: ${cause.message}`, probes };
    throw cause;
  }
}

function runPrepared(prepared: PreparedModule): Outcome {
  let isExhausted = false;
  const outcome = observe((probe) => {
    const guest = start(prepared, { probe }, (fuel) => {
      if ((fuel.value as bigint) < 0n) isExhausted = true;
    });
    guest.fuel.value = FUEL;
    return guest.exports['run']!(1, 5);
  });
  return isExhausted ? 'out of fuel' : outcome;
}

function runOriginal(bytes: Uint8Array): Outcome {
  return observe((probe) => {
    const module = new WebAssembly.Module(bytes as BufferSource);
    const { exports } = new WebAssembly.Instance(module, { env: { probe } });
    return (exports['run'] as (a: number, b: number) => number)(1, 5);
  });
}

/** Both modules are linked with one imported function and one exported function. */
function isRunnable(bytes: Uint8Array): boolean {
  const module = new WebAssembly.Module(bytes as BufferSource);
  const imports = WebAssembly.Module.imports(module);
  return (
    imports.every(
      ({ kind, module: from, name }) => kind === 'function' && from === 'env' && name === 'probe',
    ) && WebAssembly.Module.exports(module).some(({ name, kind }) => name === 'run' && kind === 'function')
  );
}

export const wasmReader: FuzzTarget = {
  name: 'wasm-reader',
  shortRuns: 800,
  open() {
    const counts = { rejected: 0, invalid: 0, compared: 0 };
    const tape = fc.array(fc.nat(999), { minLength: 20, maxLength: 300 });
    const anyEdits = fc.oneof({ weight: 4, arbitrary: smallEdits }, { weight: 1, arbitrary: edits });
    const property = fc.property(tape, anyEdits, (choices, changes) => {
      const bytes = applyEdits(build(generate(choices)), changes, HEADER_BYTES);
      let prepared: PreparedModule;
      try {
        prepared = prepareModule(bytes, { exports: ['run'] });
      } catch (cause) {
        if (!(cause instanceof SandboxError) || cause.code !== 'module_invalid') throw cause;
        counts.rejected++;
        return;
      }
      // The reader need not reject everything that V8 rejects: V8 validates its output as well.
      if (!WebAssembly.validate(bytes as BufferSource)) {
        counts.invalid++;
        return;
      }
      assert.ok(WebAssembly.validate(prepared.bytes as BufferSource), 'V8 rejects the prepared module');
      if (!isRunnable(bytes) || (prepared.memory.maxPages ?? 0) > 0) return;
      const outcome = runPrepared(prepared);
      if (typeof outcome === 'string') return;
      const original = runOriginal(bytes);
      if (typeof original === 'string') return;
      assert.deepEqual(outcome, original);
      counts.compared++;
    });
    return {
      property,
      checkCoverage: () =>
        assert.ok(
          counts.rejected > 100 && counts.invalid > 30 && counts.compared > 100,
          JSON.stringify(counts),
        ),
    };
  },
};
