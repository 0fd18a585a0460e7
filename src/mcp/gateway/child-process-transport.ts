/**
 * MCP over the standard input and output of a child process. The process gets only the configured environment; the
 * transport of the SDK would add variables of this process. What the process sends is limited, and so is what it leaves unread.
 */
import type { ChildProcess } from 'node:child_process';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { nextTurn } from '../../concurrency/slices.ts';
import { startProgram } from '../../host/start-program.ts';
import { formatBytes } from '../../quantities.ts';
import { MessageLines, type ServerTraffic, TrafficError } from './server-traffic.ts';

const KILL_AFTER_MS = 1000;
/** After so many messages, other work gets a turn. */
const MESSAGES_PER_TURN = 16;
/** Limit on messages to the process that it has not read. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024;
/** The folders that contain programs on most systems. */
const MINIMAL_PATH =
  process.platform === 'win32' ? (process.env['PATH'] ?? '') : '/usr/local/bin:/usr/bin:/bin';

interface ChildProcessOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
}

/** The package is passed in, because bundles load what a module imports even when the module is loaded on demand. */
type Sdk = Pick<typeof import('@modelcontextprotocol/client'), 'deserializeMessage' | 'serializeMessage'>;

export class ChildProcessTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  #child: ChildProcess | undefined;

  constructor(
    readonly options: ChildProcessOptions,
    readonly sdk: Sdk,
    readonly traffic: ServerTraffic,
  ) {}

  async start(): Promise<void> {
    const { command, args, env, cwd } = this.options;
    // Starting a process takes the main thread several milliseconds, and all servers are connected at the same time.
    await nextTurn();
    const child = startProgram(command, args, {
      env: { PATH: MINIMAL_PATH, ...env },
      cwd,
      // Logs of the server are untrusted and are not mixed with those of this process.
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    this.#child = child;
    const received = this.#receive(child.stdout!);
    child.stdin!.on('error', (error: Error) => this.onerror?.(error));
    child.on('close', async () => {
      await received;
      if (this.#child === undefined) return;
      this.#child = undefined;
      this.onclose?.();
    });
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', (error) => {
        reject(error);
        this.onerror?.(error);
      });
    });
  }

  /** Reads messages until the process closes its output. The process waits while messages are handled. */
  async #receive(output: AsyncIterable<Buffer>): Promise<void> {
    const reader = new MessageLines(this.traffic);
    let count = 0;
    try {
      for await (const chunk of output) {
        await nextTurn();
        for (const line of reader.read(chunk)) {
          if (++count % MESSAGES_PER_TURN === 0) await nextTurn();
          if (this.#child === undefined) return;
          this.onmessage?.(this.sdk.deserializeMessage(line));
        }
      }
    } catch (error) {
      // After a message that is too large or malformed, nothing else from the process is read.
      if (this.#child === undefined) return;
      this.onerror?.(error as Error);
      void this.#end('SIGKILL');
    }
  }

  send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if ('id' in message && 'method' in message) this.traffic.expectAnswer();
    if (stdin != null && stdin.writableLength > MAX_UNREAD_BYTES) {
      const limit = formatBytes(MAX_UNREAD_BYTES);
      this.onerror?.(new TrafficError(`it has not read ${limit} of messages`));
      void this.#end('SIGKILL');
    }
    return new Promise((resolve, reject) => {
      if (stdin == null || !stdin.writable) reject(new Error('The server process has exited.'));
      else stdin.write(this.sdk.serializeMessage(message), (error) => (error ? reject(error) : resolve()));
    });
  }

  /**
   * Closes the input of the process and sends SIGTERM, then SIGKILL if the process does not exit. Calls fail immediately.
   * Does not wait for processes that it has started and that keep its output open.
   */
  close(): Promise<void> {
    return this.#end('SIGTERM');
  }

  async #end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    this.#child = undefined;
    this.onclose?.();
    const hasEnded = child.exitCode !== null || child.signalCode !== null;
    const ended = hasEnded ? undefined : new Promise((resolve) => child.once('exit', resolve));
    child.stdin?.end();
    child.kill(signal);
    const timer = setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS);
    await ended;
    clearTimeout(timer);
    child.stdin?.destroy();
    child.stdout?.destroy();
  }
}
