/** Prepares the real guest binaries, and checks that malformed modules only ever cause module_invalid. */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SandboxError } from '../../packages/core/src/errors.ts';
import { repetitions } from '../support/repetitions.ts';
import { build } from './assembler.ts';
import { generate } from './module-generator.ts';
import { prepareModule } from './run-module.ts';

const load = (path: string) => new Uint8Array(readFileSync(new URL(`../../${path}`, import.meta.url)));

const QUICKJS = load('programs/quickjs.wasm');

function validates(bytes: Uint8Array, exports: string[]): void {
  const first = prepareModule(bytes, { exports });
  expect(WebAssembly.validate(first.bytes as BufferSource)).toBe(true);
  expect(Buffer.compare(prepareModule(bytes, { exports }).bytes, first.bytes)).toBe(0);
  // Only tests and benchmarks use modules without a meter.
  const unmetered = prepareModule(bytes, { exports, meter: false });
  expect(WebAssembly.validate(unmetered.bytes as BufferSource)).toBe(true);
}

describe('real binaries', () => {
  it('validates the prepared QuickJS module, which is the same each time', () => {
    validates(QUICKJS, ['_initialize', 'qjs_eval', '__indirect_function_table']);
  });

  it('validates the prepared CPython module, which is the same each time', { tags: 'full' }, () => {
    validates(load('node_modules/pyodide/pyodide.asm.wasm'), [
      'Py_InitializeEx',
      'malloc',
      '__indirect_function_table',
    ]);
  });
});

/** Fails if preparing the module throws anything but module_invalid. */
function prepareOrReject(bytes: Uint8Array): void {
  try {
    prepareModule(bytes, { exports: [] });
  } catch (error) {
    if (!(error instanceof SandboxError) || error.code !== 'module_invalid') throw error;
  }
}

describe('malformed modules', () => {
  const tape = Array.from({ length: 300 }, (_, i) => (i * 7919) % 1000);
  const small = build(generate(tape));

  it('are rejected when truncated at any byte', () => {
    for (let length = 0; length < small.length; length++) prepareOrReject(small.subarray(0, length));
    for (let length = 0; length < QUICKJS.length; length += 12_345) {
      expect(() => prepareModule(QUICKJS.subarray(0, length), { exports: ['qjs_eval'] })).toThrow(
        SandboxError,
      );
    }
  });

  it('cause only module_invalid when any byte is changed', () => {
    for (let at = 8; at < small.length; at++) {
      for (const mask of [0x01, 0x40, 0x80, 0xff]) {
        const damaged = small.slice();
        damaged[at]! ^= mask;
        prepareOrReject(damaged);
      }
    }
  });

  it('cause only module_invalid when they are random bytes after a valid header', () => {
    const property = fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      prepareOrReject(bytes);
      prepareOrReject(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, ...bytes));
    });
    fc.assert(property, { seed: 99, numRuns: repetitions(500, 5000) });
  });

  it('cause only module_invalid when several bytes of a real binary are changed', () => {
    const changes = fc.array(fc.tuple(fc.nat(QUICKJS.length - 1), fc.nat(255)), {
      minLength: 1,
      maxLength: 4,
    });
    const property = fc.property(changes, (list) => {
      const damaged = QUICKJS.slice();
      for (const [at, value] of list) damaged[at] = value;
      prepareOrReject(damaged);
    });
    fc.assert(property, { seed: 4, numRuns: repetitions(8, 50) });
  });
});
