/** A program can make the boot script report anything. The host reads the report in bounded time and does not trust it. */
import { describe, expect, test } from 'vitest';
import { attack } from './attack.ts';

/** Makes the boot script's `encode` return the value of this expression. */
const forge = (text: string) => `import _sandbox
run = _sandbox.run
run.__closure__[run.__code__.co_freevars.index('encode')].cell_contents = lambda report: ${text}`;

describe('forged report', () => {
  // guarantee: untrusted-reports
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
});
