/**
 * Function pointers of the interpreter overwritten with others: C functions get unexpected arguments, and some pointers
 * lead to imports that the kernel does not provide. The guest may end; nothing else may be affected.
 */
import { describe, expect, test } from 'vitest';
import { attack } from './attack.ts';

/** Values spread over the binary's function table and past its end. */
const POINTERS = [
  0,
  1,
  2,
  7,
  100,
  1000,
  2500,
  4000,
  5500,
  7000,
  8500,
  10_000,
  11_500,
  13_000,
  20_000,
  2 ** 31,
];

describe('overwritten function pointer', () => {
  // guarantee: memory-isolation
  test.each(POINTERS)('of a built-in function affects only the guest: %i', async (pointer) => {
    const result = await attack(
      'python',
      `import ctypes
method = ctypes.c_uint.from_address(id(len) + 8).value
print('there', flush=True)
ctypes.c_uint.from_address(method + 4).value = ${pointer}
len([1])`,
      { policy: { fuel_budget: 500_000_000 } },
    );
    expect(result.stdout.startsWith('there\n')).toBe(true);
    expect([null, 'unreachable', 'denied_call', 'out_of_fuel', 'stack_overflow', 'memory_limit']).toContain(
      result.metadata.trap_reason,
    );
  });

  // guarantee: memory-isolation
  test.each(POINTERS)('of a type affects only the guest: %i', async (pointer) => {
    const result = await attack(
      'python',
      `import ctypes
class A: pass
print('there', flush=True)
for slot in range(24, 140, 4): ctypes.c_uint.from_address(id(A) + slot).value = ${pointer}
try: repr(A()); hash(A()); A()(); A() + 1
except Exception: pass`,
      { policy: { fuel_budget: 500_000_000 } },
    );
    expect(result.stdout.startsWith('there\n')).toBe(true);
    expect([null, 'unreachable', 'denied_call', 'out_of_fuel', 'stack_overflow', 'memory_limit']).toContain(
      result.metadata.trap_reason,
    );
  });
});
