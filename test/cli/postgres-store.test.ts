/**
 * Sessions of the command line in a PostgreSQL database.
 *
 * @module-tag full
 */
import { expect, it } from 'vitest';
import { runCli } from '../support/cli.ts';
import { newDatabase } from '../support/shared-postgres.ts';

it('the command line stores sessions in a database, continues them in another process and shows no password', async () => {
  const database = await newDatabase();
  const store = database.replace('postgres@', 'postgres:secret-password@');
  const shared = { LLM_WASM_SANDBOX_STORE: store };
  await runCli(['run', '--session', 'shared', '-c', 'x = 41', '--store', store]);
  expect((await runCli(['run', '--session', 'shared', '-c', 'print(x + 1)'], { env: shared })).stdout).toBe(
    '42\n',
  );
  const shown = await runCli(['session', 'show', 'shared', '--store', store]);
  expect(shown.stdout).toContain(`in ${database}`);
  const onDemand = ['run', '--session', 'shared', '--packages', 'auto', '-c', '1'];
  expect(await runCli(onDemand, { env: shared })).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('--packages auto cannot be combined with a session in a database'),
  });
  const missing = await runCli(['session', 'show', 'absent', '--store', store]);
  expect(missing.status).toBe(69);
  for (const { stdout, stderr } of [shown, missing]) expect(stdout + stderr).not.toContain('secret');
});

it('the command line says what to check if the database cannot be reached', async () => {
  const unreachable = 'postgres://postgres:secret-password@127.0.0.1:1/none';
  const { status, stderr } = await runCli(['session', 'list', '--store', unreachable]);
  expect(status).toBe(69);
  expect(stderr).toContain('Check that the database is running');
  expect(stderr).not.toContain('secret');
});
