/** Work on the host whose duration depends on text of a JavaScript guest must check the limits as it proceeds. */
import { describe, expect, test } from 'vitest';
import { GuestBytes } from '../../src/runtimes/javascript/syscalls/call-arguments.ts';
import { loadModule } from '../../src/runtimes/javascript/syscalls/module-loader.ts';
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
    systemCalls['encodeUtf8']!(guest, [new GuestBytes(memory, 0, length, true)]);
    const text = new TextDecoder('utf-8', { fatal: true }).decode(memory.bytes(0, length));
    expect(text).toBe('\ufffd'.repeat(length / 3));
    expect(checks.count).toBeGreaterThan(2);
  });
});

describe('loading a JSON module', () => {
  const moduleOf = (data: string) => {
    const { kernel, checks } = kernelWithCounter();
    const file = kernel.open('/', '/app/a.json', 0o101, 0o644);
    kernel.write(file, new TextEncoder().encode(data));
    const source = loadModule(kernel, '/app/a.json') as Uint8Array;
    const quoted = /^export default JSON\.parse\(("[\s\S]*")\);$/.exec(new TextDecoder().decode(source))![1]!;
    return { text: JSON.parse(quoted) as string, checks };
  };

  test('checks the limits while it quotes the text', () => {
    const { text, checks } = moduleOf('\u0001'.repeat(90_000));
    expect(text).toBe('\u0001'.repeat(90_000));
    expect(checks.count).toBeGreaterThan(0);
  });

  test('preserves text across chunk boundaries', () => {
    for (const data of [`${'a'.repeat(65_535)}😀"\\\u2028`, '', '[1]'])
      expect(moduleOf(data).text).toBe(data);
  });
});
