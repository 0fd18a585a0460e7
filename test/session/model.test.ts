/**
 * Random sequences of calls, undos, checkpoints, forks and reopenings, compared with a model: each session has exactly
 * the variables that a plain replay of its committed calls produces.
 */
import { createSandbox, memoryStore, type Session } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { MAX_PAGES_PER_DIFF } from '../../packages/core/src/engine/page-diff-codec.ts';
import { repetitions } from '../support/repetitions.ts';

/** A seeded generator of integers below a limit. */
function dice(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

/** The expected variables of a session: a small list, and large blocks as the arguments that generate them. */
interface Values {
  readonly list: readonly number[];
  readonly blocks: Readonly<Record<string, readonly [seed: number, pages: number]>>;
}

interface Model {
  now: Values;
  undo: Values | undefined;
  readonly marks: Map<string, Values>;
}

const SETUP = `
import random, hashlib, json
xs, blocks = [], {}
def fill(seed, pages): return random.Random(seed).randbytes(pages * 4096)
def told(): return json.dumps([xs, {k: hashlib.sha256(blocks[k]).hexdigest()[:16] for k in sorted(blocks)}])
def wanted(made): return {k: hashlib.sha256(fill(*made[k])).hexdigest()[:16] for k in sorted(made)}
`;
const NAMES = ['a', 'b', 'c'];
const EMPTY: Values = { list: [], blocks: {} };

class Life {
  constructor(
    readonly id: string,
    public sandbox: Session,
    readonly model: Model,
  ) {}
}

async function call({ sandbox, model }: Life, code: string, next: Values): Promise<void> {
  const result = await sandbox.execute(code);
  expect(result).toMatchObject({ success: true, metadata: { state: 'committed' } });
  model.undo = model.now;
  model.now = next;
}

/** Performs one random operation on a session; returns the fork if it created one. */
async function step(life: Life, next: (limit: number) => number, reopen: (id: string) => Promise<Session>) {
  const { model } = life;
  const { list, blocks } = model.now;
  const kind = next(14);
  if (kind < 5) {
    const value = next(1000);
    await call(life, `xs.append(${value})`, { blocks, list: [...list, value] });
  } else if (kind < 7) {
    const name = NAMES[next(3)]!;
    const made = [next(1e6), 1 + next(kind === 5 ? 3000 : 20)] as const;
    const code = `blocks["${name}"] = fill(${made.join(', ')})`;
    await call(life, code, { list, blocks: { ...blocks, [name]: made } });
  } else if (kind === 7) {
    const { [NAMES[next(3)]!]: _, ...rest } = blocks;
    const gone = NAMES.filter((name) => !(name in rest));
    await call(life, `for k in ${JSON.stringify(gone)}: blocks.pop(k, None)`, { list, blocks: rest });
  } else if (kind === 8) {
    const stopped = await life.sandbox.execute('xs.append(-1); blocks.clear(); import os; os._exit(1)');
    expect(stopped.metadata.state).toBe('rolled_back');
  } else if (kind === 9 && model.undo !== undefined) {
    await life.sandbox.rollback();
    model.now = model.undo;
    model.undo = undefined;
  } else if (kind === 10) {
    const name = `m${next(3)}`;
    await life.sandbox.checkpoint(name);
    model.marks.set(name, model.now);
  } else if (kind === 11 && model.marks.size > 0) {
    const name = [...model.marks.keys()][next(model.marks.size)]!;
    await life.sandbox.rollback(name);
    model.now = model.marks.get(name)!;
  } else if (kind === 12) {
    await life.sandbox.close();
    life.sandbox = await reopen(life.id);
  } else if (kind === 13) {
    const fork = await life.sandbox.fork();
    return new Life(fork.session_id!, fork, { now: model.now, undo: undefined, marks: new Map() });
  }
  return undefined;
}

async function check({ sandbox, model }: Life): Promise<void> {
  const made = JSON.stringify(model.now.blocks);
  const result = await sandbox.execute(
    `[told(), json.dumps([${JSON.stringify(model.now.list)}, wanted(json.loads('${made}'))])]`,
  );
  const [told, wanted] = result.metadata.result as [string, string];
  expect(told).toBe(wanted);
  await sandbox.rollback();
  model.undo = undefined;
}

async function matchReplay(seed: number): Promise<void> {
  const next = dice(seed * 7919);
  const store = memoryStore();
  const policy = { memory_bytes: 128 << 20 };
  const reopen = (session_id: string) => createSandbox({ runtime: 'python', session_id, store, policy });
  const first = new Life('first', await reopen('first'), {
    now: EMPTY,
    undo: undefined,
    marks: new Map(),
  });
  expect((await first.sandbox.execute(SETUP)).success).toBe(true);
  const lives = [first];
  for (let i = 0; i < repetitions(25, 200); i++) {
    const life = lives[next(lives.length)]!;
    const fork = await step(life, next, reopen);
    if (fork !== undefined && lives.length < 4) lives.push(fork);
    else await fork?.sandbox.close();
    if (i % 10 === 9) await check(life);
  }
  for (const life of lives) {
    await check(life);
    await life.sandbox.close();
    life.sandbox = await reopen(life.id);
    await check(life);
    await life.sandbox.close();
  }
}

describe('sessions', () => {
  const NAME = 'match a replay of their calls after random operations (seed %i)';
  test.each([1])(NAME, matchReplay);
  test.each([2])(NAME, { tags: 'full' }, matchReplay);

  test('keep their state when they change more pages than one diff holds', { tags: 'full' }, async () => {
    const PAGES = 2 * MAX_PAGES_PER_DIFF + 100;
    const store = memoryStore();
    const open = () => createSandbox({ runtime: 'python', session_id: 'large', store });
    let sandbox = await open();
    const setup = `
def pages(): return bytearray(b''.join(i.to_bytes(4, 'big') * 1024 for i in range(1, ${PAGES} + 1)))
large, n = pages(), 0`;
    await sandbox.execute(setup);
    for (let i = 1; i <= 3; i++) {
      await sandbox.execute(`n += 1; large[n * 4096] ^= 1`);
      if (i === 2) continue;
      await sandbox.close();
      sandbox = await open();
    }
    const same = 'same = pages()\nfor i in 1, 2, 3: same[i * 4096] ^= 1\n[n, same == large]';
    expect((await sandbox.execute(same)).metadata.result).toEqual([3, true]);
    await sandbox.close();
  });

  test('keep their state after more calls than a saved state holds page diffs', {
    tags: 'full',
  }, async () => {
    const store = memoryStore();
    const open = () => createSandbox({ runtime: 'javascript', session_id: 'many', store });
    let sandbox = await open();
    await sandbox.execute('let n = 0; const seen = [];');
    for (let i = 1; i <= 200; i++) {
      await sandbox.execute(`seen.push(n += ${i})`);
      if (i % 67 !== 0) continue;
      await sandbox.close();
      sandbox = await open();
    }
    const sums = Array.from({ length: 200 }, (_, i) => ((i + 1) * (i + 2)) / 2);
    expect((await sandbox.execute('[n, seen]')).metadata.result).toEqual([20_100, sums]);
    await sandbox.close();
  });
});
