/** The signals that the host uses to report a limit to Python, raised or replaced by the program itself. */
import { describe, expect, test } from 'vitest';
import { attack } from './attack.ts';

describe('limit signal', () => {
  test.each([60, 61, 62])('is an ordinary exception when the program raises it: %i', async (number) => {
    const result = await attack('python', `import signal\nsignal.raise_signal(${number})`);
    expect(result).toMatchObject({
      success: false,
      exit_code: 1,
      metadata: { trapped: false, trap_reason: null },
    });
  });

  // guarantee: fuel-limit
  test.each([
    ['ignored', 'signal.signal(n, signal.SIG_IGN)'],
    ['reset to its default', 'signal.signal(n, signal.SIG_DFL)'],
    ['caught', 'signal.signal(n, lambda *a: None)'],
    ['handled with os._exit', 'signal.signal(n, lambda *a: os._exit(0))'],
    ['blocked', 'signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))'],
    [
      'redirected to a wakeup descriptor',
      'signal.set_wakeup_fd(os.open("w", os.O_CREAT | os.O_WRONLY | os.O_NONBLOCK))',
    ],
  ])('does not disable the limit when the program changes how it is handled: %s', async (_, act) => {
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

  test('raises an exception that the program can catch without escaping the limit', async () => {
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
