/** Arguments of system calls: pointers into and beyond the memory of the test kernel, paths, 64-bit integers. */
import fc from 'fast-check';
import { HOST_SIGNATURES } from '../../packages/core/src/runtimes/python/syscalls/host-signatures.ts';
import { MEMORY_BYTES } from './test-kernel.ts';

/** Positions of the 64-bit parameters; all others are 32 bits or floating-point numbers. */
export const WIDE: Readonly<Record<string, readonly number[]>> = Object.fromEntries(
  [...HOST_SIGNATURES].map(([name, type]) => [
    name.slice(name.indexOf('.') + 1),
    [...type.split('>')[0]!].flatMap((letter, i) => (letter === 'j' ? [i] : [])),
  ]),
);

export const PATH_AT = 1024;
export const paths = [
  '',
  '.',
  '..',
  '/',
  '/app/f',
  'f',
  'd/x',
  '/lib/a.py',
  '/tmp/t',
  '/dev/null',
  '/dev/urandom',
  '/dev/full',
  '/proc/self/mem',
  'a'.repeat(300),
  'loop',
];

export const word = fc.oneof(
  fc.constantFrom(
    0,
    1,
    2,
    3,
    4,
    255,
    256,
    1024,
    PATH_AT,
    MEMORY_BYTES - 4,
    MEMORY_BYTES - 1,
    MEMORY_BYTES,
    MEMORY_BYTES + 1,
    -1,
    -100,
    0x7fffffff,
    -0x80000000,
  ),
  fc.integer({ min: -0x80000000, max: 0x7fffffff }),
  fc.integer({ min: 0, max: MEMORY_BYTES }),
);
export const wide = fc.oneof(
  fc.constantFrom(0n, 1n, -1n, 2n ** 31n, 2n ** 53n, 2n ** 63n - 1n, -(2n ** 63n)),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
);
