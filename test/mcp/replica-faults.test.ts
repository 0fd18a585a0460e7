/**
 * Servers on one database under load from several tenants, while servers are killed, suspended and stopped, connections
 * are cut and the database is restarted. A checker compares what the clients saw with the final lists.
 *
 * @module-tag full
 */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { PostgresServer } from '../support/postgres.ts';
import { repetitions } from '../support/repetitions.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
import { violations } from './append-history.ts';
import { callTool, client, itemsOf, type LoadState, operate, Replica, type Target } from './replica-load.ts';

const REPLICAS = repetitions(2, 3);
/** One fault of each kind, or as many as fit into three minutes. */
const FAULTS = repetitions(5, Number.POSITIVE_INFINITY);
const MAX_SECONDS = 190;
const CLIENTS = 4;
const TOKENS = ['ann=ann-has-a-long-secret', 'bob=bob-has-a-long-secret'];
const SESSIONS = ['one', 'two'];
const LEASE_SECONDS = 1;
/** Minimum time between two faults. */
const PAUSE_MS = repetitions(100, 200);
/** How long a server stays suspended after its leases have expired. */
const TAKEOVER_MS = repetitions(500, 1000);

const FAULT_KINDS = ['kill', 'cut', 'suspend', 'restart_database', 'stop'] as const;

// guarantee: stored-sessions, tenant-identity
test('servers lose no commit, apply no commit twice, and do not show data of one tenant to another', async () => {
  const database = await PostgresServer.start();
  const proxy = await TcpProxy.start(database.port);
  const flags = [
    ...['--store', `postgres://postgres@127.0.0.1:${proxy.port}/postgres`],
    ...['--lease-seconds', String(LEASE_SECONDS), '--shutdown-seconds', '2'],
    ...['--rate-per-minute', '1000000'],
    ...TOKENS.flatMap((token) => ['--token', token]),
  ];
  const replicas = Array.from({ length: REPLICAS }, () => new Replica(flags));
  const targets = TOKENS.flatMap((token) => {
    const [tenant, secret] = token.split('=') as [string, string];
    return SESSIONS.map((session_id) => ({ secret, session_id, list: `${tenant}/${session_id}` }));
  });
  const state: LoadState = { replicas, targets, history: [], problems: [], counts: new Map(), isOver: false };
  const faults = new Map<string, number>();
  const final = new Map<string, readonly string[]>();
  let isPassed = false;
  try {
    await Promise.all(replicas.map((replica) => replica.start()));
    const create = async ({ secret, session_id }: Target) => {
      const args = { session_id, language: 'javascript' };
      await callTool(replicas[0]!.url!, secret, 'create_session', args);
      const code = "const fs = require('fs'); const items = []; fs.writeFileSync('log', '')";
      expect(await callTool(replicas[1]!.url!, secret, 'execute_code', { ...args, code })).toMatchObject({
        failure: undefined,
      });
    };
    await Promise.all(targets.map(create));
    const clients = Array.from({ length: CLIENTS }, (_, i) => client(state, `c${i}`));
    const endsAt = performance.now() + MAX_SECONDS * 1000;
    for (let n = 0; n < FAULTS && performance.now() < endsAt; n++) {
      await sleep(PAUSE_MS + Math.random() * 3 * PAUSE_MS);
      const kind = FAULT_KINDS[n % FAULT_KINDS.length]!;
      const replica = replicas[Math.floor(Math.random() * REPLICAS)]!;
      faults.set(kind, (faults.get(kind) ?? 0) + 1);
      if (kind === 'kill') {
        await replica.end('SIGKILL');
        await replica.start();
      } else if (kind === 'stop') {
        expect(await replica.end('SIGTERM')).toBe(0);
        await replica.start();
      } else if (kind === 'suspend') {
        replica.child!.kill('SIGSTOP');
        await sleep(LEASE_SECONDS * 1000 + TAKEOVER_MS);
        replica.child!.kill('SIGCONT');
      } else if (kind === 'cut') proxy.cut();
      else await database.restart();
    }
    // After the last fault, every server must append again.
    state.isOver = true;
    const appendAgain = async (target: Target) => {
      for (const [i, { url }] of replicas.entries()) {
        const append = (attempt: number) => operate(state, url!, target, `last-${i}-${attempt}`);
        for (let n = 0; (await append(n)).outcome !== 'ok'; n++) expect(n).toBeLessThan(50);
      }
    };
    await Promise.all([...clients, ...targets.map(appendAgain)]);

    for (const { secret, session_id, list } of targets) {
      const lists = await Promise.all(
        replicas.map(({ url }) => callTool(url!, secret, 'read_file', { session_id, path: 'log' })),
      );
      final.set(list, itemsOf(lists[0]!.text));
      for (const { text } of lists) expect(itemsOf(text)).toEqual(final.get(list));
    }
    const seen = [...[...final].map(([list, items]) => ({ list, seen: items })), ...state.history];
    const ofOthers = seen.flatMap(({ list, seen = [] }) =>
      seen.filter((item) => !item.startsWith(`${list}/`)),
    );
    expect(ofOthers).toEqual([]);
    for (const items of final.values()) expect(items.length).toBeGreaterThanOrEqual(REPLICAS);
    expect(state.history.some(({ kind, outcome }) => kind === 'read' && outcome === 'ok')).toBe(true);
    expect({ problems: state.problems, violations: violations(state.history, final) }).toEqual({
      problems: [],
      violations: [],
    });
    isPassed = true;
  } finally {
    state.isOver = true;
    if (!isPassed) saveHistory(state, final);
    if (!isPassed || process.env['NIGHTLY_TESTS'] === '1') report(state, faults);
    await Promise.all(replicas.map((replica) => replica.end('SIGKILL')));
    proxy.close();
    await database.stop();
  }
}, 600_000);

/** Writes what the clients saw to a file, so that a violation can be examined. */
function saveHistory({ history, problems }: LoadState, final: ReadonlyMap<string, readonly string[]>): void {
  const file = join(mkdtempSync(join(tmpdir(), 'replica-faults-')), 'history.json');
  writeFileSync(file, JSON.stringify({ problems, final: Object.fromEntries(final), history }, undefined, 1));
  console.log(`The history of operations is in ${file}.`);
}

function report({ history, counts }: LoadState, faults: ReadonlyMap<string, number>): void {
  const seconds = Math.round(((history.at(-1)?.endMs ?? 0) - (history[0]?.startMs ?? 0)) / 1000);
  const figures = {
    seconds,
    calls: history.length,
    reads: history.filter(({ kind }) => kind === 'read').length,
    answers: Object.fromEntries(counts),
    faults: Object.fromEntries(faults),
  };
  console.log(JSON.stringify(figures));
}
