/** Guarantees of the PostgreSQL store only; contract.test.ts tests the guarantees of every store. */
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { objectName, refTo } from '../../../packages/core/src/stores/format/object-ref.ts';
import { Database } from '../../../packages/core/src/stores/postgres/database.ts';
import { MIGRATIONS } from '../../../packages/core/src/stores/postgres/migrations.ts';
import { postgresCoordination } from '../../../packages/core/src/stores/postgres/postgres-coordination.ts';
import {
  type PostgresStoreOptions,
  postgresStore,
} from '../../../packages/core/src/stores/postgres/postgres-store.ts';
import { PostgresServer } from '../../support/postgres.ts';
import { newDatabase } from '../../support/shared-postgres.ts';
import { checkpoint, plainSession, readComplete, record, session, state } from '../fixtures.ts';

let pool: pg.Pool;
let tenant = '';
let tenants = 0;

beforeAll(async () => {
  pool = new pg.Pool({ connectionString: await newDatabase() });
  pool.on('error', () => {});
});
afterAll(() => pool.end());
beforeEach(() => {
  tenant = `tenant ${++tenants}`;
});

const open = (options: Partial<PostgresStoreOptions> = {}) => postgresStore({ pool, tenant, ...options });
const code = (expected: string) => expect.objectContaining({ name: 'SandboxError', code: expected });

/** Runs a statement in which $1 is the tenant of the test. */
async function sql(text: string): Promise<Record<string, unknown>[]> {
  return (await pool.query(text, text.includes('$1') ? [tenant] : [])).rows;
}

/** The bytes of all objects of the tenant as the tables count them, and as they are. */
async function usage(): Promise<{ counted: number; stored: number; objects: number }> {
  const [row] = await sql(
    `SELECT (SELECT coalesce(sum(bytes), 0) FROM llm_wasm_sandbox.tenants WHERE tenant = $1) AS counted,
       coalesce(sum(bytes), 0) AS stored, count(*) AS objects FROM llm_wasm_sandbox.objects WHERE tenant = $1`,
  );
  return {
    counted: Number(row!['counted']),
    stored: Number(row!['stored']),
    objects: Number(row!['objects']),
  };
}

// guarantee: shared-resources
// proves: A tenant that uses many connections of a PostgreSQL store at once leaves connections for other tenants.
test('the store of a tenant leaves connections of the pool for other tenants', async () => {
  const { connectionString } = pool.options;
  const small = new pg.Pool({ connectionString, max: 4, connectionTimeoutMillis: 20_000 });
  onTestFinished(() => small.end());
  const hostile = postgresStore({ pool: small, tenant });
  const ids = Array.from({ length: 8 }, (_, i) => `s${i}`);
  for (const id of ids) {
    await hostile.acquire(id);
    await hostile.write(session(id, state(1, { f: id })));
  }
  const blocker = await pool.connect();
  await blocker.query('BEGIN');
  await blocker.query('SELECT FROM llm_wasm_sandbox.leases WHERE tenant = $1 FOR UPDATE', [tenant]);
  const blocked = ids.map((id) => hostile.write(session(id, state(2, { f: 'blocked' }))));
  const honest = postgresStore({ pool: small, tenant: `${tenant} neighbour` });
  await honest.acquire('one');
  await honest.write(session('one', state(1, { f: 'written' })));
  expect((await honest.list()).records).toHaveLength(1);
  await blocker.query('ROLLBACK');
  blocker.release();
  await Promise.all(blocked);
});

describe('a lease', () => {
  // guarantee: stored-sessions
  // proves: When a lease has expired, another process can take over, and commits of the previous holder are rejected.
  test('lets another process take over after it has expired, and rejects commits of the previous holder', async () => {
    const first = open();
    await first.acquire('one');
    await first.write(session('one', state(1, { f: 'first' })));
    const second = open();
    await expect(second.acquire('one')).rejects.toEqual(code('session_busy'));
    await sql(`UPDATE llm_wasm_sandbox.leases SET expires_at = now() - interval '1 s' WHERE tenant = $1`);
    const release = await second.acquire('one');
    await expect(first.write(session('one', state(2, { f: 'stale' })))).rejects.toEqual(code('session_busy'));
    await expect(first.delete('one')).rejects.toEqual(code('session_busy'));
    await second.write(session('one', state(2, { f: 'second' })));
    await release();
    await expect(first.write(session('one', state(3, { f: 'stale' })))).rejects.toEqual(code('session_busy'));
    expect(plainSession(await readComplete(second, 'one'))).toEqual(
      plainSession(session('one', state(2, { f: 'second' }))),
    );
  });

  test('does not allow commits after it has expired, even if no other process has acquired it', async () => {
    const store = open();
    await store.acquire('one');
    await sql(`UPDATE llm_wasm_sandbox.leases SET expires_at = now() - interval '1 s' WHERE tenant = $1`);
    await expect(store.write(session('one', state(1)))).rejects.toEqual(code('session_busy'));
  });

  test('is given to the processes that wait for it in the order of their arrival', async () => {
    const release = await open().acquire('one');
    const order: number[] = [];
    const waiting: Promise<void>[] = [];
    for (const n of [1, 2, 3]) {
      const wait = async () => {
        const next = await open().acquire('one', { ms: 60_000 });
        order.push(n);
        await next();
      };
      waiting.push(wait());
      const count = async () =>
        (await sql('SELECT FROM llm_wasm_sandbox.lease_waiters WHERE tenant = $1')).length;
      while ((await count()) < n) await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await release();
    await Promise.all(waiting);
    expect(order).toEqual([1, 2, 3]);
    expect(await sql('SELECT FROM llm_wasm_sandbox.lease_waiters WHERE tenant = $1')).toEqual([]);
  });

  test('is waited for no longer than the caller allows', async () => {
    const release = await open().acquire('one');
    await expect(open().acquire('one', { ms: 50 })).rejects.toThrow('not become free within 0.05 s');
    const abort = new AbortController();
    const waiting = open().acquire('one', { ms: 60_000, signal: abort.signal });
    abort.abort();
    await expect(waiting).rejects.toEqual(code('session_busy'));
    await release();
  });

  test('leaves no row for a session that does not exist', async () => {
    const store = open();
    await (await store.acquire('never-written'))();
    await store.write(session('deleted', state(1)));
    await store.delete('deleted');
    expect(await sql('SELECT FROM llm_wasm_sandbox.leases WHERE tenant = $1')).toEqual([]);
  });

  test('is renewed while it is held', async () => {
    const store = open({ leaseSeconds: 0.3 });
    const release = await store.acquire('one');
    const expiry = async () =>
      (await sql('SELECT expires_at FROM llm_wasm_sandbox.leases WHERE tenant = $1'))[0]![
        'expires_at'
      ] as Date;
    const first = await expiry();
    while ((await expiry()) <= first) await new Promise((resolve) => setTimeout(resolve, 20));
    await release();
  });
});

describe('revision', () => {
  test('is that of the last write, by any process', async () => {
    const store = open();
    expect(await store.revision!('one')).toBeUndefined();
    const revision = '11111111-2222-4333-8444-555555555555';
    await store.write(session('one', state(1)), revision);
    expect(await open().revision!('one')).toBe(revision);
    await open().write(session('one', state(2)));
    expect(await store.revision!('one')).not.toBe(revision);
    await store.delete('one');
    expect(await store.revision!('one')).toBeUndefined();
  });
});

describe('an object', () => {
  test('is stored once for all sessions of a tenant, and removed with the last reference', async () => {
    const store = open();
    const contents = { large: 'x'.repeat(200_000) };
    for (const id of ['a', 'b', 'c']) await store.write(session(id, state(1, contents, 'the same memory')));
    const { stored, objects, counted } = await usage();
    expect(objects).toBe(3);
    expect(stored).toBeLessThan(202_000);
    expect(counted).toBe(stored);
    await store.delete('a');
    await store.delete('b');
    expect((await usage()).stored).toBe(stored);
    await store.delete('c');
    expect(await usage()).toEqual({ counted: 0, stored: 0, objects: 0 });
  });

  test('is neither visible to nor shared with another tenant', async () => {
    const mine = open();
    await mine.write(session('one', state(1, { f: 'secret' })));
    const other = open({ tenant: `${tenant} other` });
    expect(await other.read('one')).toBeUndefined();
    expect(await other.list()).toEqual({ records: [], damaged: [] });
    expect(await other.delete('one')).toBe(0);
    await other.write(session('one', state(5, { f: 'theirs' })));
    expect(plainSession(await readComplete(mine, 'one'))).toEqual(
      plainSession(session('one', state(1, { f: 'secret' }))),
    );
  });

  test('can be larger than a chunk and than a batch', async () => {
    const store = open();
    const contents = { medium: 'm'.repeat(3_500_000), large: 'l'.repeat(9_000_000), empty: '' };
    const written = session('one', state(1, contents, 'z'.repeat(1024 * 1024)));
    await store.write(written);
    expect(plainSession(await readComplete(store, 'one'))).toEqual(plainSession(written));
  });

  test('is only sent if the commit adds it', async () => {
    let sent = 0;
    const counting = {
      ...poolWith((query) => (text, values) => {
        for (const value of values ?? []) if (Buffer.isBuffer(value)) sent += value.length;
        return query(text, values);
      }),
    };
    const store = open({ pool: counting });
    const release = await store.acquire('one');
    const large = { large: 'x'.repeat(1_000_000) };
    const before = state(1, large);
    await store.write(session('one', before));
    expect(sent).toBeGreaterThan(1_000_000);
    sent = 0;
    await store.write(session('one', state(2, { ...large, small: 'y' }), { undo: before }));
    expect(sent).toBeLessThan(10_000);
    await release();
  });

  // guarantee: stored-sessions
  // proves: No object is lost when concurrent commits of sessions add and remove the same objects.
  test('survives concurrent commits of sessions that add and remove the same objects', {
    tags: 'full',
  }, async () => {
    const stores = [open(), open(), open()];
    const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
    const last = new Map<string, ReturnType<typeof session>>();
    await Promise.all(
      ids.map(async (id, i) => {
        const store = stores[i % stores.length]!;
        for (let version = 1; version <= 15; version++) {
          const contents = { f: `content ${(version * (i + 1)) % 4}`, g: `content ${version % 3}` };
          const written = session(id, state(version, contents, `memory ${version % 5}`));
          await store.write(written);
          last.set(id, written);
          const read = await stores[(i + version) % stores.length]!.read(id);
          expect(read!.state.version).toBe(version);
        }
      }),
    );
    for (const id of ids)
      expect(plainSession(await readComplete(stores[0]!, id))).toEqual(plainSession(last.get(id)!));
    // The garbage of commits that conflicted with other transactions is collected by the first operation of a new store.
    await open().list();
    const { counted, stored } = await usage();
    expect(counted).toBe(stored);
    const [garbage] = await sql(
      `SELECT count(*) FROM llm_wasm_sandbox.objects o WHERE tenant = $1 AND NOT EXISTS (
         SELECT FROM llm_wasm_sandbox.session_objects r WHERE r.tenant = o.tenant AND r.name = o.name)`,
    );
    expect(Number(garbage!['count'])).toBe(0);
  });
});

type Query = (text: string, values?: unknown[]) => Promise<pg.QueryResult>;

/** A pool whose queries go through `wrap`. */
function poolWith(wrap: (query: Query) => Query) {
  return {
    connect: async () => {
      const client = await pool.connect();
      const query = wrap((text, values) => client.query(text, values));
      return {
        query,
        release: (error?: Error | boolean) => client.release(error),
        on: client.on.bind(client),
        off: client.off.bind(client),
      };
    },
    on: () => {},
    end: async () => {},
  };
}

describe('commit', () => {
  const failing = (when: 'before' | 'after') => {
    let remaining = 1;
    return {
      arm: () => {
        remaining = 0;
      },
      pool: poolWith((query) => async (text, values) => {
        if (text !== 'COMMIT' || remaining > 0) return query(text, values);
        remaining = 1;
        if (when === 'after') await query(text, values);
        throw new Error('Connection terminated unexpectedly');
      }),
    };
  };

  test('is recognised as committed if its reply is lost with the connection', async () => {
    const { pool: lossy, arm } = failing('after');
    const store = open({ pool: lossy });
    await store.write(session('one', state(1, { f: 'a' })));
    arm();
    await store.write(session('one', state(2, { f: 'b' })));
    await store.write(session('one', state(3, { f: 'c' })));
    expect((await open().read('one'))!.state.version).toBe(3);
  });

  test('fails if it did not reach the database, and the previous session remains', async () => {
    const { pool: lossy, arm } = failing('before');
    const store = open({ pool: lossy });
    const first = session('one', state(1, { f: 'a' }));
    await store.write(first);
    arm();
    await expect(store.write(session('one', state(2, { f: 'b' })))).rejects.toEqual(code('store_failed'));
    expect(plainSession(await readComplete(open(), 'one'))).toEqual(plainSession(first));
    await store.write(session('one', state(2, { f: 'b' })));
  });

  // guarantee: stored-sessions
  // proves: A change whose outcome cannot be determined is reported as unknown, never as failed.
  test('is reported as unknown if its outcome cannot be determined, also for a deletion', {
    tags: 'full',
  }, async () => {
    let isArmed = false;
    let isLost = false;
    const lossy = poolWith((query) => async (text, values) => {
      if (isLost) throw new Error('Connection terminated unexpectedly');
      const result = await query(text, values);
      isLost = isArmed && text === 'COMMIT';
      if (isLost) throw new Error('Query read timeout');
      return result;
    });
    const store = open({ pool: lossy });
    await store.acquire('one');
    await store.write(session('one', state(1, { f: 'a' })));
    isArmed = true;
    await expect(store.write(session('one', state(2, { f: 'b' })))).rejects.toMatchObject({
      code: 'commit_unknown',
      publicMessage: expect.stringMatching(/not known whether.*Read the state/s),
    });
    expect((await open().read('one'))!.state.version).toBe(2);
    isLost = false;
    await expect(store.delete('one')).rejects.toEqual(code('commit_unknown'));
    expect(await open().read('one')).toBeUndefined();
  });

  test('is recognised for a deletion whose reply is lost', async () => {
    const { pool: lossy, arm } = failing('after');
    const store = open({ pool: lossy });
    await store.write(session('one', state(1, { f: 'a' })));
    const release = await store.acquire('one');
    arm();
    await store.delete('one');
    await release();
    expect(await open().read('one')).toBeUndefined();
  });

  test('survives a crash of the server', { tags: 'full' }, async () => {
    const server = await PostgresServer.start();
    onTestFinished(() => server.stop());
    const ownPool = new pg.Pool({ connectionString: server.connectionString });
    ownPool.on('error', () => {});
    onTestFinished(() => ownPool.end());
    const written = session('one', state(1, { f: 'a' }), {
      checkpoints: [checkpoint('c', state(0, { g: 'b' }))],
    });
    await open({ pool: ownPool }).write(written);
    await server.restart();
    const store = open({ pool: ownPool });
    // The pool notices that its connections are gone when it uses them.
    let read = await store.read('one').catch(() => undefined);
    for (let attempt = 0; read === undefined && attempt < 10; attempt++)
      read = await store.read('one').catch(() => undefined);
    expect(plainSession(await readComplete(store, 'one'))).toEqual(plainSession(written));
  });
});

test('cached values expire after a day, also those of tenants that make no more calls', async () => {
  // The values of one server are not those that another server has in memory.
  const valuesOf = (owner: string) =>
    postgresCoordination(new Database(pool, 'llm_wasm_sandbox')).values(owner);
  const values = valuesOf(tenant);
  await valuesOf(tenant).add([{ key: 'k', session_id: 's', value: Buffer.from('[1]') }]);
  expect([await values.get('k'), await values.keys('s')]).toEqual([Buffer.from('[1]'), ['k']]);
  await sql(
    `UPDATE llm_wasm_sandbox.cached_values SET created_at = now() - interval '25 h' WHERE tenant = $1`,
  );
  expect([await values.get('k'), await values.keys('s')]).toEqual([undefined, []]);
  await valuesOf(`${tenant}, another`).add([{ key: 'k', session_id: 's', value: Buffer.from('2') }]);
  expect(await sql('SELECT FROM llm_wasm_sandbox.cached_values WHERE tenant = $1')).toEqual([]);
});

test('requests to cancel belong to a tenant, and old ones are removed', async () => {
  const requestsOf = postgresCoordination(new Database(pool, 'llm_wasm_sandbox')).cancellations!;
  const own = requestsOf(tenant);
  await own.request('s');
  await own.request('s');
  expect([...(await own.ages(['s', 'unknown'])).keys()]).toEqual(['s']);
  expect(await requestsOf(`${tenant}, another`).ages(['s'])).toEqual(new Map());
  await sql(
    `UPDATE llm_wasm_sandbox.cancellations SET requested_at = now() - interval '61 min' WHERE tenant = $1`,
  );
  await own.request('other');
  expect(await sql('SELECT session_id FROM llm_wasm_sandbox.cancellations WHERE tenant = $1')).toEqual([
    { session_id: 'other' },
  ]);
});

describe('limit', () => {
  test('of a tenant counts shared contents once and holds for concurrent writes', async () => {
    const store = open({ maxTenantBytes: 250_000 });
    const large = (version: number) => state(version, { f: `${version}`.repeat(100_000) });
    await store.write(session('one', large(1)));
    await store.write(session('two', large(1)));
    const results = await Promise.allSettled([2, 3, 4].map((n) => store.write(session(`s${n}`, large(n)))));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const result of results)
      if (result.status === 'rejected') expect(result.reason).toEqual(code('session_limit'));
    const { counted, stored } = await usage();
    expect(counted).toBe(stored);
    expect(stored).toBeLessThanOrEqual(250_000);
  });

  test('of sessions holds for processes that create sessions at the same time', async () => {
    const stores = Array.from({ length: 3 }, () => open({ maxSessions: 2 }));
    const create = (i: number) => stores[i % 3]!.write(session(`s${i}`, state(1)));
    const results = await Promise.allSettled([0, 1, 2, 3, 4].map(create));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
    for (const result of results)
      if (result.status === 'rejected') expect(result.reason).toEqual(code('session_limit'));
    const [existing] = (await stores[0]!.list()).records;
    // A session that exists can still be written.
    await stores[1]!.write(session(existing!.session_id, state(2)));
    await stores[2]!.delete(existing!.session_id);
    await create(5);
  });

  // A commit that adds objects locks them before the tenant. The other order would be a deadlock of the two.
  test('of sessions does not lock the tenant while a new session waits for an object', async () => {
    const store = open({ maxSessions: 2 });
    await store.write(session('one', state(1)));
    const contents = 'contents that both add';
    const name = objectName('data', refTo(Buffer.from(contents)));
    const other = await pool.connect();
    await other.query('BEGIN');
    const values = [tenant, name, contents.length];
    await other.query(
      'INSERT INTO llm_wasm_sandbox.objects (tenant, name, bytes) VALUES ($1, $2, $3)',
      values,
    );
    const writing = store.write(session('two', state(1, { f: contents })));
    const waiting = () => sql(`SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'`);
    await expect.poll(waiting, { timeout: 30_000 }).not.toEqual([]);
    await other.query('SELECT FROM llm_wasm_sandbox.tenants WHERE tenant = $1 FOR UPDATE NOWAIT', [tenant]);
    await other.query('ROLLBACK');
    other.release();
    await writing;
    await expect(store.write(session('three', state(1)))).rejects.toThrow('already has 2 sessions');
  });

  test('of a session rejects a larger one', async () => {
    const store = open({ maxSessionBytes: 50_000 });
    await expect(store.write(session('one', state(1, { f: 'x'.repeat(60_000) })))).rejects.toEqual(
      code('session_limit'),
    );
    expect(await usage()).toEqual({ counted: 0, stored: 0, objects: 0 });
  });

  test('of age deletes sessions that are not open', async () => {
    const old = { last_used_at: '2020-01-01T00:00:00.000Z' };
    const recent = { last_used_at: new Date().toISOString() };
    const store = open();
    for (const [id, facts] of Object.entries({ old, held: old, recent }))
      await store.write(session(id, state(1, { f: id }), { record: record(id, facts) }));
    const release = await store.acquire('held');
    const { records } = await open({ ttlSeconds: 3600 }).list();
    expect(records.map(({ session_id }) => session_id)).toEqual(['held', 'recent']);
    await release();
  });
});

describe('tables', () => {
  test('are created once by many processes that start at the same time', async () => {
    const stores = Array.from({ length: 8 }, () => open({ schema: 'created_together' }));
    await Promise.all(stores.map((store, i) => store.write(session(`s${i}`, state(1)))));
    expect((await stores[0]!.list()).records).toHaveLength(8);
    expect(await sql('SELECT version FROM created_together.migrations ORDER BY 1')).toEqual(
      MIGRATIONS.map((_, i) => ({ version: i + 1 })),
    );
  });

  test('can be used if a compatible later release has migrated them, and are rejected otherwise', async () => {
    const schema = 'next_release';
    await open({ schema }).write(session('one', state(1)));
    const next = MIGRATIONS.length + 1;
    await sql(`INSERT INTO ${schema}.migrations (version, compatible_with) VALUES (${next}, ${next - 1})`);
    expect((await open({ schema }).list()).records).toHaveLength(1);
    await sql(`INSERT INTO ${schema}.migrations (version, compatible_with) VALUES (${next + 1}, ${next})`);
    await expect(open({ schema }).list()).rejects.toThrow(/have version \d+, which is too new.*Upgrade/);
  });

  test('need a schema with a plain name, and either a pool or a connection string', () => {
    expect(() => open({ schema: 'x"; DROP SCHEMA public; --' })).toThrow('lower-case letters');
    expect(() => postgresStore({})).toThrow('either connectionString or pool');
    expect(() => open({ connectionString: 'postgres://x' })).toThrow('either connectionString or pool');
  });
});

describe('damage', () => {
  const stored = () => session('one', state(1, { a: 'aaa', b: 'bbb' }));

  // guarantee: stored-sessions
  test('to the bytes of an object is reported, and the other files can be read', async () => {
    const store = open();
    await store.write(stored());
    await sql(`UPDATE llm_wasm_sandbox.chunks SET data = 'bbx' WHERE tenant = $1 AND data = 'bbb'`);
    await expect(store.read('one')).rejects.toEqual(code('session_damaged'));
    const { workspace, damage } = (await store.readWorkspace('one'))!;
    expect([...workspace.keys()]).toEqual(['a']);
    expect(damage).toContain('does not match its digest');
    expect(await store.delete('one')).toBeGreaterThan(0);
  });

  // guarantee: stored-sessions
  test('to a manifest is reported by read and list, and a write replaces it', async () => {
    const store = open();
    await store.write(stored());
    await sql(`UPDATE llm_wasm_sandbox.sessions SET manifest = '{"format":3}' WHERE tenant = $1`);
    await expect(store.read('one')).rejects.toEqual(code('session_damaged'));
    expect(await store.list()).toEqual({ records: [], damaged: ['one'] });
    await store.write(stored());
    expect(plainSession(await readComplete(store, 'one'))).toEqual(plainSession(stored()));
  });

  test('by a manifest that belongs to another session is reported', async () => {
    const store = open();
    await store.write(stored());
    await store.write(session('two', state(1)));
    await sql(
      `UPDATE llm_wasm_sandbox.sessions SET manifest = (
         SELECT manifest FROM llm_wasm_sandbox.sessions WHERE tenant = $1 AND id = 'two') WHERE tenant = $1 AND id = 'one'`,
    );
    await expect(store.read('one')).rejects.toEqual(code('session_damaged'));
  });
});

describe('an unreachable database', () => {
  test('is reported with advice and without host details for clients', async () => {
    const store = postgresStore({ connectionString: 'postgres://user@127.0.0.1:1/none' });
    const error = await store.list().catch((cause) => cause);
    expect(error).toEqual(code('store_failed'));
    expect(error.message).toContain('Check that the database is running');
    expect(error.publicMessage).not.toContain('127.0.0.1');
    await store.close();
  });
});
