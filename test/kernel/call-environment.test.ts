/** What a kernel has during a call, and what is left of it afterwards. */
import { describe, expect, test } from 'vitest';
import { NO_CALL } from '../../packages/core/src/kernel/call-environment.ts';
import { DescriptorTable } from '../../packages/core/src/kernel/descriptors.ts';
import { type AwaitInput, StandardInput } from '../../packages/core/src/kernel/standard-input.ts';
import { testKernel } from './test-kernel.ts';

const bytes = (text: string) => new TextEncoder().encode(text);

describe('standard input', () => {
  function readAll(input: StandardInput, size: number): string[] {
    const { kernel } = testKernel();
    kernel.beginCall({ ...NO_CALL, input });
    const parts: string[] = [];
    for (let count = -1; count !== 0; ) {
      const into = new Uint8Array(size);
      count = kernel.read(0, into);
      parts.push(new TextDecoder().decode(into.subarray(0, count)));
    }
    return parts;
  }

  test('is at its end after what has arrived if no more will arrive', () => {
    expect(readAll(new StandardInput(bytes('abc')), 2)).toEqual(['ab', 'c', '']);
  });

  test('waits for more only when everything is read, and not after its end', () => {
    const answers = [bytes('cd'), 'end' as const];
    const more: AwaitInput = () => answers.shift() ?? bytes('never');
    const input = new StandardInput(bytes('ab'), more);
    expect(readAll(input, 3)).toEqual(['ab', 'cd', '']);
    expect(readAll(input, 3)).toEqual(['']);
  });

  test('fails with EINTR if a limit ends the wait, and can be read again', () => {
    const { kernel } = testKernel();
    const answers = ['interrupted' as const, bytes('x')];
    kernel.beginCall({ ...NO_CALL, input: new StandardInput(bytes(''), () => answers.shift()!) });
    const into = new Uint8Array(4);
    expect(() => kernel.read(0, into)).toThrow(expect.objectContaining({ code: 'EINTR' }));
    expect(kernel.read(0, into)).toBe(1);
  });
});

describe('the environment of a call', () => {
  test('ends with the call', () => {
    const { kernel } = testKernel();
    kernel.beginCall({ ...NO_CALL, input: new StandardInput(bytes('abc')), findPackages: () => [] });
    kernel.endCall();
    expect(kernel.read(0, new Uint8Array(4))).toBe(0);
    expect(kernel.call.findPackages).toBeUndefined();
  });

  test('ends when the kernel is reset, which keeps the file tree', () => {
    const { kernel } = testKernel();
    const { volume } = kernel;
    kernel.beginCall({ ...NO_CALL, input: new StandardInput(bytes('abc')) });
    kernel.calls = 3;
    kernel.pipe();
    kernel.reset('/tmp', 0o077);
    expect(kernel).toMatchObject({ cwd: '/tmp', umask: 0o077, calls: 0, call: NO_CALL });
    expect(kernel.fds.descriptions()).toHaveLength(3);
    expect(kernel.volume).toBe(volume);
  });

  test('gives a child process the files of its parent, and no way to display results', () => {
    const [parent, child] = [testKernel().kernel, testKernel().kernel];
    const { volume, pipeAccount } = parent;
    const fds = new DescriptorTable();
    child.beginCall(
      { ...NO_CALL, hasResults: false },
      { cwd: '/lib', fds, umask: 0o077, volume, pipeAccount },
    );
    expect(child).toMatchObject({ volume, pipeAccount, fds, cwd: '/lib', umask: 0o077 });
    expect(() => child.open('/', '/dev/results', 1, 0)).toThrow(expect.objectContaining({ code: 'ENOENT' }));
    expect(parent.open('/', '/dev/results', 1, 0)).toBe(3);
  });
});
