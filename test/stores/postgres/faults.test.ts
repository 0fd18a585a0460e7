/**
 * Processes that share a database while processes are killed or suspended for longer than their lease, and while the
 * database is restarted. Each session is a list; a checker compares the lists with what the processes reported.
 *
 * @module-tag full
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { postgresStore } from '../../../packages/core/src/stores/postgres/postgres-store.ts';
import { PostgresServer } from '../../support/postgres.ts';
import { repetitions } from '../../support/repetitions.ts';
import { buildProgram, type Child, start } from '../disk/start-process.ts';

const PROCESSES = 3;
const ROUNDS = repetitions(3, 60);
const SESSIONS = ['one', 'two', 'three'];
/** Longer than the lease of the program. */
const SUSPENSION_MS = 1500;

/** Every item with its outcome; `unknown` if the process ended or the database failed before it reported one. */
function outcomesOf(lines: readonly string[]): Map<string, string> {
  const outcomes = new Map<string, string>();
  for (const line of lines) {
    const [event, id, item] = line.split(' ') as [string, string, string];
    const isCertain = event === 'ok' || event === 'session_busy';
    outcomes.set(`${id} ${item}`, isCertain ? event : 'unknown');
  }
  return outcomes;
}

// guarantee: stored-sessions
test('no commit is lost, applied twice or made by a process that lost its lease', async () => {
  const server = await PostgresServer.start();
  const program = buildProgram(new URL('fault-program.ts', import.meta.url));
  const lines: string[] = [];
  let started = 0;
  const startOne = (): Child =>
    start(process.execPath, [program, server.connectionString, `p${++started}`, ...SESSIONS]);
  const children = Array.from({ length: PROCESSES }, startOne);
  const end = async (child: Child) => {
    child.process.kill('SIGKILL');
    await child.ended;
    lines.push(...child.lines);
  };
  try {
    for (let round = 0; round < ROUNDS; round++) {
      await sleep(300 + Math.random() * 300);
      const index = round % PROCESSES;
      const child = children[index]!;
      if (round % 3 === 0) {
        await end(child);
        children[index] = startOne();
      } else if (round % 3 === 1) {
        child.process.kill('SIGSTOP');
        await sleep(SUSPENSION_MS);
        child.process.kill('SIGCONT');
      } else await server.restart();
    }
    // After the last faults, every process must commit again.
    const before = children.map(({ lines: own }) => own.length);
    const hasCommitted = (child: Child, i: number) =>
      child.lines.slice(before[i]).some((line) => line.startsWith('ok'));
    while (!children.every(hasCommitted)) {
      expect(children.map(({ process: { exitCode } }) => exitCode)).toEqual(children.map(() => null));
      await sleep(20);
    }
    await Promise.all(children.map(end));

    const outcomes = outcomesOf(lines);
    const store = postgresStore({ connectionString: server.connectionString });
    for (const id of SESSIONS) {
      const { state } = (await store.read(id))!;
      const list = Buffer.from(state.workspace.get('list')!.data!).toString().trimEnd().split('\n');
      expect(new Set(list).size).toBe(list.length);
      expect(state.version).toBe(list.length);
      const listed = new Set(list.map((item) => `${id} ${item}`));
      for (const [key, outcome] of outcomes) {
        if (!key.startsWith(`${id} `)) continue;
        if (outcome === 'ok') expect(listed, key).toContain(key);
        if (outcome === 'session_busy') expect(listed, key).not.toContain(key);
      }
      for (const key of listed) expect(outcomes.has(key), key).toBe(true);
    }
    expect([...outcomes.values()].filter((outcome) => outcome === 'ok').length).toBeGreaterThan(ROUNDS);
    await store.close();
  } finally {
    for (const child of children) child.process.kill('SIGKILL');
    await server.stop();
  }
});
