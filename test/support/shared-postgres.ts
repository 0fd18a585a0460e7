/**
 * One PostgreSQL server for all test files, each of which gets a database of its own. The process of the test runner starts
 * the server when a file first asks for a database, and ends it after the tests. Tests that restart or end a server start
 * their own.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import pg from 'pg';
import { PostgresServer } from './postgres.ts';

/** Where the process of the test runner creates databases. */
const ADDRESS = 'TEST_DATABASES';

/** For `globalSetup` of a project. All projects share the server of the first. */
export default async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (process.env[ADDRESS] !== undefined) return undefined;
  let started: Promise<PostgresServer> | undefined;
  let databases = 0;
  const create = async (): Promise<string> => {
    started ??= PostgresServer.start();
    const { connectionString } = await started;
    const name = `test_${++databases}`;
    const client = new pg.Client({ connectionString });
    await client.connect();
    await client.query(`CREATE DATABASE ${name}`);
    await client.end();
    return connectionString.replace(/postgres$/, name);
  };
  const server = createServer((_, response) => {
    create().then(
      (found) => response.end(found),
      (cause) => response.writeHead(500).end(String(cause)),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  process.env[ADDRESS] = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return async () => {
    server.close();
    await (await started?.catch(() => undefined))?.stop();
  };
}

/** The address of a new, empty database. */
export async function newDatabase(): Promise<string> {
  const response = await fetch(process.env[ADDRESS]!);
  const found = await response.text();
  if (!response.ok) throw new Error(found);
  return found;
}
