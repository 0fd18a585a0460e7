/**
 * Jobs in a PostgreSQL database: submitting, workers, retries after host failures, and the command line.
 *
 * @module-tag full
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  type JobEvent,
  type JobWorkerOptions,
  openJobQueue,
  runJobWorker,
  type SubmittedJob,
} from 'llm-wasm-sandbox';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { installPinned } from '../../scripts/install-pinned-packages.mjs';
import { CLI, runCli } from '../support/cli.ts';
import { newDatabase } from '../support/shared-postgres.ts';

let connectionString: string;
let database: pg.Client;
beforeAll(async () => {
  connectionString = await newDatabase();
  database = new pg.Client({ connectionString });
  await database.connect();
});
const children = new Set<ChildProcess>();
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await database.end();
});

const connection = () => ({ connectionString });

/** A worker in a process of its own. */
function spawnWorker(flags: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const store = { LLM_WASM_SANDBOX_STORE: connectionString };
  const worker = spawn(process.execPath, [CLI, 'worker', ...flags], {
    env: { ...process.env, ...store, ...env },
  });
  children.add(worker);
  worker.once('exit', () => children.delete(worker));
  return worker;
}

/** Runs a worker until `work` has ended. Returns the events of the worker. */
async function withWorker(
  options: Partial<JobWorkerOptions>,
  work: (stop: () => void) => Promise<void>,
): Promise<JobEvent[]> {
  const events: JobEvent[] = [];
  const stopping = new AbortController();
  const onJob = (event: JobEvent) => events.push(event);
  const ended = runJobWorker({ ...connection(), ...options, signal: stopping.signal, onJob });
  try {
    await work(() => stopping.abort());
  } finally {
    stopping.abort();
    await ended;
  }
  return events;
}

async function collect(results: AsyncIterable<SubmittedJob>): Promise<SubmittedJob[]> {
  const all: SubmittedJob[] = [];
  for await (const result of results) all.push(result);
  return all;
}

describe('jobs', () => {
  test('return the results of programs and are not retried if a program fails', async () => {
    await using queue = await openJobQueue({ ...connection(), tenant: 'a' });
    await expect(queue.submitMany([{ code: '1' }, { code: 2 } as never])).rejects.toThrow('programs[1]');
    await expect(openJobQueue({ connectionString: 'postgres://u:p#w@host/db' })).rejects.toThrow(
      'options.connectionString: must be a valid URL, with special characters percent-encoded',
    );
    const ids = await queue.submitMany([
      { id: 'text', code: 'print("\\0 \\ud800", file=__import__("sys").stderr); print(6 * 7)' },
      { code: '1 / 0' },
      { code: 'while True: pass', fuel_budget: 20_000_000 },
      { code: 'console.log(1)', language: 'javascript' },
      { code: '1', files: { '../x': '' } },
    ]);
    expect(await queue.result(ids[0]!)).toEqual({ job_id: ids[0], state: 'queued', attempts: 0 });
    let results: SubmittedJob[] = [];
    const events = await withWorker({}, async () => {
      results = await collect(queue.results(ids));
    });
    expect(results).toMatchObject([
      { id: 'text', state: 'completed', result: { stdout: '42\n', stderr: expect.stringContaining('\0') } },
      { state: 'completed', result: { success: false, metadata: { error: { type: 'ZeroDivisionError' } } } },
      { state: 'completed', result: { metadata: { trap_reason: 'out_of_fuel' } } },
      { state: 'completed', result: { stdout: '1\n' } },
      { state: 'completed', error: { code: 'invalid_path' } },
    ]);
    expect(results.map(({ attempts }) => attempts)).toEqual([1, 1, 1, 1, 1]);
    expect(events).toHaveLength(5);
    await using other = await openJobQueue({ ...connection(), tenant: 'b' });
    expect(await other.result(ids[0]!)).toBeUndefined();
  });

  test('with a higher priority run first, and tenants take turns', async () => {
    await using first = await openJobQueue({ ...connection(), tenant: 'c' });
    await using second = await openJobQueue({ ...connection(), tenant: 'd' });
    const low = await first.submitMany([{ code: '1' }, { code: '2' }]);
    const high = await first.submit({ code: '3' }, { priority: 5 });
    const other = await second.submitMany([{ code: '4' }, { code: '5' }]);
    const events = await withWorker({ jobs: 1 }, async () => {
      await collect(first.results([...low, high]));
      await collect(second.results(other));
    });
    const order = (tenant: string) =>
      events.filter((event) => event.tenant === tenant).map(({ job_id }) => job_id);
    expect(order('c')).toEqual([high, ...low]);
    expect(order('d')).toEqual(other);
    const [one, two] = events.map(({ tenant }) => tenant);
    expect(new Set([one, two])).toEqual(new Set(['c', 'd']));
  });

  test('of one tenant run one at a time if tenantJobs is 1', async () => {
    await using queue = await openJobQueue({ ...connection(), tenant: 'e' });
    const ids = await queue.submitMany(Array.from({ length: 4 }, (_, i) => ({ code: `print(${i})` })));
    await withWorker({ jobs: 2, tenantJobs: 1 }, () =>
      withWorker({ jobs: 2, tenantJobs: 1 }, async () => {
        await collect(queue.results(ids));
      }).then(() => {}),
    );
    const { rows } = await database.query(
      'SELECT started_on, completed_on FROM llm_wasm_sandbox_jobs.job WHERE id = ANY($1) ORDER BY started_on',
      [ids],
    );
    expect(rows).toHaveLength(4);
    for (const [i, { started_on }] of rows.entries())
      if (i > 0) expect(started_on >= rows[i - 1].completed_on).toBe(true);
  });

  test('are retried when their worker is killed or suspended, and have one result', async () => {
    await using queue = await openJobQueue({ ...connection(), tenant: 'f' });
    const program = { code: 'import time; time.sleep(1); print("done")', timeout_seconds: 5 };
    const ids = await queue.submitMany([program, program]);
    const states = () => Promise.all(ids.map(async (id) => (await queue.result(id))?.state));
    const [killed, suspended] = [spawnWorker(['--jobs', '1']), spawnWorker(['--jobs', '1'])];
    let stderr = '';
    suspended.stderr.on('data', (text) => {
      stderr += text;
    });
    await expect.poll(states, { timeout: 60_000 }).toEqual(['running', 'running']);
    suspended.kill('SIGSTOP');
    killed.kill('SIGKILL');
    await once(killed, 'exit');
    // The leases expire.
    await database.query(
      "UPDATE llm_wasm_sandbox_jobs.job SET started_on = started_on - interval '1 hour' WHERE id = ANY($1)",
      [ids],
    );
    let results: SubmittedJob[] = [];
    const events = await withWorker({ jobs: 2, maintenanceSeconds: 1 }, async () => {
      results = await collect(queue.results(ids));
    });
    const completed = { state: 'completed', attempts: 2, result: { stdout: 'done\n' } };
    expect(results).toMatchObject([completed, completed]);
    expect(events.map(({ outcome }) => outcome)).toEqual(['completed', 'completed']);
    suspended.kill('SIGCONT');
    suspended.kill('SIGTERM');
    expect(await once(suspended, 'exit')).toEqual([0, null]);
    expect(stderr).toContain('Jobs: 0 completed, 0 to be retried, 1 discarded.');
    expect(await collect(queue.results(ids))).toEqual(results);
  });

  test('are fetched again after an error of the database, and their slot is free', async () => {
    await using queue = await openJobQueue({ ...connection(), tenant: 'h' });
    const id = await queue.submit({ code: 'print(1)' });
    // Sequences are not rolled back, so the test sees that a fetch has failed.
    await database.query(`
      CREATE SEQUENCE failed_fetches;
      CREATE FUNCTION fail_fetch() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM nextval('public.failed_fetches'); RAISE EXCEPTION 'broken'; END $$;
      CREATE TRIGGER fail_fetch BEFORE UPDATE ON llm_wasm_sandbox_jobs.job
        FOR EACH ROW WHEN (NEW.state = 'active') EXECUTE FUNCTION fail_fetch()`);
    const hasFailed = async () =>
      (await database.query('SELECT is_called FROM failed_fetches')).rows[0].is_called as boolean;
    let results: SubmittedJob[] = [];
    await withWorker({ tenantJobs: 1 }, async () => {
      await expect.poll(hasFailed, { timeout: 60_000 }).toBe(true);
      await database.query('DROP FUNCTION fail_fetch CASCADE');
      results = await collect(queue.results([id]));
    });
    expect(results).toMatchObject([{ state: 'completed', result: { stdout: '1\n' } }]);
  });

  test('that the host repeatedly fails to run become dead letters', async () => {
    await using queue = await openJobQueue({ ...connection(), tenant: 'g' });
    const id = await queue.submit({ code: 'import time; time.sleep(60)', timeout_seconds: 100 });
    await database.query('UPDATE llm_wasm_sandbox_jobs.job SET retry_limit = 0 WHERE id = $1', [id]);
    const state = async () => (await queue.result(id))?.state;
    await withWorker({ shutdownSeconds: 0, maintenanceSeconds: 1 }, async () => {
      await expect.poll(state, { timeout: 60_000 }).toBe('running');
      await database.query("UPDATE llm_wasm_sandbox_jobs.job SET expire_in = '0' WHERE id = $1", [id]);
      await expect.poll(state, { timeout: 60_000 }).toBe('failed');
    });
    // The worker that was stopped does not return a job that it has lost.
    expect(await queue.result(id)).toMatchObject({
      state: 'failed',
      attempts: 1,
      error: { code: 'internal' },
    });
    const { rows } = await database.query(
      "SELECT data->>'tenant' AS tenant FROM llm_wasm_sandbox_jobs.job WHERE name = 'dead-letters'",
    );
    expect(rows).toEqual([{ tenant: 'g' }]);
  });

  test('return to the queue when their worker is stopped, without using up an attempt', async () => {
    await using queue = await openJobQueue({ ...connection(), tenant: 'i' });
    const id = await queue.submit({ code: 'import time; time.sleep(60)', timeout_seconds: 100 });
    await database.query('UPDATE llm_wasm_sandbox_jobs.job SET retry_limit = 0 WHERE id = $1', [id]);
    for (let stops = 0; stops < 2; stops++) {
      const events = await withWorker({ shutdownSeconds: 0 }, async (stop) => {
        await expect.poll(async () => (await queue.result(id))?.state, { timeout: 60_000 }).toBe('running');
        expect((await queue.result(id))?.attempts).toBe(1);
        stop();
      });
      expect(events).toMatchObject([{ job_id: id, outcome: 'returned' }]);
      expect(await queue.result(id)).toEqual({ job_id: id, state: 'queued', attempts: 0 });
    }
    await database.query('DELETE FROM llm_wasm_sandbox_jobs.job WHERE id = $1', [id]);
  });

  test('cannot request more than the maximums of a worker without limits', async () => {
    await using queue = await openJobQueue({ ...connection(), tenant: 'j' });
    const id = await queue.submit({ code: '1', fuel_budget: 2e15, timeout_seconds: 5000 });
    let results: SubmittedJob[] = [];
    await withWorker({}, async () => {
      results = await collect(queue.results([id]));
    });
    const { metadata } = results[0]!.result!;
    expect(metadata.fuel_analysis).toMatchObject({ budget: 1_000_000_000_000 });
  });
});

/** Makes processes import another version of pg-boss. */
function withPgBoss(folder: string) {
  const url = pathToFileURL(join(folder, 'node_modules/pg-boss/dist/index.js')).href;
  const inUrl = (code: string) => `data:text/javascript,${encodeURIComponent(code)}`;
  const hook = `export const resolve = (name, context, next) =>
    name === 'pg-boss' ? { url: '${url}', shortCircuit: true } : next(name, context);`;
  const register = `import { register } from 'node:module'; register('${inUrl(hook).replaceAll("'", '%27')}');`;
  return { NODE_OPTIONS: `--import ${inUrl(register)}` };
}

describe.each(['10', '12.30.0'])('command line with pg-boss %s', (version) => {
  test('submits the programs of a file, waits for a worker and prints the results', async ({ skip }) => {
    const env: Record<string, string> = { LLM_WASM_SANDBOX_STORE: connectionString };
    if (version !== '10') {
      env['LLM_WASM_SANDBOX_STORE'] = await newDatabase();
      try {
        Object.assign(env, withPgBoss(installPinned('pg-boss', [`pg-boss@${version}`])));
      } catch (cause) {
        skip((cause as Error).message);
      }
    }
    const lines = [{ code: 'print(1)' }, { code: 'print(2)', id: 'two' }].map((one) => JSON.stringify(one));
    const submitted = await runCli(['batch', 'submit', '--tenant', 'h'], {
      env,
      input: `${lines.join('\n')}\nnot JSON`,
    });
    expect(submitted).toMatchObject({ status: 1, stderr: 'Submitted 2 jobs.\n' });
    const printed = submitted.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(printed).toMatchObject([
      { index: 0 },
      { index: 1 },
      { index: 2, error: { code: 'invalid_argument' } },
    ]);
    const worker = spawnWorker(['--shutdown-seconds', '20'], env);
    let stderr = '';
    worker.stderr.on('data', (text) => {
      stderr += text;
    });
    const ids = [printed[0].job_id, printed[1].job_id];
    const { stdout } = await runCli(['batch', 'result', '--watch', '--tenant', 'h', ...ids], { env });
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toMatchObject([
      { job_id: ids[0], state: 'completed', result: { stdout: '1\n' } },
      { job_id: ids[1], id: 'two', result: { stdout: '2\n' } },
    ]);
    worker.kill('SIGTERM');
    expect(await once(worker, 'exit')).toEqual([0, null]);
    expect(stderr).toBe('llm-wasm-sandbox: waiting for jobs\nJobs: 2 completed, 0 to be retried.\n');
    // Each major version of pg-boss has its own version of the tables.
    const client = new pg.Client({ connectionString: env['LLM_WASM_SANDBOX_STORE'] });
    await client.connect();
    const { rows } = await client.query('SELECT version FROM llm_wasm_sandbox_jobs.version');
    await client.end();
    expect(rows[0].version > 25).toBe(version !== '10');
  });
});

describe('command line', () => {
  test('does not wait for jobs if the database cannot be reached', async () => {
    const { status, stderr } = await runCli(['worker', '--store', 'postgres://postgres@127.0.0.1:1/none']);
    expect([status, stderr]).toEqual([69, expect.not.stringContaining('waiting for jobs')]);
  });

  test('says that jobs need a database', async () => {
    for (const args of [['worker'], ['batch', 'submit']]) {
      const { status, stderr } = await runCli([...args, '--store', '/tmp/folder']);
      expect([status, stderr]).toEqual([2, expect.stringContaining('Jobs are stored in PostgreSQL')]);
    }
  });
});
