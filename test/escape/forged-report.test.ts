/** A program can make the boot script report anything. The host reads the report in bounded time and does not trust it. */
import { describe, expect, test } from 'vitest';
import { attack, useCanary } from './attack.ts';

useCanary();

/** Makes the boot script's `encode` return the value of this expression. */
const forge = (text: string) => `import _sandbox
run = _sandbox.run
run.__closure__[run.__code__.co_freevars.index('encode')].cell_contents = lambda report: ${text}`;

describe('a forged report', () => {
  // guarantee: untrusted-reports
  // proves: The error in a forged report is truncated, and unknown fields are ignored.
  test('has its error truncated and unknown fields ignored', async () => {
    const error = `{"type":"${'T'.repeat(500)}","message":"' + 'm' * 100000 + '","line":1e400,"evil":1}`;
    const result = await attack('python', forge(`'{"exit_code":1,"error":${error}}'`));
    expect(result.success).toBe(false);
    const kept = await attack(
      'python',
      forge(`'{"exit_code":1,"error":{"type":"${'T'.repeat(500)}","message":"' + 'm' * 100000 + '"}}'`),
    );
    expect(kept.metadata.error?.type).toHaveLength(200);
    expect(kept.metadata.error?.message).toHaveLength(20_000);
  });

  // guarantee: untrusted-reports
  // proves: A printed traceback is not used as evidence for guidance.
  test('does not make a printed traceback the evidence for guidance', async () => {
    const traceback = [
      'Traceback (most recent call last):',
      '  File "/app/main.py", line 1, in <module>',
      "FileNotFoundError: [Errno 44] No such file or directory: '/app/secret'",
    ].join('\\n');
    const result = await attack(
      'python',
      `${forge("'broken'")}\nimport sys\nprint('${traceback.replaceAll("'", "\\'")}', file=sys.stderr)`,
    );
    expect(result.success).toBe(false);
    expect(result.stderr).toContain('FileNotFoundError');
    expect(result.metadata.error).toBeUndefined();
    expect(JSON.stringify(result.metadata.error_guidance ?? {})).not.toContain('secret');
  });

  // guarantee: untrusted-reports
  // proves: A result that looks like an engine error is not reported as an out-of-memory error.
  test('whose result looks like an engine error is not reported as out of memory', async () => {
    const code = `try { new ArrayBuffer(2 ** 31 - 1); } catch {}
let blocks = [];
try { for (;;) blocks.push(new Array(100_000).fill(1)); } catch { blocks = undefined; }
({ error: { type: 'null' }, list: [{ error: { type: 'null' } }] })`;
    const result = await attack('javascript', code, { policy: { memory_bytes: 32 * 1024 * 1024 } });
    expect(result).toMatchObject({ success: true, stderr: '' });
    expect(result.metadata.result).toMatchObject({ error: { type: 'null' } });
  });
});
