/**
 * Starts programs that this process talks to, such as MCP servers, from a small process of its own. A process that starts
 * another one stands still while its page tables are copied, which takes tens of milliseconds if it holds much memory.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Duplex } from 'node:stream';
import { locateProgram, programEnvironment, type StartOptions, startProgram } from './start-program.ts';

export interface StartedProgram {
  /** Writes to the standard input of the program and reads its standard output. */
  readonly stdio: Duplex;
  /** How the program ended, when it has. */
  readonly exited: Promise<string>;
  /** Does nothing if the program has exited. */
  kill(signal: NodeJS.Signals): void;
}

type ProgramOptions = Pick<StartOptions, 'env' | 'cwd'>;

interface StartOrder extends ProgramOptions {
  readonly id: number;
  readonly file: string;
  readonly args: readonly string[];
  /** The address of the socket that becomes the standard input and output of the program. */
  readonly address: string;
}
interface KillOrder {
  readonly id: number;
  readonly signal: NodeJS.Signals;
}
interface ProgramReport {
  readonly id: number;
  readonly event: 'started' | 'failed' | 'exited';
  readonly reason?: string;
}

/** Runs in the small process, which gets the source of this function, so it refers to nothing outside of itself. */
function runStarter(): void {
  const { spawn } = process.getBuiltinModule('node:child_process');
  const { connect } = process.getBuiltinModule('node:net');
  const { getPriority, setPriority } = process.getBuiltinModule('node:os');
  // The programs inherit it, so the process that answers clients gets a core before them. A system call filter may forbid it.
  try {
    setPriority(Math.min(19, getPriority() + 5));
  } catch {}
  const children = new Map<number, ChildProcess>();
  const report = (message: ProgramReport) => process.connected && process.send!(message);
  const start = ({ id, file, args, cwd, env, address }: StartOrder) => {
    const socket = connect(address);
    // What arrives is for the program.
    socket.pause();
    socket.on('error', ({ message }) => report({ id, event: 'failed', reason: message }));
    socket.on('connect', () => {
      const child = spawn(file, [...args], { cwd, env, stdio: [socket, socket, 'ignore'] });
      socket.destroy();
      children.set(id, child);
      child.once('spawn', () => report({ id, event: 'started' }));
      child.once('error', ({ message }) => report({ id, event: 'failed', reason: message }));
      child.once('exit', (code, signal) => {
        children.delete(id);
        report({
          id,
          event: 'exited',
          reason: signal ? `it was ended by ${signal}` : `it exited with code ${code}`,
        });
      });
    });
  };
  process.on('message', (order: StartOrder | KillOrder) => {
    if ('signal' in order) children.get(order.id)?.kill(order.signal);
    else start(order);
  });
  process.on('disconnect', () => process.exit());
  // A terminal sends its signals to all processes; the parent decides when this one ends.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
}

/** Longest address of a socket on all systems. */
const MAX_ADDRESS_CHARS = 100;

/** Waits at a new address for one connection. */
async function awaitConnection(): Promise<{ address: string; socket: Promise<Socket>; close(): void }> {
  const prefix = join(resolve(tmpdir()), 'llm-wasm-sandbox-');
  const folder = mkdtempSync(prefix.length < MAX_ADDRESS_CHARS - 10 ? prefix : '/tmp/llm-wasm-sandbox-');
  const address = join(folder, 's');
  const server = createServer({ pauseOnConnect: true });
  const socket = once(server, 'connection').then(([connection]) => connection as Socket);
  socket.catch(() => {});
  const close = () => {
    server.close();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await once(server.listen(address), 'listening');
  } catch (cause) {
    close();
    throw cause;
  }
  return { address, socket, close };
}

interface RunningProgram {
  readonly onStart: () => void;
  /** Called when the program could not be started or has exited. */
  readonly onEnd: (reason: string) => void;
}

export class ProgramStarter {
  #process: ChildProcess | undefined;
  #lastId = 0;
  readonly #programs = new Map<number, RunningProgram>();

  /** Rejects if the program cannot be started. */
  start(name: string, args: readonly string[], options: ProgramOptions): Promise<StartedProgram> {
    // On Windows, a new process copies nothing, and programs cannot use sockets for their input and output.
    return process.platform === 'win32'
      ? startDirectly(name, args, options)
      : this.#start(name, args, options);
  }

  /** Starts the small process, which is best done while this one holds little memory. */
  prepare(): ChildProcess {
    if (this.#process !== undefined) return this.#process;
    const started = startProgram(process.execPath, ['-e', `(${runStarter})()`], {
      env: { ...programEnvironment(), ELECTRON_RUN_AS_NODE: '1' },
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    this.#process = started;
    started.unref();
    started.channel?.unref();
    started.on('message', (report: ProgramReport) => this.#receive(report));
    const end = (reason: string) => {
      if (this.#process === started) this.#process = undefined;
      for (const { onEnd } of this.#programs.values()) onEnd(reason);
    };
    started.on('error', ({ message }) => end(message));
    started.on('exit', () => end('the process that starts programs has ended'));
    return started;
  }

  #receive({ id, event, reason = '' }: ProgramReport): void {
    const program = this.#programs.get(id);
    if (event === 'started') program?.onStart();
    else program?.onEnd(reason);
  }

  async #start(name: string, args: readonly string[], options: ProgramOptions): Promise<StartedProgram> {
    const { file, cwd, remove } = locateProgram(name, options);
    const id = ++this.#lastId;
    let onExit: (reason: string) => void = () => {};
    const exited = new Promise<string>((resolve) => {
      onExit = resolve;
    });
    const started = new Promise<void>((onStart, onFailure) => {
      this.#programs.set(id, {
        onStart,
        onEnd: (reason) => {
          this.#programs.delete(id);
          remove();
          onFailure(new Error(reason));
          onExit(reason);
        },
      });
    });
    const connection = await awaitConnection();
    try {
      const order: StartOrder = { id, file, args, cwd, env: options.env, address: connection.address };
      this.prepare().send(order, (error) => error && this.#programs.get(id)?.onEnd(error.message));
      await started;
      return { stdio: await connection.socket, exited, kill: (signal) => this.#kill({ id, signal }) };
    } finally {
      connection.close();
    }
  }

  #kill(order: KillOrder): void {
    if (this.#programs.has(order.id) && this.#process?.connected) this.#process.send(order, () => {});
  }

  /** Ends the small process. Programs that still run are not killed, and their input ends with this process. */
  close(): void {
    if (this.#process?.connected) this.#process.disconnect();
    this.#process = undefined;
  }
}

async function startDirectly(
  name: string,
  args: readonly string[],
  options: ProgramOptions,
): Promise<StartedProgram> {
  const child = startProgram(name, args, { ...options, stdio: ['pipe', 'pipe', 'ignore'] });
  const exited = new Promise<string>((resolve) =>
    child.once('exit', (code) => resolve(`it exited with code ${code}`)),
  );
  await once(child, 'spawn');
  return {
    stdio: Duplex.from({ readable: child.stdout!, writable: child.stdin! }),
    exited,
    kill: (signal) => child.kill(signal),
  };
}
