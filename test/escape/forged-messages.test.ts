/** Worker messages are written by the host only. A guest has no port, descriptor or output that is read as a message. */
import { createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { attack, tryJavaScript } from './attack.ts';

const MESSAGES = [
  { type: 'done', id: 1, outcome: { stdout: 'forged', report: { exit_code: 0 } } },
  { type: 'failed', id: 1, code: 'internal', message: 'forged' },
  { type: 'output', id: 1, stream: 1, bytes: 'forged' },
];

describe('forged worker message', () => {
  test('has no port to be sent through', async () => {
    const names = [
      'postMessage',
      'parentPort',
      'MessagePort',
      'MessageChannel',
      'BroadcastChannel',
      'Worker',
      'Atomics',
    ];
    const seen = await tryJavaScript(names.map((name) => `typeof ${name}`));
    expect(new Set(Object.values(seen))).toEqual(new Set(['undefined']));
  });

  test.each(MESSAGES)('is plain output when it is written as output: %j', async (message) => {
    const text = JSON.stringify(message);
    const result = await attack(
      'python',
      `import os\nfor fd in (1, 2): os.write(fd, ${JSON.stringify(text)}.encode())\nraise SystemExit(4)`,
    );
    expect(result).toMatchObject({ exit_code: 4, stdout: text, stderr: text });
    const script = await attack('javascript', `console.log(${JSON.stringify(text)}); throw 1;`);
    expect(script).toMatchObject({ exit_code: 1, stdout: `${text}\n` });
  });

  // guarantee: untrusted-reports
  test('reaches only stdout and stderr when it is written to every descriptor', async () => {
    const result = await attack(
      'python',
      `import os
written = []
for fd in range(0, 256):
    try: os.write(fd, b'\\xff\\x0fo"\\x04type"\\x04done'); written.append(fd)
    except OSError: pass
written`,
    );
    expect(result.metadata.result).toEqual([1, 2]);
  });

  // guarantee: output-limit
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
