/** The signals by which the host tells Python of a limit, in the hands of the program. */
import { describe, expect, test } from 'vitest';
import { attack } from './witness.ts';

describe('the signals of limits', () => {
  test.each([60, 61, 62])(
    'raised by the program itself (%i) end it as an exception, not as a limit',
    async (number) => {
      const result = await attack('python', `import signal\nsignal.raise_signal(${number})`);
      expect(result).toMatchObject({
        success: false,
        exit_code: 1,
        metadata: { trapped: false, trap_reason: null },
      });
    },
  );

  test.each([
    ['ignored', 'signal.signal(n, signal.SIG_IGN)'],
    ['put back to default', 'signal.signal(n, signal.SIG_DFL)'],
    ['caught', 'signal.signal(n, lambda *a: None)'],
    ['answered with an exit', 'signal.signal(n, lambda *a: os._exit(0))'],
    ['blocked', 'signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))'],
    [
      'watched by a descriptor',
      'signal.set_wakeup_fd(os.open("w", os.O_CREAT | os.O_WRONLY | os.O_NONBLOCK))',
    ],
  ])('%s do not keep a limit away', async (_, act) => {
    const result = await attack(
      'python',
      `import os, signal
for n in (60, 61, 62):
    try: ${act}
    except (AttributeError, OSError, ValueError): pass
while True:
    try:
        while True: pass
    except BaseException: pass`,
      { policy: { fuel_budget: 200_000_000 } },
    );
    expect(result).toMatchObject({
      success: false,
      exit_code: 152,
      metadata: { trap_reason: 'out_of_fuel' },
    });
    expect(result.fuel_consumed).toBeLessThanOrEqual(250_000_000);
  });

  test('have exceptions that a program may catch, and gains nothing by it', async () => {
    const result = await attack(
      'python',
      `try:
    while True: pass
except BaseException as error:
    print(type(error).__name__, flush=True)
print('and on', flush=True)`,
      { policy: { fuel_budget: 100_000_000 } },
    );
    expect(result).toMatchObject({ stdout: 'OutOfFuel\nand on\n', success: false, exit_code: 152 });
    expect(result.metadata).toMatchObject({ trapped: true, trap_reason: 'out_of_fuel' });
  });
});
