/** The parts of a run that need no guest: its output, its clock, its requests and its outcome. */
import { describe, expect, test } from 'vitest';
import { RUNTIMES } from '../../packages/core/src/runtimes/registry/runtime-registry.ts';
import type { HostAnswer, HostRequest, RunJob } from '../../packages/core/src/worker/protocol/messages.ts';
import { LONG_RUN_FUEL, RunClock } from '../../packages/core/src/worker/protocol/run-clock.ts';
import {
  imageFinder,
  inputOf,
  MAX_PACKAGE_REQUESTS,
  packageFinder,
} from '../../packages/core/src/worker/thread/run-job.ts';
import { type EndedRun, endOutcome } from '../../packages/core/src/worker/thread/run-outcome.ts';
import { RunOutput } from '../../packages/core/src/worker/thread/run-output.ts';
import { RunResults } from '../../packages/core/src/worker/thread/run-results.ts';
import { testKernel } from '../kernel/test-kernel.ts';

const bytes = (text: string) => new TextEncoder().encode(text);

describe('output of a run', () => {
  function outputOf(streamOutput: RunJob['streamOutput']) {
    const sent: string[] = [];
    let drains = 0;
    const output = new RunOutput(
      { streamOutput, limits: { stdout_max_bytes: 4, stderr_max_bytes: 4 } },
      (stream, part) => sent.push(`${stream} ${new TextDecoder().decode(part)}`),
      () => drains++,
    );
    return { output, sent, drains: () => drains };
  }

  test.each<[RunJob['streamOutput'], string[]]>([
    ['none', []],
    ['capped', ['1 abcd', '2 x']],
    ['all', ['1 abcdef', '2 x']],
  ])('is limited in the result, and sent as asked for: %s', (streamOutput, expected) => {
    const { output, sent } = outputOf(streamOutput);
    output.write(1, bytes('abcdef'));
    output.write(2, bytes('x'));
    output.finish();
    expect(sent).toEqual(expected);
    expect(output.outcome()).toEqual({
      stdout: 'abcd',
      stderr: 'x',
      stdoutDroppedBytes: 2,
      stderrDroppedBytes: 0,
    });
    expect(output.onTick === undefined).toBe(streamOutput === 'none');
  });

  test('waits for its reader only if all of it is sent', () => {
    const large = new Uint8Array(2 ** 20);
    for (const [streamOutput, drains] of [
      ['capped', 0],
      ['all', 1],
    ] as const) {
      const run = outputOf(streamOutput);
      run.output.write(1, large);
      expect(run.drains()).toBe(drains);
    }
  });
});

describe('clock of a run', () => {
  test('ends its time after the limit and what does not count', () => {
    const clock = new RunClock(new Int32Array(new SharedArrayBuffer(4)), 1000);
    clock.start(50);
    expect(clock.deadlineMs()).toBe(1050);
    expect(clock.deadlineMs(7)).toBe(1057);
    expect(clock.ranMs(80)).toBe(30);
  });

  test('does not count the time in which a long run yields', () => {
    const flag = new Int32Array(new SharedArrayBuffer(4));
    const clock = new RunClock(flag, 1000);
    const started = performance.now() - 10_000;
    clock.start(started);
    expect(clock.maybeYield(LONG_RUN_FUEL)).toBe(0);
    flag[0] = 1;
    expect(clock.maybeYield(LONG_RUN_FUEL - 1)).toBe(0);
    const waited = clock.maybeYield(LONG_RUN_FUEL);
    expect(waited).toBeGreaterThan(0);
    expect(clock.yieldedMs).toBe(waited);
    expect(clock.deadlineMs()).toBeCloseTo(started + 1000 + waited, 6);
    expect(clock.ranMs(started + 500)).toBeCloseTo(500 - waited, 6);
  });
});

describe('requests of a run', () => {
  /** A run whose requests get these answers. */
  function asking(answers: (HostAnswer | undefined)[]) {
    const asked: HostRequest[] = [];
    const run = {
      ask: (request: HostRequest) => {
        asked.push(request);
        return answers.shift();
      },
      usedShare: () => 0.5,
      restart: (): never => {
        throw new Error('restart');
      },
    };
    return { run, asked };
  }

  test('ask for input only if more will arrive', () => {
    const { run, asked } = asking([{ bytes: bytes('b') }, {}]);
    const into = new Uint8Array(4);
    expect(inputOf(run, { stdin: bytes('a'), hasMoreStdin: false }).read(into)).toBe(1);
    const input = inputOf(run, { stdin: bytes('a'), hasMoreStdin: true });
    expect([input.read(into), input.read(into), input.read(into), input.read(into)]).toEqual([1, 1, 0, 0]);
    expect(asked).toEqual([{ type: 'stdin' }, { type: 'stdin' }]);
  });

  test('ask for packages, and end the run if it starts again', () => {
    const { run, asked } = asking([{ packages: ['b'] }, undefined, { packages: 'restart' }]);
    const find = packageFinder(run);
    expect(find('module', ['a', 'b'])).toEqual(['b']);
    expect(find('requirement', ['a'])).toEqual(['a']);
    expect(() => find('module', ['a'])).toThrow('restart');
    expect(asked[0]).toEqual({ type: 'packages', kind: 'module', names: ['a', 'b'], used: 0.5 });
  });

  test('ask for packages a limited number of times', () => {
    const { run, asked } = asking([]);
    const find = packageFinder(run);
    for (let i = 0; i < MAX_PACKAGE_REQUESTS + 5; i++) expect(find('module', ['a'])).toEqual(['a']);
    expect(asked).toHaveLength(MAX_PACKAGE_REQUESTS);
  });

  test('ask for images', () => {
    const { run, asked } = asking([{ image: { problem: 'none' } }]);
    const question = { code: 'x', names: [] };
    expect(imageFinder(run, new Map()).ask(question)).toEqual({ problem: 'none' });
    expect(asked).toEqual([{ type: 'image', question, used: 0.5 }]);
  });
});

describe('outcome of a run', () => {
  const measured: EndedRun['measured'] = {
    fuelConsumed: 5,
    chartFuel: 0,
    memoryUsedBytes: 1,
    durationMs: 2,
    yieldedMs: 0,
    exceededQuota: undefined,
    profile: undefined,
  };
  const session = { discardState: false } as NonNullable<RunJob['session']>;

  /** The outcome of a run that has written a file and printed a line. */
  function ended(ending: EndedRun['ending'], kept: RunJob['session']) {
    const { kernel } = testKernel();
    const fd = kernel.open('/app', 'a.txt', 0o101, 0o644);
    kernel.write(fd, bytes('content'));
    const output = new RunOutput(
      { streamOutput: 'none', limits: { stdout_max_bytes: 100, stderr_max_bytes: 100 } },
      () => {},
      () => {},
    );
    output.write(1, bytes('line\n'));
    output.finish();
    const results = new RunResults(
      () => kernel.volume,
      () => {},
    );
    const program = {
      code: 'const a = 1',
      language: 'javascript',
      env: {},
      args: [],
      inject_setup: false,
    } as const;
    const job = { program, session: kept };
    return endOutcome(job, RUNTIMES.javascript.source, { ending, kernel, output, results, measured });
  }
  const succeeded = { trap: undefined, report: { exit_code: 0, result: 7 }, stoppedAt: undefined };

  test('has the files, the output and the value of a program without a session', () => {
    const { outcome, late } = ended({ ...succeeded, isConsistent: true }, undefined);
    expect(outcome).toMatchObject({ state: 'fresh', stdout: 'line\n', fuelConsumed: 5, declared: [] });
    expect(outcome.changes.created).toEqual(['a.txt']);
    expect(late).toHaveLength(1);
    expect(outcome).not.toHaveProperty('isConsistent');
  });

  test('commits the state of a session, with the names that it may have declared', () => {
    const { outcome } = ended({ ...succeeded, isConsistent: true }, session);
    expect(outcome).toMatchObject({ state: 'committed', declared: ['a'] });
    expect(outcome.changes.created).toEqual(['a.txt']);
  });

  test('has no changes if the interpreter cannot continue', () => {
    const { outcome } = ended({ ...succeeded, isConsistent: false }, session);
    expect(outcome.state).toBe('rolled_back');
    expect(outcome.changes.entries).toEqual([]);
  });

  test('keeps nothing of a session whose state is discarded', () => {
    const { outcome } = ended({ ...succeeded, isConsistent: true }, { ...session, discardState: true });
    expect(outcome).toMatchObject({ state: 'fresh', declared: [] });
  });
});
