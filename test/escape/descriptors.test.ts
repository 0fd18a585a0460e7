/** Exhausting, reusing and swapping file descriptors. */
import { describe, expect, test } from 'vitest';
import { attack, tryJavaScript } from './attack.ts';

describe('file descriptors', () => {
  // guarantee: system-calls
  test('are limited in number, are reused after close, and never reach the host', async () => {
    const result = await attack(
      'python',
      `import os
seen, fds = [], []
try:
    while True: fds.append(os.open('/dev/null', os.O_RDONLY))
except OSError as error: seen.append([len(fds), os.strerror(error.errno)])
os.close(fds[10])
seen.append(os.open('/dev/null', os.O_RDONLY) == fds[10])
os.closerange(3, 300)
reached = []
for fd in range(3, 2000):
    for act in (lambda: os.write(fd, b'x'), lambda: os.read(fd, 1), lambda: os.fstat(fd)):
        try: act(); reached.append(fd)
        except OSError: pass
seen.append(reached)
r, w = os.pipe()
written = 0
try:
    while True: written += os.write(w, b'x' * 10000)
except OSError: seen.append(written)
for old, new in ((1, 100000), (1, 2**31 - 1), (999, 1)):
    try: os.dup2(old, new); seen.append('done')
    except OSError: seen.append('refused')
seen`,
    );
    expect(result.metadata.result).toEqual([
      [253, 'No file descriptors available'],
      true,
      [],
      65_536,
      'refused',
      'refused',
      'refused',
    ]);
  });

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

  test('can be swapped, and output caps still apply', async () => {
    const result = await attack(
      'python',
      `import os\nkeep = os.dup(1); os.dup2(2, 1)\nprint('x' * 5000, flush=True)\nos.dup2(keep, 1)\nprint('back', flush=True)`,
      { policy: { stderr_max_bytes: 100 } },
    );
    expect(result).toMatchObject({ stdout: 'back\n', stderr: 'x'.repeat(100) });
    expect(result.metadata).toMatchObject({ stderr_truncated: true, stderr_dropped_bytes: 4901 });
  });

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
