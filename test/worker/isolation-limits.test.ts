/** What the parent accepts from a process that runs guests, by the limits of the job. */
import { describe, expect, test } from 'vitest';
import { atOnce } from '../../packages/core/src/concurrency/slices.ts';
import { FileTree } from '../../packages/core/src/fs/immutable-file-tree.ts';
import type { Entry } from '../../packages/core/src/fs/nodes.ts';
import { packEdit } from '../../packages/core/src/fs/packed-edit.ts';
import {
  JobLimits,
  outcomeWithinQuota,
  sizeWithin,
  stateWithinQuota,
} from '../../packages/core/src/worker/isolation/isolation-limits.ts';
import { parseFromIsolated } from '../../packages/core/src/worker/isolation/isolation-protocol.ts';
import type {
  FromWorker,
  PackedOutcome,
  UnsentJob,
  UnsentRunJob,
} from '../../packages/core/src/worker/protocol/messages.ts';

type Message = Exclude<FromWorker, { readonly type: 'optimized' }>;

const file = (path: string, size: number) => ({
  path,
  kind: 'file' as const,
  mode: 0o644,
  mtimeMs: 0,
  data: new Uint8Array(size),
});

const JOB: UnsentRunJob = {
  type: 'run',
  image: 'python',
  program: { code: 'let name = 1', language: 'python', env: {}, args: [], inject_setup: true },
  stdin: new Uint8Array(),
  hasMoreStdin: false,
  limits: {
    fuel_budget: 1000,
    timeout_seconds: 1,
    memory_bytes: 1_000_000,
    max_processes: 10,
    max_process_depth: 2,
    stdout_max_bytes: 100,
    stderr_max_bytes: 50,
    workspace_max_bytes: 1000,
    workspace_max_files: 3,
    deterministic: undefined,
  },
  workspace: { id: 'w', tree: FileTree.from([file('old', 600)]) },
  mountSet: { id: 'm', mounts: [] },
  streamOutput: 'capped',
  profile: false,
  session: undefined,
};

const SESSION = { id: 's', version: 1, delta: undefined, tmp: [], discardState: false };
const IN_SESSION: UnsentRunJob = {
  ...JOB,
  session: { ...SESSION, edits: { removed: [], entries: [] } },
};

const pack = (removed: readonly string[], entries: readonly Entry[]) =>
  atOnce(packEdit({ removed, entries }));
const NO_CHANGES = { created: [], modified: [], deleted: [], edit: [] };
const OUTCOME: PackedOutcome = {
  state: 'fresh',
  trap: undefined,
  report: { exit_code: 0 },
  fuelConsumed: 1,
  chartFuel: 0,
  memoryUsedBytes: 1,
  durationMs: 1,
  yieldedMs: 0,
  stdout: '',
  stderr: '',
  stdoutDroppedBytes: 0,
  stderrDroppedBytes: 0,
  changes: NO_CHANGES,
  filesOmitted: 0,
  otherUsage: { bytes: 0, files: 0 },
  exceededQuota: undefined,
  imports: [],
  profile: undefined,
  stoppedAt: undefined,
  resultsOmitted: 0,
  declared: [],
};

const done = (outcome: Partial<PackedOutcome> = {}, count = 0): Message => ({
  type: 'done',
  id: 1,
  outcome: { ...OUTCOME, ...outcome },
  results: Array.from({ length: count }, (_, i) => shown(i)),
});
const shown = (i: number, text = 'x') => ({
  id: `r${i + 1}`,
  is_main_result: false,
  mime: 'text/plain',
  size_bytes: 1,
  text,
});
const result = (i: number, text?: string): Message => ({ type: 'result', id: 1, result: shown(i, text) });
const output = (stream: 1 | 2, size: number): Message => ({
  type: 'output',
  id: 1,
  stream,
  bytes: new Uint8Array(size),
});
const request = (number: number, type: 'stdin' | 'drain'): Message => ({
  type: 'request',
  id: 1,
  number,
  request: { type },
});
const toolCall = (number: number): Message => ({
  type: 'request',
  id: 1,
  number,
  request: { type: 'tool_call', id: number, name: 'n', arguments: '{}' },
});
const saved = (part: object = {}): Message => ({
  type: 'saved',
  id: 1,
  saved: {
    deltaHeader: new Uint8Array(10),
    keptParts: 0,
    newParts: [],
    tmp: [],
    evicted: [],
    ...part,
  },
});
const committed = done({ state: 'committed' });
const changed = (...entries: ReturnType<typeof file>[]) =>
  done({ changes: { ...NO_CHANGES, edit: pack([], entries) } });

/** Whether the files of a message can be unpacked and are within the quota. */
function areWithinQuota(job: UnsentJob, message: Message): boolean {
  try {
    if (message.type === 'done') atOnce(outcomeWithinQuota(job as UnsentRunJob, message.outcome));
    if (message.type === 'saved') atOnce(stateWithinQuota(job as UnsentRunJob, message.saved));
    return true;
  } catch {
    return false;
  }
}

/** Whether the messages before the last one are accepted, and whether the last one is. */
function answers(job: UnsentJob, ...messages: Message[]): [boolean, boolean] {
  const limits = new JobLimits(job);
  const accepted = messages.map((message) => limits.accepts(message) && areWithinQuota(job, message));
  return [accepted.slice(0, -1).every(Boolean), accepted.at(-1)!];
}

describe('a run in another process', () => {
  const tools = {
    catalog: '[]',
    maxCalls: 1,
    usedCalls: 0,
    maxInFlight: 1,
    maxArgumentBytes: 1,
    maxWaitMs: 1,
  };

  test.each<[string, UnsentJob, Message[]]>([
    ['output and results up to the limits', JOB, [output(1, 100), output(2, 50), result(0), done({}, 19)]],
    ['text up to the limits', JOB, [done({ stdout: 'é'.repeat(50), stderr: 'x'.repeat(50) })]],
    ['files up to the quota', JOB, [changed(file('old', 900), file('new', 100))]],
    ['files in place of others', JOB, [changed(file('old', 1000))]],
    [
      'requests that the job offers',
      { ...JOB, hasMoreStdin: true, tools },
      [request(1, 'stdin'), toolCall(2)],
    ],
    ['a committed state', IN_SESSION, [committed, saved({ tmp: pack([], [file('t', 1000)]) })]],
    [
      'a failure while the state is saved',
      IN_SESSION,
      [committed, { type: 'failed', id: 1, code: 'internal', message: '' }],
    ],
    ['names that the program declares', IN_SESSION, [done({ state: 'committed', declared: ['name'] })]],
  ])('may send %s', (_, job, messages) => {
    expect(answers(job, ...messages)).toEqual([true, true]);
  });

  test.each<[string, UnsentJob, Message[]]>([
    ['more output than the limit', JOB, [output(1, 60), output(1, 41)]],
    ['more errors than the limit', JOB, [output(2, 51)]],
    ['output that is not read', { ...JOB, streamOutput: 'none' }, [output(1, 1)]],
    ['more text than the limit', JOB, [done({ stdout: 'é'.repeat(51) })]],
    ['more error text than the limit', JOB, [done({ stderr: 'x'.repeat(51) })]],
    ['too many results', JOB, [result(0), result(1), done({}, 19)]],
    ['results that are too large', JOB, [result(0, 'x'.repeat(7_000_000)), result(1, 'x'.repeat(7_000_000))]],
    ['more bytes than the quota', JOB, [changed(file('new', 401))]],
    ['more files than the quota', JOB, [changed(file('a', 1), file('b', 1), file('c', 1))]],
    ['longer paths than the quota', JOB, [changed(file('p'.repeat(70_000), 1))]],
    [
      'more removed paths than files',
      JOB,
      [done({ changes: { ...NO_CHANGES, edit: pack(['a', 'b'], []) } })],
    ],
    [
      'a list of files that is too long',
      JOB,
      [done({ changes: { ...NO_CHANGES, created: ['x'.repeat(2 << 20)] } })],
    ],
    ['more fuel than the budget', JOB, [done({ fuelConsumed: 200_000_000 })]],
    ['a report that is too large', JOB, [done({ report: { exit_code: 0, result: 'x'.repeat(2_000_000) } })]],
    [
      'names that the program does not contain',
      IN_SESSION,
      [done({ state: 'committed', declared: ['x'.repeat(100)] })],
    ],
    ['a state without a session', JOB, [committed]],
    ['no state in a session', IN_SESSION, [done()]],
    ['a pause without tools', IN_SESSION, [done({ state: 'committed', isPaused: true })]],
    ['two outcomes', IN_SESSION, [committed, committed]],
    ['output after the outcome', IN_SESSION, [committed, output(1, 1)]],
    ['a state before the outcome', IN_SESSION, [saved()]],
    [
      'a state that is larger than the memory',
      IN_SESSION,
      [committed, saved({ newParts: [{ bytes: { length: 1e9 }, sha256: '' }] })],
    ],
    ['a reference to parts that do not exist', IN_SESSION, [committed, saved({ keptParts: 1 })]],
    [
      'more temporary files than the quota',
      IN_SESSION,
      [committed, saved({ tmp: pack([], [file('t', 1001)]) })],
    ],
    ['too many evicted sessions', IN_SESSION, [committed, saved({ evicted: Array(9).fill('s') })]],
    ['a request for input that there is not', JOB, [request(1, 'stdin')]],
    ['a request to wait for output that is limited', JOB, [request(1, 'drain')]],
    ['a tool call without tools', JOB, [toolCall(1)]],
    ['a request twice', { ...JOB, tools }, [toolCall(1), toolCall(1)]],
    ['a picture', JOB, [{ type: 'picture', id: 1, picture: { problem: '' } }]],
  ])('must not send %s', (_, job, messages) => {
    expect(answers(job, ...messages)).toEqual([true, false]);
  });

  test('waits with unlimited output until it was received', () => {
    const limits = new JobLimits({ ...JOB, streamOutput: 'all' });
    expect(limits.accepts(output(1, 5_000_000))).toBe(true);
    expect(limits.accepts(request(1, 'drain'))).toBe(true);
    expect(limits.accepts(request(2, 'drain'))).toBe(true);
    limits.answered(2);
    expect(limits.accepts(output(1, 1_000_000))).toBe(false);
    limits.answered(1);
    expect(limits.accepts(output(1, 3_000_000))).toBe(true);
  });

  test('may send a picture of the requested size only', () => {
    const job: UnsentJob = {
      type: 'picture',
      source: '',
      limits: { maxEdge: 10, maxBytes: 100 },
    };
    const picture = (size: number, width: number): Message => ({
      type: 'picture',
      id: 1,
      picture: { image: new Uint8Array(size), width, height: 1 },
    });
    expect(answers(job, picture(100, 10))).toEqual([true, true]);
    expect(answers(job, picture(101, 10))).toEqual([true, false]);
    expect(answers(job, picture(100, 11))).toEqual([true, false]);
    expect(answers(job, done())).toEqual([true, false]);
  });

  test('may send an image that fits into the memory only', () => {
    const limits = { fuel_budget: 1, timeout_seconds: 1, memory_bytes: 1_000_000 };
    const job: UnsentJob = {
      ...{ type: 'extend', image: 'python', packages: [], libraries: [], preload: [] },
      ...{ compileLimits: limits, preloadLimits: limits },
    };
    const image = (size: number) => ({
      origin: { runtime: 'python', module: '', layers: '' } as never,
      image: { length: size } as Uint8Array,
      minMemoryBytes: 1,
      addedLayers: [],
    });
    expect(new JobLimits(job).acceptsImage(image(1_000_000))).toBe(true);
    expect(new JobLimits(job).acceptsImage(image(1e9))).toBe(false);
    expect(new JobLimits(JOB).acceptsImage(image(1))).toBe(false);
  });
});

describe('a message from another process', () => {
  test('has times that dates can represent', () => {
    const isValid = (mtimeMs: number) =>
      areWithinQuota(JOB, changed({ ...file('a', 1), mtimeMs }) as Extract<Message, { type: 'done' }>);
    expect(isValid(-8.64e15)).toBe(true);
    for (const mtimeMs of [8.65e15, -1e300]) expect(isValid(mtimeMs)).toBe(false);
  });

  test('has a known error code', () => {
    const failed = (code: string) =>
      parseFromIsolated({
        type: 'message',
        thread: 1,
        message: { type: 'failed', id: 1, code, message: '' },
      });
    expect(failed('image_invalid')).toBeDefined();
    expect(failed('__proto__')).toBeUndefined();
  });
});

test('the size of data is counted up to a maximum', () => {
  expect(sizeWithin({ ab: ['cde', 1, null] }, 100)).toBe(1 + 2 + 1 + 3 + 1 + 1);
  expect(sizeWithin('x'.repeat(101), 100)).toBe(Number.POSITIVE_INFINITY);
  const cyclic: unknown[] = [];
  cyclic.push(cyclic);
  expect(sizeWithin(cyclic, 100)).toBe(Number.POSITIVE_INFINITY);
});
