/**
 * Sequences of the system calls of the JavaScript dialect. The interpreter is a stub: its functions return the values that a
 * program passes or, as a corrupted interpreter could, any number. A call returns a number or stops the guest.
 */
import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import fc from 'fast-check';
import type { QuickJsGuest } from '../../../packages/core/src/runtimes/javascript/syscalls/quickjs-guest.ts';
import {
  quickJsFunctions,
  SYSTEM_CALL_NAMES,
} from '../../../packages/core/src/runtimes/javascript/syscalls/quickjs-imports.ts';
import { PATH_AT, paths, word } from '../../kernel/arbitraries.ts';
import { StubTrap, type TestKernel, testKernel } from '../../kernel/test-kernel.ts';
import { rarely } from '../mutations.ts';
import type { FuzzTarget } from '../target.ts';
import { checkQuotas, memoryWrites } from './syscalls-python.ts';

// One of the calls loads a bundle, which only the build has.
process.env['LLM_WASM_SANDBOX_ASSETS'] ??= resolve('packages/core/dist');

const NAME_AT = 512;
const VALUES_AT = 768;
/** Where the stub allocates: every allocation overwrites the previous one. */
const HEAP_AT = 65_536;

const value = fc.oneof(
  fc.record({ number: fc.oneof(word, fc.double(), fc.integer({ min: 0, max: 64 })) }),
  fc.record({ text: fc.constantFrom(...paths) }),
  fc.record({ span: fc.tuple(word, word) }),
  fc.record({ buffer: fc.tuple(fc.constantFrom(4096, 8192), fc.integer({ min: 0, max: 4096 })) }),
  fc.constant({}),
);
type Value = typeof value extends fc.Arbitrary<infer T> ? T : never;

/** An interpreter whose value `i` is `values[i]`. `noise` replaces its answers, one call after another. */
function stubGuest(
  test: TestKernel,
  values: readonly Value[],
  noise: readonly (number | null)[],
): QuickJsGuest {
  let calls = 0;
  const { memory } = test;
  const stop = (why: string): never => {
    throw new StubTrap(why);
  };
  const span = (handle: number, out: number): number => {
    const found = values[handle];
    if (found === undefined) return 0;
    if ('text' in found) {
      memory.setU32(out, Buffer.byteLength(found.text));
      return test.writeText(PATH_AT + 8192 * handle, found.text);
    }
    const [pointer, length] = 'span' in found ? found.span : 'buffer' in found ? found.buffer : [0, 0];
    memory.setU32(out, length);
    return pointer;
  };
  const has = (handle: number, ...keys: string[]) =>
    keys.some((key) => key in (values[handle] ?? {})) ? 1 : 0;
  const answers: Record<string, (...args: number[]) => number> = {
    qjs_is_number: (handle) => has(handle!, 'number'),
    qjs_is_string: (handle) => has(handle!, 'text', 'span'),
    qjs_is_array_buffer: (handle) => has(handle!, 'buffer'),
    qjs_get_float64: (handle) => {
      const found = values[handle!];
      return found !== undefined && 'number' in found ? found.number : 0;
    },
    qjs_get_string_len: (handle, out) => span(handle!, out!),
    qjs_get_array_buffer: (handle, out) => span(handle!, out!),
    wasm_malloc: (size) => (size! >>> 0 > 65_536 ? 0 : HEAP_AT),
  };
  return {
    kernel: test.kernel,
    view: memory,
    memoryLimit: { maxBytes: 1 << 20, admits: (bytes) => bytes <= 1 << 20 },
    limitReached: undefined,
    call: (name, ...args) => noise[calls++] ?? answers[name]?.(...args.map(Number)) ?? 0,
    exit: () => stop('exit'),
    abort: stop,
  };
}

const noise = fc.array(rarely(6, word), { maxLength: 24 });
const importCall = fc.record({
  name: fc.constantFrom(
    'host_promise_rejection',
    'host_module_normalize',
    'host_module_load',
    'host_interrupt',
  ),
  args: fc.array(fc.oneof(fc.constant(PATH_AT), word), { minLength: 3, maxLength: 3 }),
});
const step = fc.record({
  call: fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom(...SYSTEM_CALL_NAMES, 'none', 'constructor') },
    { weight: 1, arbitrary: importCall },
  ),
  values: fc.array(value, { maxLength: 6 }),
  path: fc.constantFrom(...paths),
  noise: fc.oneof(fc.constant([]), noise),
  memory: memoryWrites,
  handles: fc.boolean(),
});

export const syscallsJavaScript: FuzzTarget = {
  name: 'syscalls-javascript',
  shortRuns: 200,
  open() {
    const outcomes = { returned: 0, stopped: 0 };
    const property = fc.property(fc.array(step, { minLength: 1, maxLength: 40 }), (steps) => {
      const test = testKernel();
      const program = {
        rejectionTracker: () => 1,
        moduleResolver: () => 1,
        moduleLoader: () => 1,
        isInterrupted: () => false,
      };
      for (const { call, values, path, noise: answers, memory, handles } of steps) {
        for (const [at, bytes] of memory) test.memory.all.set(bytes, at);
        test.writeText(PATH_AT, path);
        if (handles) values.forEach((_, i) => void test.memory.setU32(VALUES_AT + i * 4, i));
        const functions = quickJsFunctions(stubGuest(test, values, answers), program);
        try {
          if (typeof call === 'string') {
            test.writeText(NAME_AT, call);
            const answer: unknown = functions['host_call']!(
              NAME_AT,
              call.length,
              0,
              values.length,
              VALUES_AT,
            );
            assert.equal(typeof answer, 'number', call);
          } else functions[call.name]!(...call.args);
          outcomes.returned++;
        } catch (cause) {
          if (!(cause instanceof StubTrap)) throw cause;
          outcomes.stopped++;
        }
      }
      checkQuotas(test);
    });
    return {
      property,
      checkCoverage: () => assert.ok(Math.min(...Object.values(outcomes)) > 15, JSON.stringify(outcomes)),
    };
  },
};
