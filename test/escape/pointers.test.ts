/** Arbitrary addresses and lengths in system calls: at and past the end of memory, gigabytes, overlapping buffers. */
import { describe, expect, test } from 'vitest';
import { MEMORY_BYTES, testKernel } from '../kernel/test-kernel.ts';
import { tryJavaScript, useCanary } from './attack.ts';

useCanary();

const EFAULT = 21;
const EINVAL = 28;

describe('a system call with a forged pointer', () => {
  test.each([MEMORY_BYTES - 7, MEMORY_BYTES, MEMORY_BYTES + 1, -1, -8, 0x7fffffff])(
    'to a list of buffers outside memory returns EFAULT: address %i',
    (at) => {
      const { hostFunctions } = testKernel();
      for (const name of ['fd_read', 'fd_write'])
        expect(hostFunctions[name]!(name === 'fd_read' ? 0 : 1, at, 1, 0)).toBe(EFAULT);
    },
  );

  // guarantee: system-calls
  test.each([
    [0, -1],
    [MEMORY_BYTES - 1, 2],
    [MEMORY_BYTES, 1],
    [-1, 1],
    [16, 0x7fffffff],
  ])('to a buffer outside memory returns EFAULT: address %i, %i bytes', (at, length) => {
    const { hostFunctions, memory } = testKernel();
    memory.setU32(64, at);
    memory.setU32(68, length);
    expect(hostFunctions['fd_write']!(1, 64, 1, 128)).toBe(EFAULT);
    expect(hostFunctions['fd_read']!(0, 64, 1, 128)).toBe(EFAULT);
    expect(hostFunctions['__syscall_getdents64']!(3, at, length)).toBeLessThan(0);
    expect(hostFunctions['random_get']!(at, length)).toBe(EFAULT);
  });

  // guarantee: system-calls
  // proves: A system call with overlapping buffers transfers only the requested bytes and respects the quota.
  test('to overlapping buffers transfers the requested bytes and respects the quota', () => {
    const { hostFunctions, memory, kernel } = testKernel();
    const fd = kernel.open('/app', 'f', 0o102, 0o644);
    memory.all.fill(65, 1024, 2048);
    // Three buffers that overlap each other and the list itself.
    [
      [1024, 1000],
      [1500, 500],
      [60, 40],
    ].forEach(([at, length], i) => {
      memory.setU32(64 + i * 8, at!);
      memory.setU32(68 + i * 8, length!);
    });
    expect(hostFunctions['fd_write']!(fd, 64, 3, 512)).toBe(0);
    expect(memory.u32(512)).toBe(1540);
    expect(kernel.volume.usage().bytes).toBe(1540);
    kernel.seek(fd, 0, 0);
    // The read overwrites the list of buffers; the call uses the list as it was at the start.
    expect(hostFunctions['fd_read']!(fd, 64, 3, 512)).toBe(0);
    expect(memory.u32(512)).toBe(1540);
  });

  test('to a list of buffers is limited to 1024 buffers', () => {
    const { hostFunctions, memory, output } = testKernel();
    for (let i = 0; i < 1024; i++) {
      memory.setU32(i * 8, 0);
      memory.setU32(i * 8 + 4, MEMORY_BYTES);
    }
    expect(hostFunctions['fd_write']!(1, 0, 1024, 0)).toBe(0);
    expect(output).toHaveLength(1024);
    expect(hostFunctions['fd_write']!(1, 0, 1025, 0)).toBe(EINVAL);
  });
});

describe('length of gigabytes', () => {
  test('is rejected by the os module of JavaScript, as are invalid offsets', async () => {
    const buffer = 'new ArrayBuffer(16)';
    const seen = await tryJavaScript([
      `os.read(0, ${buffer}, -1, 16)`,
      `os.read(0, ${buffer}, 0, 2 ** 32)`,
      `os.read(0, ${buffer}, 2 ** 40, 1)`,
      `os.write(1, ${buffer}, 8, 9)`,
      `os.read(0, {}, 0, 1)`,
      `os.read(2 ** 31, ${buffer}, 0, 1)`,
      `os.seek(0, 1e300, 0)`,
      `std.in.readAsString(1e15)`,
      `(() => { const b = ${buffer}; b.transfer(); return os.read(0, b, 0, 16); })()`,
    ]);
    expect(Object.values(seen)).toEqual([
      'RangeError',
      'RangeError',
      'RangeError',
      'RangeError',
      'TypeError',
      '-9',
      '-22',
      '',
      'RangeError',
    ]);
  });
});
