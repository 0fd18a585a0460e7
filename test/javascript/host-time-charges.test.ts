/** Work on the host whose duration depends on text of a JavaScript guest must check the limits as it proceeds. */
import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { GuestBytes } from '../../packages/core/src/runtimes/javascript/syscalls/call-arguments.ts';
import type { QuickJsGuest } from '../../packages/core/src/runtimes/javascript/syscalls/quickjs-guest.ts';
import { systemCalls } from '../../packages/core/src/runtimes/javascript/syscalls/system-calls.ts';
import { MEMORY_BYTES, testKernel } from '../kernel/test-kernel.ts';
import { systemCallGuest } from './system-call-guest.ts';

function kernelWithCounter() {
  const testSetup = testKernel();
  const checks = { count: 0 };
  testSetup.kernel.host.check = () => void checks.count++;
  return { ...testSetup, checks };
}

describe('encoding text of a JavaScript guest', () => {
  test('replaces lone surrogates and checks the limits', () => {
    const { kernel, memory, checks } = kernelWithCounter();
    const length = MEMORY_BYTES - (MEMORY_BYTES % 3);
    for (let at = 0; at < length; at += 3) memory.all.set([0xed, 0xa0, 0x80], at);
    const guest = { kernel } as unknown as QuickJsGuest;
    systemCalls['encodeUtf8']!(guest, [new GuestBytes(memory, 0, length, true)], []);
    const text = new TextDecoder('utf-8', { fatal: true }).decode(memory.bytes(0, length));
    expect(text).toBe('\ufffd'.repeat(length / 3));
    expect(checks.count).toBeGreaterThan(2);
  });
});

/** 20 ms of host time. */
const MAX_UNCHECKED_FUEL = 20_000_000;

describe('work of the host for a JavaScript guest', () => {
  const OUT_AT = 110_000;
  const data = Uint8Array.from({ length: 100_000 }, (_, i) => [0x8f, 0xa1, 0x81, 0xff][i % 4]!);

  const setUp = (budget?: number) => {
    const guest = systemCallGuest(systemCalls, OUT_AT, budget);
    return { ...guest, text: (value: string) => guest.store(Buffer.from(value), true) };
  };
  test('compresses in steps at every level, and expands in steps', () => {
    for (const level of [0, 1, 6, 9]) {
      const { run, store, numbers, out, call } = setUp();
      const input = store(data.subarray(0, 60_000));
      const settings = numbers(1, level, 15, 8, 0, 1e9);
      const size = call('deflate', input, 0, 60_000, settings, undefined, out(20_000));
      // At level 0, nothing is smaller than it was, and does not fit.
      expect(level === 0 ? size : Number(size) > 0).toBe(level === 0 ? 'EINVAL' : true);
      expect(run.unchecked).toBeLessThanOrEqual(MAX_UNCHECKED_FUEL);
      if (level === 0) continue;
      expect(
        call('inflate', out(20_000), 0, Number(size), settings, undefined, store(new Uint8Array(10))),
      ).toBe(60_000);
      expect(run.unchecked).toBeLessThanOrEqual(MAX_UNCHECKED_FUEL);
    }
  });

  test('analyses a program in steps', () => {
    const { run, text, call } = setUp();
    const code = 'let a = 1;\n'.repeat(9_000);
    expect(JSON.parse(String(call('planProgram', text(code))))).toMatchObject({ trailing: false });
    expect(run.charged).toBeGreaterThanOrEqual(1000 * code.length);
    expect(run.unchecked).toBeLessThanOrEqual(MAX_UNCHECKED_FUEL);
  });

  test('ends when the fuel is used up', () => {
    const { run, text, call } = setUp(5_000_000);
    call('planProgram', text('let a = 1;\n'.repeat(9_000)));
    expect(run.charged).toBeLessThan(10_000_000);
  });

  test('hashes a long key of HMAC in steps, with the result of OpenSSL', () => {
    for (const size of [100, 168, 169, 60_000]) {
      const { run, memory, text, store, out, call } = setUp();
      const key = data.subarray(0, size);
      expect(call('hmac', text('sha512'), store(key), store(Buffer.from('data')), 4, out(64))).toBe(64);
      const expected = createHmac('sha512', key).update('data').digest();
      expect(Buffer.from(memory.bytes(OUT_AT, 64))).toEqual(expected);
      expect(run.charged).toBeGreaterThanOrEqual(size > 168 ? 10 * size : 0);
    }
  });

  test('starts no key derivation that would end after the time limit', () => {
    const guest = setUp();
    const ahead: number[] = [];
    guest.kernel.host.check = (aheadMs = 0) => void ahead.push(aheadMs);
    const { text, store, out, call } = guest;
    const secret = store(Buffer.from('p'));
    expect(call('pbkdf2', text('sha256'), secret, secret, 3000, out(32))).toBe(32);
    expect(Math.max(...ahead)).toBeGreaterThanOrEqual(3);
  });
});
