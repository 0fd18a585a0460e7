/** Hashes and key derivation, which the host computes: what they charge, and where they stop. */
import { pbkdf2Sync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { cryptoCalls } from '../../packages/core/src/runtimes/javascript/syscalls/cryptography.ts';
import { systemCallGuest } from './system-call-guest.ts';

const OUT_AT = 4096;

/** A guest and ways to pass text and bytes to it. */
function setUp(budget?: number) {
  const { store, numbers: costs, ...guest } = systemCallGuest(cryptoCalls, OUT_AT, budget);
  return {
    ...guest,
    costs,
    text: (value: string) => store(Buffer.from(value), true),
    bytes: (value: string) => store(Buffer.from(value)),
  };
}

describe('key derivation for a JavaScript guest', () => {
  test('charges fuel for every iteration and block', () => {
    const { run, memory, text, bytes, out, call } = setUp();
    expect(call('pbkdf2', text('sha256'), bytes('pw'), bytes('salt'), 2000, out(40))).toBe(40);
    expect(memory.bytes(OUT_AT, 40)).toEqual(new Uint8Array(pbkdf2Sync('pw', 'salt', 2000, 40, 'sha256')));
    expect(run.charged).toBeGreaterThan(2 * 2000 * 1000);
  });

  test('does nothing if the budget does not cover the work', () => {
    const { memory, text, bytes, out, costs, call } = setUp(1_000_000);
    expect(call('pbkdf2', text('sha256'), bytes('pw'), bytes('salt'), 2000, out(32))).toBe('EINTR');
    expect(call('scrypt', bytes('pw'), bytes('salt'), costs(1024, 2, 1), out(32))).toBe('EINTR');
    expect(call('pbkdf2', text('sha256'), bytes('pw'), bytes('salt'), 600_000, out(32))).toBe('EINTR');
    expect(call('digest', text('sha256'), out(60_000), 60_000, out(32))).toBe('EINTR');
    expect(memory.bytes(OUT_AT, 32)).toEqual(new Uint8Array(32));
  });

  test('refuses more work in one call than about half a second', () => {
    const { run, text, bytes, out, costs, call } = setUp();
    const salt = out(40_000);
    expect(call('pbkdf2', text('sha256'), bytes('pw'), bytes('salt'), 610_001, out(32))).toBe('E2BIG');
    expect(call('pbkdf2', text('sha512'), bytes('pw'), bytes('salt'), 2 ** 31, out(64))).toBe('E2BIG');
    expect(call('pbkdf2', text('sha256'), bytes('pw'), salt, 1, out(60_000))).toBe('E2BIG');
    expect(call('scrypt', bytes('pw'), bytes('salt'), costs(2, 1, 2 ** 20), out(32))).toBe('ENOMEM');
    expect(call('scrypt', bytes('pw'), salt, costs(16, 8, 500), out(32))).toBe('E2BIG');
    expect(call('scrypt', bytes('pw'), bytes('salt'), costs(2, 800, 1), out(60_000))).toBe('E2BIG');
    expect(run.charged).toBe(0);
  });

  test('counts the memory of scrypt against the memory limit', () => {
    const { bytes, out, costs, call } = setUp();
    expect(call('scrypt', bytes('pw'), bytes('salt'), costs(512, 8, 1), out(32))).toBe(32);
    expect(call('scrypt', bytes('pw'), bytes('salt'), costs(1024, 8, 1), out(32))).toBe('ENOMEM');
  });

  test.each([
    ['pbkdf2', 'an unknown digest', ['nope', 'pw', 'salt', 1]],
    ['pbkdf2', 'an inherited name', ['constructor', 'pw', 'salt', 1]],
    ['pbkdf2', 'zero iterations', ['sha256', 'pw', 'salt', 0]],
    ['pbkdf2', 'a function without a fixed length', ['shake128', 'pw', 'salt', 1]],
    ['hkdf', 'too long a context', ['sha256', 'pw', 'salt', 'i'.repeat(1025)]],
    ['hmac', 'a negative length', ['sha256', 'pw', 'salt', -1]],
    ['hmac', 'a length beyond the buffer', ['sha256', 'pw', 'salt', 5]],
  ] as const)('%s rejects %s', (name, _, [digest, ...args]) => {
    const { text, bytes, out, call } = setUp();
    const given = args.map((arg) => (typeof arg === 'string' ? bytes(arg) : arg));
    expect(call(name, text(digest), ...given, out(32))).toBe('EINVAL');
  });

  test.each([
    ['r', [1024, 1.5, 1]],
    ['N', [0, 8, 1]],
    ['p', [16, 1, Number.NaN]],
    ['N that is not a power of two', [3, 1, 1]],
  ] as const)('scrypt rejects an invalid %s', (_, [N, r, p]) => {
    const { bytes, out, costs, call } = setUp();
    expect(call('scrypt', bytes('pw'), bytes('salt'), costs(N, r, p), out(32))).toBe('EINVAL');
  });
});

describe('hashing for a JavaScript guest', () => {
  test('checks the limits as it proceeds', () => {
    const { run, text, out, call } = setUp();
    for (let i = 0; i < 40; i++) expect(call('digest', text('md5'), out(60_000), 60_000, out(16))).toBe(16);
    expect(run.checks).toBeGreaterThan(2);
    expect(run.charged).toBeGreaterThan(40 * 600_000);
  });

  test('stores nothing beyond the result', () => {
    const { memory, text, bytes, out, call } = setUp();
    expect(call('digest', text('sha512'), bytes('abc'), 3, out(10))).toBe('EINVAL');
    expect(call('digest', text('shake256'), bytes('abc'), 3, out(10))).toBe(10);
    expect(memory.bytes(OUT_AT + 10, 60)).toEqual(new Uint8Array(60));
  });
});
