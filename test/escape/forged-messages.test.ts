/** Worker messages are written by the host only. A guest has no port, descriptor or output that is read as a message. */
import { createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';

describe('a forged worker message', () => {
  // guarantee: output-limit
  // proves: Streamed output arrives as text and in order, and is never read as a worker message.
  test('cannot be built from streamed output, which arrives as text, in order and in batches', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const seen: string[] = [];
    const result = await sandbox.execute(
      `import os\nfor i in range(2000): os.write(1, b'%d ' % i)\nos.write(2, b'\\xff{"type":"done"}')`,
      { onStdout: (text) => seen.push(text), onStderr: (text) => seen.push(text) },
    );
    expect(result.success).toBe(true);
    const numbers = Array.from({ length: 2000 }, (_, i) => `${i} `).join('');
    expect(seen.join('')).toBe(`${numbers}\ufffd{"type":"done"}`);
    // Small writes are sent in batches, so a flood of writes is not a flood of messages.
    expect(seen.length).toBeLessThan(500);
  });
});
