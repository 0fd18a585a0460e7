/**
 * Sequences of process calls on the real process table with real programs: spawn with any descriptors, wait, kill, pipes, and files
 * that move meanwhile. A call returns, fails with a system call error or stops the guest. After every call the references to open
 * files, the ends of pipes and the memory of pipes are counted correctly; nothing of a process is left when the call has ended.
 */
import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import fc from 'fast-check';
import type { Guest } from '../../../packages/core/src/engine/guest.ts';
import { MemoryAccount } from '../../../packages/core/src/engine/memory-account.ts';
import { GRACE, GuestStopped, UNLIMITED_RUN } from '../../../packages/core/src/engine/run-context.ts';
import { Volume } from '../../../packages/core/src/fs/volume.ts';
import type { OpenFile } from '../../../packages/core/src/kernel/descriptors.ts';
import type { PipeBuffer } from '../../../packages/core/src/kernel/pipe.ts';
import type { Processes } from '../../../packages/core/src/kernel/processes.ts';
import { isSyscallError } from '../../../packages/core/src/kernel/syscall-error.ts';
import type { Kernel } from '../../../packages/core/src/kernel/syscalls.ts';
import type { FuzzTarget } from '../target.ts';

process.env['LLM_WASM_SANDBOX_ASSETS'] ??= resolve('packages/core/dist');

const MEMORY_BYTES = 64 * 1024 * 1024;
const LIMITS = { memory_bytes: MEMORY_BYTES, max_processes: 1000, max_process_depth: 8 };
const SCRIPTS = {
  loop: '#!/app/loop\n',
  again: '#!/bin/sh -c\n',
  env: '#!/usr/bin/env -S cat\n',
  'not-a-program': '\0asm\x01\0\0\0',
  shell: '#!/bin/sh\ncat; exit 3\n',
};
const COMMANDS: readonly (readonly string[])[] = [
  ['true'],
  ['nope'],
  ['cat'],
  ['wc', '-c'],
  ['head', '-c', '70000', '/dev/zero'],
  ['head', '-c', '70000', '/dev/fd/4'],
  ['sleep', '0.01'],
  ['timeout', '0.01', 'sleep', '1'],
  ['xargs', '-n1', 'echo'],
  ['sh', '-c', 'echo a; echo b >&2; exec cat'],
  ['sh', '-c', 'kill -9 $$'],
  ['sh', '-c', '(exit 4) & (cat; sleep 0.01) & wait'],
  ['sh', '-c', 'rm -rf d; mkdir -p d/e; exec 7<d; mv d x; rm -rf x'],
  ['sh', '-c', 'cat /dev/stdin < f | head -c 9 > g; ulimit -a | wc -l'],
  ...Object.keys(SCRIPTS).map((name) => [`/app/${name}`]),
];

const fd = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: -1, max: 9 }) },
  fc.constantFrom(255, 256, -2, 2 ** 31 - 1),
);
const pid = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 43, max: 50 }) },
  fc.constantFrom(-1, 0, 1, 42, 2 ** 31),
);
const time = fc.constantFrom(undefined, 0, 1, 50);
const signal = fc.constantFrom(0, 9, 13, 15, 17, 64, 65, -1);

type Step = (kernel: Kernel, processes: Processes) => unknown;
const step = <T extends unknown[]>(
  label: string,
  args: { [K in keyof T]: fc.Arbitrary<T[K]> },
  run: (calls: { kernel: Kernel; processes: Processes }, ...args: T) => unknown,
) =>
  fc.tuple(...(args as fc.Arbitrary<unknown>[])).map((values) => ({
    run: ((kernel, processes) => run({ kernel, processes }, ...(values as T))) as Step,
    [fc.toStringMethod]: () => `${label}(${values.map((value) => JSON.stringify(value)).join(', ')})`,
  }));

const spawn = step(
  'spawn',
  [
    fc.constantFrom(...COMMANDS),
    fc.array(fc.tuple(fd, fd), { maxLength: 4 }),
    fc.boolean(),
    fc.constantFrom(undefined, undefined, '/app/d', '/none', '..'),
    time,
  ],
  ({ processes }, argv, fds, inheritsAll, cwd, timeoutMs) =>
    processes.spawn({
      path: argv[0]!,
      argv,
      env: ['PATH=/usr/bin'],
      cwd,
      inheritsAll,
      fds: fds.map(([child, parent]) => ({ child, parent })),
      timeoutMs,
    }),
);

const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: spawn },
    {
      weight: 2,
      arbitrary: step('pipe', [fc.constantFrom(0, 0o4000)], ({ kernel }, flags) => kernel.pipe(flags)),
    },
    {
      weight: 2,
      arbitrary: step('wait', [pid, fc.boolean(), time], ({ processes }, whom, noHang, timeoutMs) =>
        processes.wait(whom, { noHang, timeoutMs }),
      ),
    },
    step('kill', [pid, signal], ({ processes }, whom, number) => processes.kill(whom, number)),
    { weight: 2, arbitrary: step('close', [fd], ({ kernel }, at) => kernel.close(at)) },
    step('dup2', [fd, fd], ({ kernel }, from, to) => kernel.dup2(from, to)),
    step('read', [fd], ({ kernel }, at) => kernel.read(at, new Uint8Array(5000))),
    step('write', [fd, fc.constantFrom(0, 5, 70_000)], ({ kernel }, at, size) =>
      kernel.write(at, new Uint8Array(size).fill(97)),
    ),
    step(
      'open',
      [fc.constantFrom('f', 'g', 'd', '/dev/fd/3', '/dev/results', '/usr/bin/cat')],
      ({ kernel }, path) => kernel.open(kernel.cwd, path, 0o102, 0o644),
    ),
    step(
      'rename',
      [fc.constantFrom('d', 'd/e', 'f'), fc.constantFrom('d', 'x', 'd/e/f')],
      ({ kernel }, from, to) => kernel.rename(from, kernel.cwd, to, kernel.cwd),
    ),
    step('chdir', [fc.constantFrom('d', 'd/e', '..', '/app')], ({ kernel }, path) => kernel.chdir(path)),
    step('rmdir', [fc.constantFrom('d', 'd/e', 'x')], ({ kernel }, path) => kernel.rmdir(path, kernel.cwd)),
    step('sleep', [], ({ kernel }) => kernel.host.sleep(1)),
  ),
  { minLength: 3, maxLength: 40, size: 'max' },
);

/** Fails if the references to open files, or the ends or memory of pipes, are counted wrongly. */
function checkCounts(kernel: Kernel): void {
  const refs = new Map<OpenFile, number>();
  for (const { fds } of kernel.call.processes?.directoryUsers ?? [kernel])
    for (const file of fds.slots) if (file !== undefined) refs.set(file, (refs.get(file) ?? 0) + 1);
  const ends = new Map<PipeBuffer, { read: number; write: number }>();
  for (const [file, count] of refs) {
    assert.equal(file.refs, count, `references to ${file.kind}`);
    if (file.kind !== 'pipe') continue;
    const known = ends.get(file.pipe) ?? { read: 0, write: 0 };
    known[file.end]++;
    ends.set(file.pipe, known);
  }
  let bytes = 0;
  for (const [pipe, { read, write }] of ends) {
    assert.deepEqual([pipe.readers, pipe.writers], [read, write], 'ends of a pipe');
    bytes += pipe.bytes.length;
  }
  assert.equal(kernel.pipeAccount.bytes, bytes, 'memory of pipes');
}

function createVolume(folders: readonly { at: string; tree: Parameters<Volume['mount']>[1] }[]): Volume {
  const volume = new Volume({ maxBytes: 2 ** 22, maxFiles: 200 }, () => 0);
  for (const { at, tree } of folders) volume.mount(at, tree);
  volume.mkdir('/app/d', '/', 0o755);
  volume.mkdir('/app/d/e', '/', 0o755);
  for (const [name, text] of Object.entries({ ...SCRIPTS, f: 'a text\n' })) {
    const { node } = volume.open(`/app/${name}`, '/', { create: true, write: true }, 0o755);
    volume.write(node, 0, new TextEncoder().encode(text));
  }
  return volume;
}

/** Runs an action. Returns how it ended; any other exception is a failure. */
function attempt(action: () => unknown): 'succeeded' | 'failed' | 'stopped' {
  try {
    action();
    return 'succeeded';
  } catch (cause) {
    if (isSyscallError(cause)) return 'failed';
    if (cause instanceof GuestStopped && cause.stop.reason !== 'internal') return 'stopped';
    throw cause;
  }
}

export const processCalls: FuzzTarget = {
  name: 'processes',
  shortRuns: 40,
  async open() {
    const { startCommand } = await import('../../../packages/core/src/runtimes/programs/start-command.ts');
    const { commandLayers, resolveProgram } = await import(
      '../../../packages/core/src/worker/guest-processes/process-commands.ts'
    );
    const { ProcessTable } = await import(
      '../../../packages/core/src/worker/guest-processes/process-table.ts'
    );
    const outcomes = { succeeded: 0, failed: 0, stopped: 0 };
    let started = 0;
    let limited = 0;
    const budget = fc.oneof(
      { weight: 3, arbitrary: fc.constant(400_000_000) },
      fc.constantFrom(1, 3_000_000),
    );
    const property = fc.property(steps, budget, fc.boolean(), (actions, fuelBudget, keeps) => {
      const memory = new MemoryAccount(MEMORY_BYTES, () => 0);
      const guest: Guest = startCommand('true', { argv: ['true'], env: [] }, memory).guest!;
      const { kernel } = guest;
      guest.beginRun({ ...UNLIMITED_RUN, fuelBudget, deterministic: { startMs: 0, seed: 1 } });
      kernel.volume = createVolume(commandLayers());
      const table = new ProcessTable(guest, LIMITS, (volume, cwd, request) =>
        resolveProgram({ volume: () => volume } as never, volume, cwd, request),
      );
      const { processes } = kernel.call;
      for (const { run } of actions) {
        const outcome = attempt(() => run(kernel, processes!));
        outcomes[outcome]++;
        checkCounts(kernel);
        if (outcome === 'stopped') break;
      }
      attempt(() => table.finish(keeps));
      started += table.started;
      if (guest.limitReached !== undefined) limited++;
      table.close();
      checkCounts(kernel);
      kernel.closeAll(kernel.fds);
      assert.equal(kernel.call.processes, undefined);
      assert.equal(kernel.pipeAccount.bytes, 0);
      assert.ok(guest.fuelConsumed <= fuelBudget + GRACE.fuel, `${guest.fuelConsumed} of ${fuelBudget} fuel`);
    });
    return {
      property,
      checkCoverage: () => {
        const { succeeded, failed } = outcomes;
        const seen = { succeeded, failed, started, limited };
        assert.ok(Math.min(...Object.values(seen)) > 5, JSON.stringify(seen));
      },
    };
  },
};
