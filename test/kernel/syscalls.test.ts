import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FILE_TYPE } from '../../packages/core/src/kernel/abi.ts';
import { restoreKernelState, saveKernelState } from '../../packages/core/src/kernel/kernel-state.ts';
import { repetitions } from '../support/repetitions.ts';
import { PATH_AT, paths, WIDE, wide, word } from './arbitraries.ts';
import { MEMORY_BYTES, QUOTA, StubTrap, testKernel } from './test-kernel.ts';

describe('host functions', () => {
  const names = Object.keys(testKernel().hostFunctions);

  // guarantee: system-calls
  test.each(names)('return a number for any arguments and never throw: %s', (name) => {
    const args = fc.tuple(...Array.from({ length: 7 }, (_, i) => (WIDE[name]?.includes(i) ? wide : word)));
    const { kernel, memory, hostFunctions, writeText } = testKernel();
    kernel.volume.symlink('loop', '/app/loop', '/');
    fc.assert(
      fc.property(
        args,
        fc.constantFrom(...paths),
        fc.uint8Array({ maxLength: 64 }),
        (values, path, noise) => {
          writeText(PATH_AT, path);
          memory.all.set(noise, 4096);
          try {
            const answer = hostFunctions[name]!(...values);
            expect(['number', 'bigint', 'undefined', 'object']).toContain(typeof answer);
            if (typeof answer === 'object') expect(answer).toBeNull();
          } catch (cause) {
            if (!(cause instanceof StubTrap)) throw cause;
          }
        },
      ),
      { numRuns: repetitions(100, 1000), seed: 42 },
    );
    const { bytes, files } = kernel.volume.usage();
    expect(bytes).toBeLessThanOrEqual(QUOTA.maxBytes);
    expect(files).toBeLessThanOrEqual(QUOTA.maxFiles);
    expect(kernel.fds.slots.length).toBeLessThanOrEqual(256);
  });

  test('respect the quotas over long random sequences', () => {
    const { kernel, hostFunctions, writeText } = testKernel();
    const wrapped = names.filter(
      (name) => !['exit', 'proc_exit', '_abort_js', '__assert_fail'].includes(name),
    );
    const step = fc.record({
      name: fc.constantFrom(...wrapped),
      path: fc.constantFrom(...paths),
      words: fc.array(word, { minLength: 7, maxLength: 7 }),
      wides: fc.array(wide, { minLength: 7, maxLength: 7 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
        for (const { name, path, words, wides } of steps) {
          writeText(PATH_AT, path);
          const values = words.map((value, i) => (WIDE[name]?.includes(i) ? wides[i] : value));
          try {
            hostFunctions[name]!(...values);
          } catch (cause) {
            if (!(cause instanceof StubTrap)) throw cause;
          }
        }
        expect(kernel.volume.usage().bytes).toBeLessThanOrEqual(QUOTA.maxBytes);
        expect(kernel.fds.slots.length).toBeLessThanOrEqual(256);
      }),
      { numRuns: repetitions(20, 200), seed: 7 },
    );
  });
});

describe('trap in a host function', () => {
  test('propagates from the middle of a vectored call', () => {
    const { kernel, memory, hostFunctions } = testKernel();
    // Two buffers, too large to be joined: writing the second one reaches the interval at which the limits are checked.
    [0, 65_536, 8192, 4].forEach((value, i) => {
      memory.setU32(512 + i * 4, value);
    });
    let checks = 0;
    kernel.host.check = () => {
      if (++checks > 1) throw new StubTrap('time');
    };
    kernel.chargeHostTime(998);
    expect(() => hostFunctions['fd_write']!(1, 512, 2, 600)).toThrow(StubTrap);
    expect(checks).toBe(2);
  });
});

describe('pointers', () => {
  test('at or beyond the end of memory return EFAULT', () => {
    const { hostFunctions } = testKernel();
    const EFAULT = 21;
    expect(hostFunctions['__syscall_stat64']!(MEMORY_BYTES, 0)).toBe(-EFAULT);
    expect(hostFunctions['fd_write']!(1, MEMORY_BYTES - 4, 1, 0)).toBe(EFAULT);
    expect(hostFunctions['random_get']!(MEMORY_BYTES - 1, 2)).toBe(EFAULT);
    expect(hostFunctions['random_get']!(0, -1)).toBe(EFAULT);
    expect(hostFunctions['__syscall_getcwd']!(MEMORY_BYTES - 2, 100)).toBe(-EFAULT);
  });

  test('to a path without a terminator are rejected', () => {
    const { memory, hostFunctions } = testKernel();
    memory.all.fill(97);
    expect(hostFunctions['__syscall_stat64']!(0, 0)).toBe(-37);
    expect(hostFunctions['__syscall_stat64']!(MEMORY_BYTES - 100, 0)).toBe(-21);
  });

  test('to a name that is not UTF-8 return EILSEQ', () => {
    const { memory, hostFunctions } = testKernel();
    memory.all.set([0xff, 0xfe, 0], PATH_AT);
    expect(hostFunctions['__syscall_mkdirat']!(-100, PATH_AT, 0o777)).toBe(-25);
  });

  test('to too many buffers are rejected before any buffer is read', () => {
    const { hostFunctions } = testKernel();
    expect(hostFunctions['fd_write']!(1, 0, 1025, 0)).toBe(28);
    expect(hostFunctions['fd_read']!(0, 0, -1, 0)).toBe(28);
  });
});

describe('descriptors', () => {
  test('are limited to 256 and reused after close', () => {
    const { hostFunctions, writeText } = testKernel();
    const path = writeText(PATH_AT, '/lib/a.py');
    const open = () => hostFunctions['__syscall_openat']!(-100, path, 0, 0) as number;
    const opened = Array.from({ length: 253 }, open);
    expect(opened).toEqual(Array.from({ length: 253 }, (_, i) => i + 3));
    expect(open()).toBe(-33);
    hostFunctions['fd_close']!(100);
    expect(open()).toBe(100);
  });

  test('share their offset after dup but not after a second open', () => {
    const { kernel, writeText, hostFunctions } = testKernel();
    const path = writeText(PATH_AT, '/lib/a.py');
    const first = hostFunctions['__syscall_openat']!(-100, path, 0, 0);
    const second = hostFunctions['__syscall_dup']!(first);
    const third = hostFunctions['__syscall_openat']!(-100, path, 0, 0);
    kernel.read(first, new Uint8Array(3));
    expect([first, second, third].map((fd) => kernel.seek(fd, 0, 1))).toEqual([3, 3, 0]);
  });

  test('keep a deleted file readable until the last close, which frees its bytes', () => {
    const { kernel } = testKernel();
    const fd = kernel.open('/app', 'f', 0o102 | 0o100, 0o644);
    kernel.write(fd, new Uint8Array(5000));
    kernel.volume.unlink('f', '/app');
    expect(kernel.volume.usage().bytes).toBe(5000);
    expect(kernel.read(fd, new Uint8Array(10), 0)).toBe(10);
    kernel.close(fd);
    expect(kernel.volume.usage()).toEqual({ bytes: 0, files: 0 });
  });
});

describe('kernel', () => {
  test('rejects writes outside /app and /tmp', () => {
    const { kernel } = testKernel();
    for (const path of ['/x', '/lib/a.py', '/lib/new', '/dev/x']) {
      expect(() => kernel.open('/', path, 0o101, 0o644), path).toThrow(
        expect.objectContaining({ code: expect.stringMatching(/EROFS|ENOENT/) }),
      );
    }
  });

  test('take numbers as 32-bit integers, whatever their type', () => {
    const { kernel, memory, hostFunctions, sleeps } = testKernel();
    const call = (name: string, ...values: number[]) => hostFunctions[name]!(...values);
    // Descriptors that no integer names would not count towards the limit.
    for (const fd of [3.5, 300.5, Number.NaN, Number.POSITIVE_INFINITY]) call('__syscall_dup3', 1, fd);
    memory.setU32(64, 7);
    for (let i = 0; i < 1000; i++) call('__syscall_fcntl64', 1, 0, 64);
    expect(Object.keys(kernel.fds.slots).every((fd) => Number(fd) < 256)).toBe(true);
    // 2^32 + 1 entries are one.
    memory.setU32(128, 0xffff_ffff);
    expect(call('__syscall_poll', 128, 2 ** 32 + 1, 2 ** 32 + 5)).toBe(0);
    expect(call('__syscall_poll', 128, Number.NaN, Number.NaN)).toBe(0);
    expect(call('__syscall_poll', 0, 0, 0.5)).toBe(0);
    expect(sleeps).toEqual([5]);
    expect(call('fd_write', 1, 256, 2 ** 32 + 2, 512)).toBe(0);
    expect(call('fd_read', 0, 256, 1025, 512)).not.toBe(0);
  });

  // Expected values: the same calls on Linux.
  test.each([
    ['/dev/null', [], 3],
    ['/dev/zero', [0, 0], 3],
    ['/dev/full', [0, 0], 'ENOSPC'],
    ['/dev/random', [7, 7], 3],
    ['/dev/urandom', [7, 7], 3],
  ])('reads from and writes to %s as Linux does', (path, bytes, written) => {
    const { kernel } = testKernel();
    const fd = kernel.open('/', path, 0o1002, 0);
    const read = (at?: number) => {
      const into = new Uint8Array([9, 9]);
      return [...into.subarray(0, kernel.read(fd, into, at))];
    };
    const write = (at?: number) => {
      try {
        return kernel.write(fd, new Uint8Array(3), at);
      } catch (cause) {
        return (cause as { code: string }).code;
      }
    };
    expect([read(), read(100), write(), write(100)]).toEqual([bytes, bytes, written, written]);
    expect([kernel.seek(fd, 5, 0), kernel.seek(fd, 0, 2)]).toEqual([0, 0]);
    const { kind, mode, size } = kernel.stat('/', path, true);
    expect([FILE_TYPE[kind].mode, mode, size]).toEqual([0o020000, 0o666, 0]);
    expect(kernel.access('/', path, 6)).toBe(0);
    expect(() => kernel.access('/', path, 1)).toThrow(expect.objectContaining({ code: 'EACCES' }));
    const saved = JSON.parse(JSON.stringify(saveKernelState(kernel)));
    const other = testKernel().kernel;
    restoreKernelState(other, saved, []);
    expect(other.fds.get(fd).kind).toBe(kind);
  });

  test('limits one read of random bytes as Linux does', () => {
    const { kernel } = testKernel();
    const fd = kernel.open('/', '/dev/urandom', 0, 0);
    expect(kernel.read(fd, new Uint8Array(2 ** 25))).toBe(2 ** 25 - 1);
  });

  test('sleeps when poll has no descriptors', () => {
    const { hostFunctions, sleeps } = testKernel();
    expect(hostFunctions['__syscall_poll']!(0, 0, 250)).toBe(0);
    expect(sleeps).toEqual([250]);
  });

  test('skips files that are deleted during a listing', () => {
    const { kernel } = testKernel();
    for (const name of ['b', 'a', 'c']) kernel.close(kernel.open('/app', name, 0o101, 0o644));
    const fd = kernel.open('/', '/app', 0, 0);
    const seen: string[] = [];
    kernel.readDirectory(fd, ({ name }) => {
      seen.push(name);
      if (name === 'a') kernel.volume.unlink('b', '/app');
      return true;
    });
    expect(seen).toEqual(['.', '..', 'a', 'c']);
  });

  test('writes the buffers that fit and fails on the next call', () => {
    const { kernel, memory, hostFunctions } = testKernel();
    const fd = kernel.open('/app', 'f', 0o101, 0o644);
    memory.setU32(0, 1024);
    memory.setU32(4, 60_000);
    memory.setU32(8, 1024);
    memory.setU32(12, 60_000);
    expect(hostFunctions['fd_write']!(fd, 0, 2, 64)).toBe(0);
    expect(memory.u32(64)).toBe(60_000);
    expect(hostFunctions['fd_write']!(fd, 0, 1, 64)).toBe(51);
  });
});
