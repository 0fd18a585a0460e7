/**
 * Sequences of the system calls of the Python dialect and of WASI with random arguments and random memory. A call returns a
 * number or stops the guest; it never throws another exception, and the quotas hold after every sequence.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { PATH_AT, paths, WIDE, wide, word } from '../../kernel/arbitraries.ts';
import { MEMORY_BYTES, QUOTA, StubTrap, type TestKernel, testKernel } from '../../kernel/test-kernel.ts';
import type { FuzzTarget } from '../target.ts';

const MAX_DESCRIPTORS = 256;

/** Fails if the kernel exceeds a quota. */
export function checkQuotas({ kernel }: TestKernel): void {
  const { bytes, files } = kernel.volume.usage();
  assert.ok(bytes <= QUOTA.maxBytes, `${bytes} bytes in the volume`);
  assert.ok(files <= QUOTA.maxFiles, `${files} files in the volume`);
  assert.ok(kernel.fds.slots.length <= MAX_DESCRIPTORS, `${kernel.fds.slots.length} descriptors`);
}

/** Bytes that a guest places in memory, as structures that the calls read. */
export const memoryWrites = fc.array(
  fc.tuple(fc.nat(MEMORY_BYTES - 64), fc.uint8Array({ minLength: 1, maxLength: 64 })),
  { maxLength: 3 },
);

export const syscallsPython: FuzzTarget = {
  name: 'syscalls-python',
  shortRuns: 200,
  open() {
    const outcomes = { succeeded: 0, failed: 0, stopped: 0 };
    const step = fc.record({
      name: fc.constantFrom(...Object.keys(testKernel().hostFunctions)),
      path: fc.constantFrom(...paths),
      words: fc.array(word, { minLength: 7, maxLength: 7 }),
      wides: fc.array(wide, { minLength: 7, maxLength: 7 }),
      memory: memoryWrites,
    });
    const property = fc.property(fc.array(step, { minLength: 1, maxLength: 40 }), (steps) => {
      const test = testKernel();
      for (const { name, path, words, wides, memory } of steps) {
        for (const [at, bytes] of memory) test.memory.all.set(bytes, at);
        test.writeText(PATH_AT, path);
        const args = words.map((value, i) => (WIDE[name]?.includes(i) ? wides[i] : value));
        try {
          const answer: unknown = test.hostFunctions[name]!(...args);
          const isValue = answer === null || ['number', 'bigint', 'undefined'].includes(typeof answer);
          assert.ok(isValue, `${name} returned ${String(answer)}`);
          outcomes[typeof answer === 'number' && answer < 0 ? 'failed' : 'succeeded']++;
        } catch (cause) {
          if (!(cause instanceof StubTrap)) throw cause;
          outcomes.stopped++;
        }
      }
      checkQuotas(test);
    });
    return {
      property,
      checkCoverage: () => assert.ok(Math.min(...Object.values(outcomes)) > 40, JSON.stringify(outcomes)),
    };
  },
};
