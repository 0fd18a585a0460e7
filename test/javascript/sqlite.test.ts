/** node:sqlite: databases in files and in memory, as state of sessions, within the limits of a call and under attack. */
import { spawnSync } from 'node:child_process';
import { createSandbox, diskStore, openSessions, type PolicyInput, type Session } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { folderOfTest } from '../support/folders.ts';
import { run } from '../support/sandbox.ts';

const BEGIN = "const { DatabaseSync, backup } = require('node:sqlite');\n";
const OPEN = `${BEGIN}const db = new DatabaseSync(':memory:');\n`;
const COUNT_FOREVER = 'with recursive c(x) as (select 1 union all select x + 1 from c)';

async function output(code: string) {
  const { stdout, stderr } = await run('javascript', `${OPEN}${code}`);
  expect(stderr).toBe('');
  return stdout.trimEnd();
}

async function execute(code: string, policy: PolicyInput) {
  await using sandbox = await createSandbox({
    runtime: 'javascript',
    policy: { timeout_seconds: 100, ...policy },
  });
  return await sandbox.execute(`${OPEN}${code}`);
}

describe('node:sqlite', () => {
  test('stores and reads values of all types', async () => {
    expect(
      await output(`
        db.exec('create table t(id integer primary key, v)');
        const add = db.prepare('insert into t(v) values (?)');
        const values = ['ü😀\\ud800', 1.5, 7n, null, true, new Uint8Array([1, 2]), new DataView(new Uint8Array([3, 4]).buffer, 1), new Float32Array(1)];
        console.log(values.map((value) => add.run(value).lastInsertRowid).join());
        console.log(JSON.stringify(db.prepare('select v from t').all().map(({ v }) => v instanceof Uint8Array ? [...v] : v)));
        const big = db.prepare('select max(id) n, 9007199254740993 b from t');
        big.setReadBigInts(true);
        big.setReturnArrays(true);
        console.log(big.get());
        try { db.prepare('select 9007199254740993').get(); } catch (error) { console.log(error.code); }
        try { add.run(2n ** 64n); } catch (error) { console.log(error.code); }
        try { add.run(Symbol.iterator); } catch (error) { console.log(error.code, error.message); }
        console.log(db.prepare('select v from t where id = $id').get({ id: 2 }), Object.getPrototypeOf(db.prepare('select 1').get()));
      `),
    ).toBe(
      [
        '1,2,3,4,5,6,7,8',
        '["ü😀\ufffd",1.5,7,null,1,[1,2],[4],[0,0,0,0]]',
        '[ 8n, 9007199254740993n ]',
        'ERR_OUT_OF_RANGE',
        'ERR_INVALID_ARG_VALUE',
        'ERR_INVALID_ARG_TYPE Provided value cannot be bound to SQLite parameter 1.',
        '[Object: null prototype] { v: 1.5 } null',
      ].join('\n'),
    );
  });

  test('reports errors as Node.js does', async () => {
    expect(
      await output(`
        const failure = (action) => { try { action(); } catch ({ name, message, code, errcode, errstr }) { console.log([name, message, code, errcode, errstr].join('|')); } };
        db.exec('create table t(v not null)');
        failure(() => db.exec('selec 1'));
        failure(() => db.prepare('insert into t values (?)').run(null));
        failure(() => db.prepare(''));
        failure(() => db.prepare('select $a').get({ b: 1 }));
        failure(() => db.open());
        failure(() => DatabaseSync(':memory:'));
        failure(() => new DatabaseSync('/app/none/x.db'));
        failure(() => db.createSession());
        failure(() => new DatabaseSync(':memory:', { allowExtension: true }));
        db.close();
        failure(() => db.exec('select 1'));
        failure(() => require('sqlite'));
      `),
    ).toBe(
      [
        'Error|near "selec": syntax error|ERR_SQLITE_ERROR|1|SQL logic error',
        'Error|NOT NULL constraint failed: t.v|ERR_SQLITE_ERROR|1299|constraint failed',
        'TypeError|The SQL query contains no statements.|ERR_INVALID_ARG_VALUE||',
        "Error|Unknown named parameter 'b'|ERR_INVALID_STATE||",
        'Error|database is already open|ERR_INVALID_STATE||',
        'TypeError|Cannot call constructor without `new`|ERR_CONSTRUCT_CALL_REQUIRED||',
        'Error|unable to open database file|ERR_SQLITE_ERROR|14|unable to open database file',
        'Error|sqlite.createSession is not available in the sandbox. Compare tables with SQL, such as EXCEPT, or record changes with triggers.|ERR_FEATURE_UNAVAILABLE_ON_PLATFORM||',
        'Error|sqlite.allowExtension is not available in the sandbox. Define functions with database.function() and database.aggregate().|ERR_FEATURE_UNAVAILABLE_ON_PLATFORM||',
        'Error|database is not open|ERR_INVALID_STATE||',
        "Error|Cannot find module 'sqlite'\nRequire stack:\n- /app/main.js|MODULE_NOT_FOUND||",
      ].join('\n'),
    );
  });

  test('has JSON, full-text search, mathematical functions, R*Trees and dates in UTC', async () => {
    expect(
      await output(`
        db.exec("create virtual table f using fts5(x); insert into f values ('a red fox'), ('a dog')");
        db.exec('create virtual table r using rtree(id, x0, x1); insert into r values (1, 0, 5)');
        console.log(db.prepare("select x from f where f match 'fox'").get().x, db.prepare("select '[1,2]' ->> '$[1]' j").get().j,
          db.prepare('select sqrt(16) s').get().s, db.prepare('select id from r where x1 > 4').get().id,
          db.prepare("select datetime(951782400, 'unixepoch', 'localtime') d").get().d,
          db.prepare('select sqlite_version() v').get().v === process.versions.sqlite);
      `),
    ).toBe('a red fox 2 4 1 2000-02-29 00:00:00 true');
  });

  test('runs functions and aggregates of the program', async () => {
    expect(
      await output(`
        db.function('twice', { deterministic: true }, (x) => x * 2);
        db.aggregate('total', { start: () => [], step: (list, x) => [...list, x], inverse: (list) => list.slice(1), result: (list) => list.join() });
        db.exec('create table t(x); insert into t values (1), (2), (3)');
        console.log(db.prepare('select sum(twice(x)) s, total(x) l from t').get());
        console.log(db.prepare('select total(x) over (rows between 1 preceding and current row) w from t').all().map(({ w }) => w).join(' '));
      `),
    ).toBe("[Object: null prototype] { s: 12, l: '1,2,3' }\n1 1,2 2,3");
  });

  test('copies databases with SQL', async () => {
    expect(
      await output(`
        db.exec("create table t(x); insert into t values (5); vacuum into '/app/copy.db'");
        const copy = new DatabaseSync('/app/copy.db', { readOnly: true });
        console.log(copy.prepare('select x from t').get().x);
        try { copy.exec('delete from t'); } catch (error) { console.log(error.message); }
      `),
    ).toBe('5\nattempt to write a readonly database');
  });

  test('names an alternative for what is not available', async () => {
    expect(
      await output(`
        for (const call of [() => backup(db, 'copy.db'), () => db.setAuthorizer(null), () => db.createTagStore(), () => db.serialize(),
          () => new DatabaseSync(':memory:', { limits: {} })])
          try { call(); } catch ({ code, message }) { console.log(code, message); }
      `),
    ).toBe(
      [
        "backup is not available in the sandbox. Copy a database with SQL: VACUUM INTO 'copy.db'.",
        'setAuthorizer is not available in the sandbox. Open the database with the option readOnly, or check the text of a statement.',
        'createTagStore is not available in the sandbox. Use prepare, and keep the statement.',
        "serialize is not available in the sandbox. Copy a database with SQL: VACUUM INTO 'copy.db'.",
        'limits is not available in the sandbox. The limits of the sandbox hold.',
      ]
        .map((line) => `ERR_FEATURE_UNAVAILABLE_ON_PLATFORM sqlite.${line}`)
        .join('\n'),
    );
  });

  test('locks files between connections, and shares them with the sqlite3 command', {
    tags: 'full',
  }, async () => {
    expect(
      await output(`
        const [a, b] = [0, 50].map((timeout) => new DatabaseSync('/app/shared.db', { timeout }));
        a.exec('create table t(x); begin immediate; insert into t values (1)');
        try { b.exec('insert into t values (2)'); } catch (error) { console.log(error.message); }
        a.exec('commit');
        b.exec('insert into t values (2)');
        const { execFileSync } = require('child_process');
        console.log(execFileSync('sqlite3', ['shared.db', 'insert into t values (3); select count(*) from t']).toString().trim(),
          a.prepare('select sum(x) s from t').get().s, a.location());
        require('fs').symlinkSync('shared.db', '/app/link.db');
        console.log(new DatabaseSync('link.db').location());
      `),
    ).toBe('database is locked\n3 6 /app/shared.db\n/app/shared.db');
  });

  test.each([
    ['in the home folder', "'/home/user/a.db'", '/home/user/a.db'],
    ['through a link to a folder', "(fs.symlinkSync('.', 'up'), 'up/a.db')", '/home/user/a.db'],
    [
      'through links to links',
      "(fs.mkdirSync('d'), fs.symlinkSync('/app/d/../d', 'e'), fs.symlinkSync('e/..', 'f'), './f/d/../a.db')",
      '/home/user/a.db',
    ],
    ['after a rename', "(fs.renameSync('a.db', 'b.db'), 'b.db')", '/home/user/b.db'],
  ])('locks a file under another name: %s', { tags: 'full' }, async (_, other, location) => {
    const { stdout } = await execute(
      `const fs = require('fs');
      const a = new DatabaseSync('/app/a.db');
      a.exec('create table t(x)');
      const b = new DatabaseSync(${other});
      const unrelated = new DatabaseSync('/app/unrelated.db');
      a.exec('begin immediate; insert into t values (1)');
      try { b.exec('insert into t values (2)'); } catch (error) { console.log(error.message); }
      unrelated.exec('create table t(x)');
      a.exec('commit');
      b.exec('insert into t values (3)');
      console.log(b.location(), a.prepare('select group_concat(x) x from t').get().x);`,
      { home: '/home/user' },
    );
    expect(stdout.trimEnd()).toBe(`database is locked\n${location} 1,3`);
  });

  test('does not follow links in a circle', async () => {
    expect(
      await output(`
        require('fs').symlinkSync('b', 'a');
        require('fs').symlinkSync('a', 'b');
        for (const name of ['a', 'b/c', 'x/'.repeat(3000)])
          try { new DatabaseSync(name); } catch (error) { console.log(error.message); }
      `),
    ).toBe(Array(3).fill('unable to open database file').join('\n'));
  });
});

describe('an open database of a session', () => {
  const value = async (session: Session, code = 'console.log(all.all().map(({ x }) => x).join())') =>
    (await session.execute(code)).stdout.trim();
  const SETUP = `${OPEN}db.exec('create table t(x)'); const all = db.prepare('select x from t'); db.function('twice', (x) => x * 2);
    const file = new DatabaseSync('/app/data.db'); file.exec('create table f(x); begin; insert into f values (1)');`;

  test('survives calls, checkpoints, forks, rollbacks and failed calls, with the same fuel', async () => {
    await using session = await createSandbox({ runtime: 'javascript', auto_persist_globals: true });
    await session.execute(SETUP);
    await session.execute('db.exec("insert into t values (twice(2))")');
    await session.checkpoint('four');
    await using fork = await session.fork();
    const add = (to: Session) => to.execute("db.exec('insert into t values (twice(3))')");
    const fuel = [await add(session), await add(fork)];
    await session.rollback('four');
    expect(await value(session)).toBe('4');
    await session.rollback('four');
    fuel.push(await add(session));
    expect(new Set(fuel.map(({ fuel_consumed }) => fuel_consumed)).size).toBe(1);
    expect([await value(session), await value(fork)]).toEqual(['4,6', '4,6']);
    const failed = await session.execute(
      `db.exec("insert into t values (9)"); db.exec("${COUNT_FOREVER} select count(*) from c")`,
      {
        fuel_budget: 100_000_000,
      },
    );
    expect(failed.metadata.trap_reason).toBe('out_of_fuel');
    expect(
      await value(session, "file.exec('commit'); console.log(file.prepare('select x from f').get().x)"),
    ).toBe('1');
  });

  test('continues in another process', { tags: 'full' }, async () => {
    const folder = folderOfTest();
    {
      await using sessions = openSessions({ store: diskStore(folder) });
      const session = await sessions.create({
        runtime: 'javascript',
        session_id: 'db',
        auto_persist_globals: true,
      });
      await session.execute(`${SETUP} db.exec('insert into t values (5)');`);
    }
    const program = `
      import { diskStore, openSessions } from 'llm-wasm-sandbox';
      const sessions = openSessions({ store: diskStore(${JSON.stringify(folder)}) });
      const session = await sessions.create({ runtime: 'javascript', session_id: 'db' });
      const { stdout, stderr } = await session.execute("db.exec('insert into t values (twice(5))'); file.exec('commit'); console.log(all.all().length, file.prepare('select x from f').get().x)");
      process.stdout.write(stdout + stderr);
      await sessions.close();`;
    const child = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      encoding: 'utf8',
      cwd: new URL('../..', import.meta.url),
    });
    expect(child.stdout).toBe('2 1\n');
  });

  test('is the same in equal deterministic sandboxes', async () => {
    const code = `${OPEN}console.log(db.prepare("select hex(randomblob(8)) r, datetime('now') d").get())`;
    const results = await Promise.all(
      [1, 2].map(async () => {
        await using sandbox = await createSandbox({
          runtime: 'javascript',
          policy: { deterministic: { seed: 3 } },
        });
        const { stdout, fuel_consumed } = await sandbox.execute(code);
        return { stdout, fuel_consumed };
      }),
    );
    expect(results[0]).toEqual(results[1]);
    expect(results[0]!.stdout).toMatch(/r: '[0-9A-F]{16}'/);
  });
});

describe('the limits of a call', () => {
  // guarantee: fuel-limit
  test('end a statement that does not end, which the program cannot catch', async () => {
    const code = `for (;;) try { db.exec("${COUNT_FOREVER} select count(*) from c"); } catch {}`;
    const { metadata, fuel_consumed } = await execute(code, { fuel_budget: 300_000_000 });
    expect(metadata).toMatchObject({ trap_reason: 'out_of_fuel', error: { line: 3 } });
    expect(fuel_consumed).toBeLessThan(400_000_000);
  });

  // guarantee: time-limit
  test('end it after the time limit', async () => {
    const code = `db.exec("${COUNT_FOREVER} select count(*) from c")`;
    const { metadata } = await execute(code, { fuel_budget: 1e15, timeout_seconds: 1 });
    expect(metadata.trap_reason).toBe('timeout');
  });

  // guarantee: memory-limit
  test('hold for databases in memory and values', async () => {
    const { stdout, memory_used_bytes } = await execute(
      `for (const sql of ["select zeroblob(900000000)", "select printf('%.*c', 900000000, 'x')", "create table t as ${COUNT_FOREVER} select randomblob(1000000) from c"])
        try { db.prepare(sql).all(); } catch ({ errcode }) { console.log(errcode); }
       console.log(db.prepare('select 1 n').get().n);`,
      { memory_bytes: 64 * 2 ** 20, fuel_budget: 2e10 },
    );
    expect(stdout).toBe('7\n7\n7\n1\n');
    expect(memory_used_bytes).toBeLessThanOrEqual(64 * 2 ** 20);
  });

  // guarantee: workspace-limit
  test('hold for database files', async () => {
    const { stdout } = await execute(
      `const file = new DatabaseSync('/app/q.db');
       try { file.exec("create table t as ${COUNT_FOREVER} select randomblob(1000000) from c"); } catch ({ errcode }) { console.log(errcode); }
       console.log(file.prepare('select count(*) n from sqlite_schema').get().n);`,
      { workspace_max_bytes: 3_000_000, fuel_budget: 2e10 },
    );
    expect(stdout).toBe('13\n0\n');
  });
});

describe('hostile callbacks', () => {
  const CASES: Record<string, [code: string, printed: string]> = {
    'that close the database': [
      `db.function('f', () => db.close()); try { db.prepare('select f()').get(); } catch ({ message }) { console.log(message); }`,
      'database cannot be closed while in a callback',
    ],
    'that run their statement again': [
      `let s; db.function('f', () => s.get()); s = db.prepare('select f()'); try { s.get(); } catch ({ message }) { console.log(message); }`,
      'statement is already being executed',
    ],
    'that release their statement': [
      `let s; db.function('f', () => s.close()); s = db.prepare('select f()'); try { s.get(); } catch ({ message }) { console.log(message); }`,
      'statement is already being executed',
    ],
    'that recurse': [
      `db.function('f', () => db.prepare('select f()').get()); try { db.prepare('select f()').get(); } catch ({ name }) { console.log(name); } console.log(db.prepare('select 1 n').get().n);`,
      'RangeError\n1',
    ],
    'that throw in the middle of a group': [
      `db.aggregate('g', { start: () => ({}), step: (s, x) => { if (x === 2) throw new TypeError('mine'); return s; }, result: () => console.log('never') });
       try { db.prepare('select g(x) from (select 1 x union select 2)').get(); } catch ({ name, message }) { console.log(name, message); }`,
      'TypeError mine',
    ],
    'that replace themselves and release garbage': [
      `db.function('f', () => { for (let i = 0; i < 100; i++) db.prepare('select ' + i); std.gc(); try { db.function('f', () => 2); } catch ({ message }) { console.log(message); } return 1; });
       console.log(db.prepare('select f() v').get().v);`,
      'unable to delete/modify user-function due to active statements\n1',
    ],
    'that bind values while they are read': [
      `const s = db.prepare('select $a, $b'); const values = { get a() { try { s.get({}); } catch ({ message }) { console.log(message); } return 1; }, b: 2 }; console.log(Object.values(s.get(values)).join());`,
      'statement is already being executed\n1,2',
    ],
    'that detach a buffer': [
      `const bytes = new Uint8Array(8); bytes.buffer.transfer(); console.log(db.prepare('select length(?) n').get(bytes).n);`,
      '0',
    ],
    'that outlive their database': [
      `const rows = (() => new DatabaseSync(':memory:').prepare('select 1 x union select 2').iterate())(); std.gc(); console.log([...rows].length);`,
      '2',
    ],
    'that close descriptors': [
      `const f = new DatabaseSync('/app/f.db'); f.exec('create table t(x)'); for (let fd = 3; fd < 20; fd++) try { require('fs').closeSync(fd); } catch {} try { f.exec('insert into t values (1)'); } catch ({ code }) { console.log(code); }`,
      'ERR_SQLITE_ERROR',
    ],
  };

  // guarantee: native-libraries
  // proves: Functions and getters of a program that close, replace, re-enter or outlive a database of node:sqlite get an error or a result; they cannot corrupt the memory of the guest.
  test.each(Object.entries(CASES))('%s', async (_, [code, printed]) => {
    const { stdout, metadata } = await execute(code, {});
    expect([metadata.trap_reason, stdout.trimEnd()]).toEqual([null, printed]);
  });

  test('can run the most complex SQL at the end of the stack, and get an error for SQL that is too complex', async () => {
    const { stdout, metadata } = await execute(
      `const sum = (n) => 'select 1' + '+1'.repeat(n) + ' v';
       const deepest = () => { try { return deepest(); } catch { return db.prepare(sum(990)).get().v; } };
       console.log(deepest());
       for (const sql of [sum(1000), 'select ' + '('.repeat(100000) + '1' + ')'.repeat(100000)])
         try { db.exec(sql); } catch ({ message }) { console.log(message); }`,
      {},
    );
    expect(metadata.trap_reason).toBeNull();
    expect(stdout).toBe('991\nExpression tree is too large (maximum depth 1000)\nRecursion limit\n');
  });
});
