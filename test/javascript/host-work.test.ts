/** Host work that the text of a JavaScript guest can lengthen: it leads to a look at the limits as it goes on. */
import { describe, expect, test } from 'vitest';
import { Span } from '../../src/runtimes/javascript/syscalls/call-arguments.ts';
import { loadModule } from '../../src/runtimes/javascript/syscalls/module-loader.ts';
import type { QuickJsGuest } from '../../src/runtimes/javascript/syscalls/quickjs-guest.ts';
import { systemCalls } from '../../src/runtimes/javascript/syscalls/system-calls.ts';
import { MEMORY_BYTES, testKernel } from '../kernel/test-kernel.ts';

function watchedKernel() {
  const made = testKernel();
  const looks = { count: 0 };
  made.kernel.host.check = () => void looks.count++;
  return { ...made, looks };
}

describe('text of a JavaScript guest', () => {
  test('that is all lone surrogates is mended, with looks at the limits', () => {
    const { kernel, memory, looks } = watchedKernel();
    const length = MEMORY_BYTES - (MEMORY_BYTES % 3);
    for (let at = 0; at < length; at += 3) memory.all.set([0xed, 0xa0, 0x80], at);
    const guest = { kernel } as unknown as QuickJsGuest;
    systemCalls['utf8']!(guest, [new Span(memory, 0, length, true)]);
    const text = new TextDecoder('utf-8', { fatal: true }).decode(memory.bytes(0, length));
    expect(text).toBe('\ufffd'.repeat(length / 3));
    expect(looks.count).toBeGreaterThan(2);
  });
});

describe('a JSON module', () => {
  const moduleOf = (data: string) => {
    const { kernel, looks } = watchedKernel();
    const file = kernel.open('/', '/app/a.json', 0o101, 0o644);
    kernel.write(file, new TextEncoder().encode(data));
    const source = loadModule(kernel, '/app/a.json') as Uint8Array;
    const quoted = /^export default JSON\.parse\(("[\s\S]*")\);$/.exec(new TextDecoder().decode(source))![1]!;
    return { text: JSON.parse(quoted) as string, looks };
  };

  test('that grows when it is quoted is quoted with looks at the limits', () => {
    const { text, looks } = moduleOf('\u0001'.repeat(90_000));
    expect(text).toBe('\u0001'.repeat(90_000));
    expect(looks.count).toBeGreaterThan(0);
  });

  test('has the same text wherever it is cut into pieces', () => {
    for (const data of [`${'a'.repeat(65_535)}😀"\\\u2028`, '', '[1]'])
      expect(moduleOf(data).text).toBe(data);
  });
});
