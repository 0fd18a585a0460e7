/** Exhausting, reusing and swapping file descriptors. */
import { describe, expect, test } from 'vitest';
import { attack, tryJavaScript, useCanary } from './attack.ts';

useCanary();

describe('file descriptors', () => {
  test('of the standard streams can be closed and replaced', async () => {
    const result = await attack(
      'python',
      `import os, sys
print('before', flush=True)
os.close(0); os.close(1); os.close(2)
fd = os.open('taken', os.O_RDWR | os.O_CREAT)
try: print('goes nowhere', flush=True)
except OSError: sys.exit(5 if fd == 0 else 6)`,
    );
    expect(result).toMatchObject({ stdout: 'before\n', exit_code: 5 });
  });

  // guarantee: system-calls
  // proves: The number of open file descriptors of a JavaScript program is limited, and using a closed descriptor is an error.
  test('have the same limits in JavaScript', async () => {
    const seen = await tryJavaScript([
      "(() => { let n = 0; while (os.open('/dev/null', os.O_RDONLY) >= 0) n++; return n; })()",
      'os.close(100)',
      "os.open('/dev/null', os.O_RDONLY)",
      'os.close(300)',
      'os.dup2(1, 100000)',
      'os.dup(-1)',
      'std.fdopen(9999, "r")',
    ]);
    expect(Object.values(seen)).toEqual(['253', '0', '100', '-9', '-24', '-9', 'null']);
  });
});
