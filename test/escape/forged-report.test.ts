/** A program can make the boot script report anything. The host reads the report in bounded time and does not trust it. */
import { describe, expect, test } from 'vitest';
import { attack } from './attack.ts';

/** Makes the boot script's `encode` return the value of this expression. */
const forge = (text: string) => `import _sandbox
run = _sandbox.run
run.__closure__[run.__code__.co_freevars.index('encode')].cell_contents = lambda report: ${text}`;

describe('forged report', () => {
  test.each([
    ['nests 200,000 levels deep', `'{"exit_code":0,"result":' + '[' * 200000 + ']' * 200000 + '}'`],
    ['has 500,000 values', `'{"exit_code":0,"result":[' + '0,' * 500000 + '1]}'`],
    ['has 250,000 objects', `'{"exit_code":0,"result":[' + '{},' * 250000 + '1]}'`],
  ])('has its result dropped: it %s', async (_, text) => {
    const result = await attack('python', forge(text));
    expect(result.metadata.result).toBeUndefined();
    expect(result.metadata.trapped).toBe(false);
  });

  // guarantee: untrusted-reports
  test.each([
    ['is a hundred megabytes', `'"' + 'x' * 100_000_000 + '"'`],
    ['is not JSON', `'{"exit_code":NaN}'`],
    ['is not text', `type('X', (), {'encode': lambda self: 7})()`],
    ['is a number', `'7'`],
    ['is null', `'null'`],
    ['is empty', `''`],
    ['is not UTF-8', `type('X', (), {'encode': lambda self: b'\\xff\\xfe{'})()`],
    ['has an exit code below zero', `'{"exit_code":-5}'`],
    ['has an exit code out of range', `'{"exit_code":1e999}'`],
    ['has a string as exit code', `'{"exit_code":"0"}'`],
    [
      'has fields that only the host sets',
      `'{"exit_code":1,"trap":{"reason":"x"},"success":true,"stdout":"x","fuelConsumed":0}'`,
    ],
  ])('makes the run fail: it %s', async (_, text) => {
    const result = await attack('python', forge(text));
    expect(result).toMatchObject({ success: false });
    expect(result.fuel_consumed).toBeGreaterThan(100_000);
    expect(result.stdout).toBe('');
  });

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
  test('cannot hide a limit that was reached', async () => {
    const result = await attack(
      'python',
      `${forge(`'{"exit_code":0}'`)}\ntry:\n    while True: pass\nexcept BaseException: pass`,
      { policy: { fuel_budget: 100_000_000 } },
    );
    expect(result).toMatchObject({
      success: false,
      exit_code: 152,
      metadata: { trap_reason: 'out_of_fuel' },
    });
  });

  test('has no more effect when it is written through the frames of the boot script', async () => {
    const result = await attack(
      'python',
      `import sys
frame = sys._getframe()
while 'report' not in frame.f_locals: frame = frame.f_back
frame.f_locals['report'].update(exit_code=10**5000, result=object(), trapped=False, result_type=7)`,
    );
    expect(result).toMatchObject({ success: false, exit_code: 1 });
  });
});
