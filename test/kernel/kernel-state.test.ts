/** Saved kernel states that were forged: they are rejected without an effect, or give no more than open(2) would. */
import { describe, expect, test } from 'vitest';
import { checked } from '../../packages/core/src/framing/json-checks.ts';
import { WRITABLE_ROOTS } from '../../packages/core/src/fs/volume.ts';
import {
  kernelState,
  restoreKernelState,
  type SavedContents,
  saveKernelState,
  saveRemovedFiles,
} from '../../packages/core/src/kernel/kernel-state.ts';
import { isSyscallError } from '../../packages/core/src/kernel/syscall-error.ts';
import type { Kernel } from '../../packages/core/src/kernel/syscalls.ts';
import { kernelWith, testKernel } from './test-kernel.ts';

const HOST = testKernel().kernel.host;

function newKernel(): Kernel {
  const kernel = kernelWith(HOST);
  kernel.volume.mkdir('d', '/app', 0o755);
  kernel.write(kernel.open('/app', 'f', 0o102, 0o644), new Uint8Array(10).fill(65));
  kernel.close(3);
  return kernel;
}

type State = ReturnType<typeof saveKernelState>;

/** The state of a kernel with an open file as descriptor 3, a directory, a pipe and a removed file. */
function savedState(): State {
  const kernel = newKernel();
  kernel.open('/app', 'f', 2, 0);
  kernel.open('/app', 'd', 0, 0);
  kernel.pipe();
  kernel.write(kernel.open('/app', 'gone', 0o102, 0o644), new Uint8Array(100));
  kernel.volume.unlink('gone', '/app');
  kernel.fds.closeOnExec.add(3);
  kernel.endedChildren = [{ pid: 43, status: 512 }];
  return JSON.parse(JSON.stringify(saveKernelState(kernel)));
}

const observed = (kernel: Kernel) => ({
  state: saveKernelState(kernel),
  usage: kernel.volume.usage(),
  files: WRITABLE_ROOTS.map((root) => kernel.volume.entries(root)),
});

const contentsOf = (...sizes: number[]): SavedContents[] =>
  sizes.map((size) => ({ bytes: new Uint8Array(size), sha256: `of ${size} bytes` }));

/** The removed file in `savedState` has 100 bytes. */
function restore(kernel: Kernel, state: unknown, contents = contentsOf(100)): void {
  restoreKernelState(
    kernel,
    checked(kernelState, state, (path) => new RangeError(path)),
    contents,
  );
}

/** How an attempt fails: the code of a system call, or the place of invalid data. */
function failureOf(action: () => unknown): string | undefined {
  try {
    action();
    return undefined;
  } catch (cause) {
    if (isSyscallError(cause)) return cause.code;
    if (cause instanceof RangeError) return 'invalid';
    throw cause;
  }
}

type Edit = (
  state: {
    -readonly [K in keyof State]: State[K] extends readonly (infer T)[] ? T[] : State[K];
  },
) => void;

const fileAt = (index: number) => ({ kind: 'file', flags: 2, node: index, position: 0 }) as never;
const slotOf = (state: State, kind: string) => state.files.findIndex((file) => file.kind === kind);

function library(kernel: Kernel): string {
  const into = new Uint8Array(20);
  const length = kernel.volume.read(kernel.volume.lookup('/lib/a.py', '/', true), 0, into);
  return Buffer.from(into.subarray(0, length)).toString();
}

const REJECTED: readonly (readonly [string, string, Edit])[] = [
  ['a negative position', 'invalid', (s) => Object.assign(s.files[slotOf(s, 'file')]!, { position: -1 })],
  ['a fractional position', 'invalid', (s) => Object.assign(s.files[slotOf(s, 'file')]!, { position: 0.5 })],
  [
    'a position that is not exact',
    'invalid',
    (s) => Object.assign(s.files[slotOf(s, 'file')]!, { position: 2 ** 60 }),
  ],
  ['a node number that does not exist', 'EBADF', (s) => s.files.splice(slotOf(s, 'file'), 1, fileAt(99))],
  ['a negative node number', 'invalid', (s) => s.files.splice(slotOf(s, 'file'), 1, fileAt(-1))],
  ['a pipe that does not exist', 'EBADF', (s) => s.pipes.splice(0)],
  [
    'a pipe above its capacity',
    'EBADF',
    (s) => s.pipes.splice(0, 1, Buffer.alloc(2 ** 20).toString('base64')),
  ],
  ['a pipe that is not base64', 'EBADF', (s) => s.pipes.splice(0, 1, '*')],
  [
    'a removed folder that is open as a file',
    'EBADF',
    (s) => s.removed.splice(0, 1, { kind: 'dir', mode: 0, mtime_ms: 0 }),
  ],
  ['a removed file that nothing refers to', 'EBADF', (s) => s.removed.push({ ...s.removed[0]! })],
  ['a slot without a file', 'EBADF', (s) => s.slots.push(90)],
  ['a negative slot', 'invalid', (s) => s.slots.push(-1)],
  ['a file without a slot', 'EBADF', (s) => s.files.push(s.files[0]!)],
  ['too many slots', 'invalid', (s) => s.slots.push(...Array.from({ length: 100_000 }, () => 0))],
  [
    'too many removed files',
    'invalid',
    (s) => s.removed.push(...Array.from({ length: 100_000 }, () => s.removed[0]!)),
  ],
  ['a flag of a descriptor that is not open', 'EBADF', (s) => Object.assign(s, { close_on_exec: [99] })],
  [
    'a child with an impossible status',
    'invalid',
    (s) => Object.assign(s, { ended_children: [{ pid: 43, status: -1 }] }),
  ],
  [
    'too many children',
    'invalid',
    (s) =>
      Object.assign(s, { ended_children: Array.from({ length: 1000 }, (_, i) => ({ pid: i, status: 0 })) }),
  ],
  ['a working directory that does not exist', 'EBADF', (s) => Object.assign(s, { cwd: 50 })],
  ['a working directory that is a file', 'EBADF', (s) => Object.assign(s, { cwd: 0 })],
  ['a time out of range', 'invalid', (s) => Object.assign(s.roots['/app'], { mtime_ms: 1e300 })],
];

describe('saved kernel state', () => {
  test('is restored as it was saved', () => {
    const kernel = newKernel();
    const state = savedState();
    restore(kernel, state);
    expect(saveKernelState(kernel)).toEqual(state);
    expect(kernel.volume.usage().bytes).toBe(110);
  });

  test.each(REJECTED)('with %s is rejected (%s) and changes nothing', (_, failure, edit) => {
    const kernel = newKernel();
    const before = observed(kernel);
    const state = savedState();
    edit(state as never);
    expect(failureOf(() => restore(kernel, state))).toBe(failure);
    expect(observed(kernel)).toEqual(before);
    // The kernel can still be used.
    restore(kernel, savedState());
    expect(kernel.volume.usage().bytes).toBe(110);
  });

  test.each([
    ['without contents for a removed file', 'EBADF', []],
    ['with contents that no file has', 'EBADF', [100, 5]],
    ['with contents above the quota', 'ENOSPC', [4_000_000]],
  ])('%s is rejected (%s) and changes nothing', (_, failure, sizes) => {
    const kernel = newKernel();
    const before = observed(kernel);
    expect(failureOf(() => restore(kernel, savedState(), contentsOf(...sizes)))).toBe(failure);
    expect(observed(kernel)).toEqual(before);
  });

  test('with several removed files, the last one above the quota, is rejected and changes nothing', () => {
    const kernel = newKernel();
    const before = observed(kernel);
    const state = savedState();
    const removed = [...state.removed, state.removed[0]!];
    const files = [...state.files, fileAt(removed.length - 1)];
    const slots = [...state.slots, files.length - 1];
    expect(
      failureOf(() => restore(kernel, { ...state, removed, files, slots }, contentsOf(100, 99_950))),
    ).toBe('ENOSPC');
    expect(observed(kernel)).toEqual(before);
  });

  test('shares the contents of a removed file until the file is written', () => {
    const kernel = newKernel();
    const fd = kernel.open('/app', 'gone', 0o102, 0o644);
    kernel.write(fd, new Uint8Array(100).fill(1));
    kernel.volume.unlink('gone', '/app');
    const state = saveKernelState(kernel);
    const [first] = saveRemovedFiles(kernel);
    expect(saveRemovedFiles(kernel)[0] === first).toBe(true);
    // A restored kernel continues with the same contents.
    const other = newKernel();
    restore(other, JSON.parse(JSON.stringify(state)), [first!]);
    expect(saveRemovedFiles(other)[0] === first).toBe(true);
    for (const change of [
      () => kernel.write(fd, new Uint8Array([2]), 5),
      () => kernel.volume.truncate(kernel.regularFile(fd, true), 90),
      () => kernel.volume.truncate(kernel.regularFile(fd, true), 200),
    ]) {
      const [before] = saveRemovedFiles(kernel);
      const copy = before!.bytes.slice();
      change();
      const [after] = saveRemovedFiles(kernel);
      expect(after === before).toBe(false);
      expect(before!.bytes).toEqual(copy);
      expect(after!.bytes).toHaveLength(kernel.regularFile(fd).size);
    }
    // The other kernel has its own file.
    expect(saveRemovedFiles(other)[0]!.bytes).toEqual(new Uint8Array(100).fill(1));
  });

  test('gives no write access to files that are read-only', () => {
    const kernel = newKernel();
    const state = savedState();
    const before = library(kernel);
    Object.assign(state.files[slotOf(state, 'file')]!, { node: '/lib/a.py', flags: 0o2002 });
    restore(kernel, state);
    expect(failureOf(() => kernel.write(3, Uint8Array.of(1)))).toBe('EROFS');
    expect(failureOf(() => kernel.volume.truncate(kernel.regularFile(3, true), 0))).toBe('EROFS');
    expect(library(kernel)).toEqual(before);
  });

  test.each(['..', '../../etc/passwd', '/app/../..', 'f', '/app//f', '/app/d/../f', '/dev/stdout', '', '\0'])(
    'with the path %j that is not canonical opens an empty file without a name',
    (path) => {
      const kernel = newKernel();
      const state = savedState();
      Object.assign(state.files[slotOf(state, 'file')]!, { node: path });
      restore(kernel, state);
      expect(kernel.read(3, new Uint8Array(20))).toBe(0);
      kernel.write(3, Uint8Array.of(1));
      kernel.close(3);
      expect(observed(kernel).files).toEqual(observed(newKernel()).files);
    },
  );

  test('with a huge position reads nothing and cannot write', () => {
    const kernel = newKernel();
    const state = savedState();
    Object.assign(state.files[slotOf(state, 'file')]!, { position: Number.MAX_SAFE_INTEGER });
    restore(kernel, state);
    expect(kernel.read(3, new Uint8Array(20))).toBe(0);
    expect(failureOf(() => kernel.write(3, new Uint8Array(20)))).toMatch(/^E(NOSPC|FBIG|INVAL)$/);
    expect(failureOf(() => kernel.seek(3, 1, 1))).toBe('EINVAL');
    expect(kernel.volume.usage().bytes).toBe(110);
  });
});
