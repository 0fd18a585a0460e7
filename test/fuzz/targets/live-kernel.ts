/**
 * Compares a live kernel with a restored one: the same random system calls run in a kernel that stays alive and in one that
 * is saved and restored after every call. Both return the same and have the same files, descriptors and usage.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { checked } from '../../../packages/core/src/framing/json-checks.ts';
import { WRITABLE_ROOTS } from '../../../packages/core/src/fs/volume.ts';
import {
  kernelState,
  restoreKernelState,
  saveKernelState,
  saveRemovedFiles,
} from '../../../packages/core/src/kernel/kernel-state.ts';
import { isSyscallError } from '../../../packages/core/src/kernel/syscall-error.ts';
import type { Kernel } from '../../../packages/core/src/kernel/syscalls.ts';
import { kernelWith, testKernel } from '../../kernel/test-kernel.ts';
import type { FuzzTarget } from '../target.ts';

const name = fc.constantFrom('a', 'b', 'c');
const path = fc
  .oneof(
    {
      weight: 6,
      arbitrary: fc.array(fc.oneof(name, name, fc.constant('..')), { minLength: 1, maxLength: 3 }),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom(['/app'], ['/tmp'], ['/tmp', 'a'], ['/lib', 'a.py'], ['.'], ['/']),
    },
  )
  .map((parts) => parts.join('/'));
/** Mostly descriptors that the first calls of a case open. */
const fd = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 3, max: 5 }) },
  { weight: 1, arbitrary: fc.nat(8) },
);
const flags = fc.constantFrom(0, 0o100 | 2, 0o100 | 1, 0o102 | 0o1000, 0o102 | 0o2000, 2, 0o200000);
const mode = fc.constantFrom(0o777, 0o700, 0o644, 0o000);
const small = fc.nat(40);

const HOST = testKernel().kernel.host;

type Call = (kernel: Kernel) => unknown;
const call = <T extends unknown[]>(
  label: string,
  args: { [K in keyof T]: fc.Arbitrary<T[K]> },
  run: (kernel: Kernel, ...args: T) => unknown,
) =>
  fc.tuple(...(args as fc.Arbitrary<unknown>[])).map((values) => ({
    run: ((kernel) => run(kernel, ...(values as T))) as Call,
    [fc.toStringMethod]: () => `${label}(${values.map((value) => JSON.stringify(value)).join(', ')})`,
  }));

/** The next entries of a directory. */
function list(kernel: Kernel, from: number, count: number): string[] {
  const names: string[] = [];
  kernel.readDirectory(from, ({ name: each, kind, ino }) => {
    if (names.length === count) return false;
    names.push(`${kind} ${each} ${ino}`);
    return true;
  });
  return names;
}

function read(kernel: Kernel, from: number, length: number): string {
  const into = new Uint8Array(length);
  return Buffer.from(into.subarray(0, kernel.read(from, into))).toString('latin1');
}

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: call('open', [path, flags, mode], (kernel, at, how, bits) =>
      kernel.open(kernel.cwd, at, how, bits),
    ),
  },
  {
    weight: 3,
    arbitrary: call('write', [fd, fc.uint8Array({ minLength: 1, maxLength: 20 })], (kernel, to, data) =>
      kernel.write(to, data),
    ),
  },
  {
    weight: 2,
    arbitrary: call(
      'mkdir',
      [path, mode],
      (kernel, at, bits) => kernel.volume.mkdir(at, kernel.cwd, bits).path,
    ),
  },
  call('close', [fd], (kernel, at) => kernel.close(at)),
  call('read', [fd, small], read),
  call('seek', [fd, fc.integer({ min: -5, max: 40 }), fc.nat(2)], (kernel, at, offset, whence) =>
    kernel.seek(at, offset, whence),
  ),
  { weight: 3, arbitrary: call('readdir', [fd, fc.nat(4)], list) },
  call('dup', [fd], (kernel, at) => kernel.dup(at)),
  call('dup2', [fd, fd], (kernel, from, to) => kernel.dup2(from, to)),
  call('pipe', [], (kernel) => kernel.pipe()),
  call('ftruncate', [fd, small], (kernel, at, size) =>
    kernel.volume.truncate(kernel.regularFile(at, true), size),
  ),
  { weight: 2, arbitrary: call('rmdir', [path], (kernel, at) => kernel.rmdir(at, kernel.cwd)) },
  { weight: 2, arbitrary: call('unlink', [path], (kernel, at) => kernel.volume.unlink(at, kernel.cwd)) },
  call('rename', [path, path], (kernel, from, to) => kernel.rename(from, kernel.cwd, to, kernel.cwd)),
  call('symlink', [path, path], (kernel, target, at) => kernel.volume.symlink(target, at, kernel.cwd).path),
  call('chmod', [path, mode], (kernel, at, bits) =>
    kernel.volume.chmod(kernel.volume.lookup(at, kernel.cwd, true), bits),
  ),
  call('utimes', [path, fc.nat(1000)], (kernel, at, time) =>
    kernel.volume.utimes(kernel.volume.lookup(at, kernel.cwd, true), time),
  ),
  call('chdir', [path], (kernel, at) => kernel.chdir(at)),
  call('fchdir', [fd], (kernel, at) => kernel.fchdir(at)),
  call('stat', [path, fc.boolean()], (kernel, at, follow) => kernel.stat(kernel.cwd, at, follow)),
  call('openat', [fd, path, flags], (kernel, at, to, how) =>
    kernel.open(kernel.baseDirectory(at, to), to, how, 0o644),
  ),
);

function attempt(action: () => unknown): unknown {
  try {
    return action();
  } catch (cause) {
    if (isSyscallError(cause)) return cause.code;
    throw cause;
  }
}

/** Everything that a program can find out without changing it. */
function observe(kernel: Kernel): unknown {
  const inodes = WRITABLE_ROOTS.map((root) =>
    kernel.volume.entries(root).map(({ path: at }) => kernel.volume.lookup(at, root, false).ino),
  );
  return {
    inodes,
    cwd: attempt(() => kernel.getcwd()),
    here: attempt(() => kernel.stat(kernel.cwd, '.', true)),
    umask: kernel.umask,
    usage: kernel.volume.usage(),
    roots: WRITABLE_ROOTS.map((root) => kernel.stat('/', root, true)),
    files: WRITABLE_ROOTS.map((root) =>
      kernel.volume
        .entries(root)
        .map(({ data, ...entry }) => ({ ...entry, data: data && Buffer.from(data).toString('latin1') })),
    ),
    descriptors: kernel.fds.slots.flatMap((file, at) =>
      file === undefined
        ? []
        : [
            [
              at,
              attempt(() => kernel.fstat(at)),
              attempt(() => kernel.seek(at, 0, 1)),
              attempt(() => kernel.stat(kernel.baseDirectory(at, 'a'), 'a', false)),
              file.flags,
            ],
          ],
    ),
  };
}

/** A kernel with files and folders, three of which are open. */
function startKernel(): Kernel {
  const kernel = kernelWith(HOST);
  for (const at of ['a', 'a/b', 'b']) kernel.volume.mkdir(at, kernel.cwd, 0o755);
  for (const at of ['a/a', 'a/c', 'c']) kernel.close(kernel.open(kernel.cwd, at, 0o102, 0o644));
  kernel.write(kernel.open(kernel.cwd, 'c', 2, 0), new Uint8Array(10).fill(65));
  for (const at of ['a', 'b']) kernel.open(kernel.cwd, at, 0, 0);
  return kernel;
}

function restored(kernel: Kernel): Kernel {
  const next = kernelWith(HOST);
  for (const root of WRITABLE_ROOTS) next.volume.fill(root, structuredClone(kernel.volume.entries(root)));
  const saved: unknown = JSON.parse(JSON.stringify(saveKernelState(kernel)));
  restoreKernelState(
    next,
    checked(kernelState, saved, (path) => new Error(`the saved state is invalid at ${path}`)),
    saveRemovedFiles(kernel),
  );
  return next;
}

export const liveKernel: FuzzTarget = {
  name: 'live-kernel',
  shortRuns: 100,
  open() {
    const outcomes = { succeeded: 0, failed: 0, positions: 0, removed: 0, listings: 0 };
    const property = fc.property(fc.array(step, { minLength: 1, maxLength: 25, size: 'max' }), (steps) => {
      const live = startKernel();
      let twin = startKernel();
      for (const { run } of steps) {
        const answer = attempt(() => run(live));
        assert.deepEqual(
          attempt(() => run(twin)),
          answer,
        );
        outcomes[typeof answer === 'string' && answer.startsWith('E') ? 'failed' : 'succeeded']++;
        if (live.fds.slots.some((file) => file?.kind === 'file' && file.position > 0)) outcomes.positions++;
        if (live.removedNodes().length > 0) outcomes.removed++;
        if (live.fds.slots.some((file) => file?.kind === 'dir' && file.listing !== undefined))
          outcomes.listings++;
        twin = restored(twin);
        live.renumberNodes();
        twin.renumberNodes();
        assert.deepEqual(observe(twin), observe(live));
      }
    });
    return {
      property,
      checkCoverage: () => assert.ok(Math.min(...Object.values(outcomes)) > 30, JSON.stringify(outcomes)),
    };
  },
};
