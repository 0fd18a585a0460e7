/** Work on the host whose duration depends on text of a JavaScript guest must check the limits as it proceeds. */
import { describe, expect, test } from 'vitest';
import { GuestBytes } from '../../src/runtimes/javascript/syscalls/call-arguments.ts';
import type { QuickJsGuest } from '../../src/runtimes/javascript/syscalls/quickjs-guest.ts';
import { systemCalls } from '../../src/runtimes/javascript/syscalls/system-calls.ts';
import { MEMORY_BYTES, testKernel } from '../kernel/test-kernel.ts';

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
