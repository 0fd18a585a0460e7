/** The two guests of the product come through whole, and damaged ones end in one kind of error. */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SandboxError } from '../../src/errors.ts';
import { build } from './assembler.ts';
import { generate } from './module-generator.ts';
import { prepareModule } from './run-module.ts';

const load = (path: string) =>
  new Uint8Array(readFileSync(new URL(`../../node_modules/${path}`, import.meta.url)));

const QUICKJS = load('quickjs-wasi/quickjs.wasm');

describe('real binaries', () => {
  it.each([
    ['QuickJS', QUICKJS, ['_initialize', 'qjs_eval', '__indirect_function_table']],
    ['CPython', load('pyodide/pyodide.asm.wasm'), ['Py_InitializeEx', 'malloc', '__indirect_function_table']],
  ])('%s validates after rewriting, and gives the same bytes twice', (_, bytes, exports) => {
    const first = prepareModule(bytes, { exports });
    expect(WebAssembly.validate(first.bytes as BufferSource)).toBe(true);
    expect(Buffer.compare(prepareModule(bytes, { exports }).bytes, first.bytes)).toBe(0);
    expect(WebAssembly.validate(prepareModule(bytes, { exports, meter: false }).bytes as BufferSource)).toBe(
      true,
    );
  });
});

/** Passes if the module is rewritten or refused in the one way there is. */
function rewriteOrRefuse(bytes: Uint8Array): void {
  try {
    prepareModule(bytes, { exports: [] });
  } catch (error) {
    if (!(error instanceof SandboxError) || error.code !== 'module_invalid') throw error;
  }
}

describe('malformed modules', () => {
  const tape = Array.from({ length: 300 }, (_, i) => (i * 7919) % 1000);
  const small = build(generate(tape));

  it('are refused when cut short anywhere', () => {
    for (let length = 0; length < small.length; length++) rewriteOrRefuse(small.subarray(0, length));
    for (let length = 0; length < QUICKJS.length; length += 12_345) {
      expect(() => prepareModule(QUICKJS.subarray(0, length), { exports: ['qjs_eval'] })).toThrow(
        SandboxError,
      );
    }
  });

  it('never cause another exception when any byte is changed', () => {
    for (let at = 8; at < small.length; at++) {
      for (const mask of [0x01, 0x40, 0x80, 0xff]) {
        const damaged = small.slice();
        damaged[at]! ^= mask;
        rewriteOrRefuse(damaged);
      }
    }
  });

  it('never cause another exception when they are random bytes after a header', () => {
    const property = fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      rewriteOrRefuse(bytes);
      rewriteOrRefuse(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, ...bytes));
    });
    fc.assert(property, { seed: 99, numRuns: 2000 });
  });

  it('never cause another exception when several bytes of a real binary are changed', () => {
    const changes = fc.array(fc.tuple(fc.nat(QUICKJS.length - 1), fc.nat(255)), {
      minLength: 1,
      maxLength: 4,
    });
    const property = fc.property(changes, (list) => {
      const damaged = QUICKJS.slice();
      for (const [at, value] of list) damaged[at] = value;
      rewriteOrRefuse(damaged);
    });
    fc.assert(property, { seed: 4, numRuns: 25 });
  });
});
