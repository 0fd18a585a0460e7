/** A program can make the boot script say anything about it. What it says is read in bounded time and not believed. */
import { describe, expect, test } from 'vitest';
import { attack } from './witness.ts';

/** Makes the boot script's `encode` return what this expression gives. */
const forge = (text: string) => `import _sandbox
run = _sandbox.run
run.__closure__[run.__code__.co_freevars.index('encode')].cell_contents = lambda report: ${text}`;

describe('a forged report', () => {
  test.each([
    ['nests two hundred thousand deep', `'{"exit_code":0,"result":' + '[' * 200000 + ']' * 200000 + '}'`],
    ['has half a million values', `'{"exit_code":0,"result":[' + '0,' * 500000 + '1]}'`],
    ['has a quarter of a million objects', `'{"exit_code":0,"result":[' + '{},' * 250000 + '1]}'`],
  ])('that %s loses its result', async (_, text) => {
    const result = await attack('python', forge(text));
    expect(result.metadata.result).toBeUndefined();
    expect(result.metadata.trapped).toBe(false);
  });

  test.each([
    ['is a hundred megabytes', `'"' + 'x' * 100_000_000 + '"'`],
    ['is no JSON', `'{"exit_code":NaN}'`],
    ['is not text', `type('X', (), {'encode': lambda self: 7})()`],
    ['is a number', `'7'`],
    ['is null', `'null'`],
    ['is empty', `''`],
    ['is not UTF-8', `type('X', (), {'encode': lambda self: b'\\xff\\xfe{'})()`],
    ['has an exit code below zero', `'{"exit_code":-5}'`],
    ['has an exit code out of range', `'{"exit_code":1e999}'`],
    ['has a text for an exit code', `'{"exit_code":"0"}'`],
    [
      'has keys of the host',
      `'{"exit_code":1,"trap":{"reason":"x"},"success":true,"stdout":"x","fuelConsumed":0}'`,
    ],
  ])('that %s is a failure', async (_, text) => {
    const result = await attack('python', forge(text));
    expect(result).toMatchObject({ success: false });
    expect(result.fuel_consumed).toBeGreaterThan(100_000);
    expect(result.stdout).toBe('');
  });

  test('has its error cut and its other fields ignored', async () => {
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

  test('cannot hide a limit that was met', async () => {
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

  test('through the frames of the boot script comes to no more', async () => {
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
