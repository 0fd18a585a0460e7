/**
 * Processes that are killed while they change sessions. The stored state must be the result of one completed operation,
 * with memory, files and checkpoints from the same one. The log of the killed process determines which are allowed.
 *
 * @module-tag full
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSandbox, diskStore, type RuntimeName } from 'llm-wasm-sandbox';
import { expect, test } from 'vitest';
import { folderOfTest } from '../support/folders.ts';
import { repetitions } from '../support/repetitions.ts';
import { startSessionProcess } from './start-session-process.ts';

const CALLS = repetitions(24, 400);
const MIN_KILLS = repetitions(3, 24);
const SESSIONS: Record<string, Exclude<RuntimeName, 'bash'>> = {
  'python-1': 'python',
  'python-2': 'python',
  'javascript-1': 'javascript',
  'javascript-2': 'javascript',
};

/** Prints the variables and the contents of the files. */
const SHOW: Record<Exclude<RuntimeName, 'bash'>, string> = {
  python: `
import json, os
memory = [xs, {str(key): value for key, value in own.items()}, n] if 'xs' in globals() else [[], {}, None]
files = sorted(os.listdir())
print(json.dumps([memory, {name: open(name).read() for name in files}]))`,
  javascript: `
{
  const memory = globalThis.xs ? [xs, own, n] : [[], {}, null];
  const names = os.readdir('.')[0].filter((name) => !name.startsWith('.')).sort();
  console.log(JSON.stringify([memory, Object.fromEntries(names.map((name) => [name, std.loadFile(name)]))]));
}`,
};

/** The numbers of the calls that lead to a state, and to each of its checkpoints. */
interface Model {
  readonly xs: readonly number[];
  readonly checkpoints: Readonly<Record<string, readonly number[]>>;
  readonly undo: readonly number[] | undefined;
}

type Sent =
  | { readonly sent: number; readonly what: 'call'; readonly k: number }
  | { readonly sent: number; readonly what: 'checkpoint' | 'rollback'; readonly name: string }
  | { readonly sent: number; readonly what: 'undo' };
type Fact = { readonly id: string } & (Sent | { readonly done: number } | { readonly flushed: number });

function after({ xs, checkpoints, undo }: Model, fact: Sent): Model {
  if (fact.what === 'call') return { xs: [...xs, fact.k], checkpoints, undo: xs };
  if (fact.what === 'checkpoint') return { xs, checkpoints: { ...checkpoints, [fact.name]: xs }, undo };
  if (fact.what === 'rollback') return { xs: checkpoints[fact.name]!, checkpoints, undo };
  return { xs: undo!, checkpoints, undo: undefined };
}

/** The states that the operations of one session lead to, and which of them the store may hold. */
class History {
  models: Model[] = [{ xs: [], checkpoints: {}, undo: undefined }];
  /** Index of the oldest state that the store may hold. */
  kept = 0;
  calls = 0;
  nextCall = 1;
  readonly #callOps = new Set<number>();

  take(fact: Fact): void {
    if ('sent' in fact) {
      this.models.push(after(this.models.at(-1)!, fact));
      if (fact.what !== 'call') return;
      this.nextCall = fact.k + 1;
      this.#callOps.add(fact.sent);
    } else if ('flushed' in fact) this.kept = fact.flushed;
    else if (this.#callOps.has(fact.done)) {
      this.calls++;
      // A call starts after everything before it is stored, so only later operations can be lost.
      this.kept = Math.max(this.kept, fact.done - 1);
    }
  }

  /** Continues from the state that the store held. */
  settle(found: Model): void {
    this.models = [...this.models, found];
    this.kept = this.models.length - 1;
  }
}

async function find(dir: string, id: string, history: History): Promise<Model> {
  const store = diskStore(dir);
  expect((await store.list()).damaged).toEqual([]);
  await using sandbox = await createSandbox({ runtime: SESSIONS[id]!, session_id: id, store });
  const { stdout, stderr } = await sandbox.execute(SHOW[SESSIONS[id]!]);
  expect(stderr).toBe('');
  const [[xs, own, n], files] = JSON.parse(stdout) as [[number[], Record<string, number>, number], Files];
  expect(n).toBe(xs.at(-1) ?? null);
  expect(files).toEqual(filesOf(xs, own));
  // The workspace folder on disk must have the same contents.
  await sandbox.flush();
  if (xs.length > 0) expect(readFileSync(join(dir, id, 'workspace', 'log'), 'utf8')).toBe(files['log']);
  const names = (await sandbox.checkpoints()).map(({ name }) => name).sort();
  const possible = history.models.slice(history.kept);
  const model = possible.findLast(
    (one) => String(one.xs) === String(xs) && String(Object.keys(one.checkpoints).sort()) === String(names),
  );
  expect(
    model,
    `${id} is ${xs} with checkpoints ${names}; possible: ${JSON.stringify(possible)}`,
  ).toBeDefined();
  return { ...model!, undo: xs };
}

type Files = Record<string, string>;

/** The files that match the variables. */
function filesOf(xs: readonly number[], own: Readonly<Record<string, number>>): Files {
  const last: Record<string, number> = {};
  for (const k of xs) last[k % 5] = k;
  expect(own).toEqual(last);
  const files = Object.entries(own).map(([key, k]): [string, string] => [`own-${key}`, String(k)]);
  return Object.fromEntries([...files, ...(xs.length > 0 ? [['log', `${xs.join('\n')}\n`]] : [])]);
}

test(`a session whose process is killed holds the state of a completed operation (${CALLS} calls)`, async () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const dir = folderOfTest();
  const histories = new Map(Object.keys(SESSIONS).map((id) => [id, new History()]));
  const calls = () => [...histories.values()].reduce((sum, history) => sum + history.calls, 0);
  let kills = 0;
  for (; kills < MIN_KILLS || calls() < CALLS; kills++) {
    const detail = [...histories].map(([id, { models, nextCall }], i) => ({
      id,
      runtime: SESSIONS[id],
      firstOp: models.length,
      firstCall: nextCall,
      seed: seed + kills * 7919 + i,
    }));
    const child = startSessionProcess('change', dir, detail);
    // Most processes are killed during calls, a few while they open the sessions.
    const wait = kills % 6 === 0 ? Math.random() * 3 : Math.random() * 120;
    while (child.lines.length < wait && child.process.exitCode === null) await sleep(1);
    await sleep(Math.random() * 40);
    expect(child.process.exitCode, 'the process exited before it was killed').toBe(null);
    child.process.kill('SIGKILL');
    await child.ended;
    for (const line of child.lines) {
      const fact = JSON.parse(line) as Fact;
      histories.get(fact.id)!.take(fact);
    }
    for (const [id, history] of histories) {
      try {
        history.settle(await find(dir, id, history));
      } catch (cause) {
        throw new Error(`after kill ${kills}, seed ${seed}, ${id}`, { cause });
      }
    }
  }
  const reached = [...histories.values()].map(({ models }) => models.length);
  for (const operations of reached) expect(operations).toBeGreaterThan(MIN_KILLS);
}, 300_000);
