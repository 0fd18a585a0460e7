/**
 * MCP over the standard input and output of a child process. The process gets only the configured environment; the
 * transport of the SDK would add variables of this process. What the process sends is limited, and so is what it leaves unread.
 */

import type { ProgramStarter, StartedProgram } from '@llm-wasm-sandbox/core/internal';
import { formatBytes, nextTurn, SLICE_BYTES } from '@llm-wasm-sandbox/core/internal';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
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
  #program: StartedProgram | undefined;
  /** How the program ended; undefined if it was not started. */
  exited: Promise<string> | undefined;
  #isClosed = false;

  constructor(
    readonly options: ChildProcessOptions,
    readonly starter: ProgramStarter,
    readonly sdk: Sdk,
    readonly traffic: ServerTraffic,
  ) {}

  async start(): Promise<void> {
    const { command, args, env, cwd } = this.options;
    // Logs of the server are untrusted and are not mixed with those of this process.
    const program = await this.starter.start(command, args, { env: { PATH: MINIMAL_PATH, ...env }, cwd });
    program.stdio.on('error', (error: Error) => this.onerror?.(error));
    this.#program = program;
    this.exited = program.exited;
    if (this.#isClosed) return this.#end('SIGKILL');
    void this.#receive(program);
  }

  /** Reads messages until the process closes its output. The process waits while messages are handled. */
  async #receive({ stdio }: StartedProgram): Promise<void> {
    const reader = new MessageLines(this.traffic);
    let count = 0;
    try {
      for await (const chunk of stdio) {
        await nextTurn();
        for (const line of reader.read(chunk)) {
          if (++count % MESSAGES_PER_TURN === 0 || line.length > SLICE_BYTES) await nextTurn();
          if (this.#program === undefined) return;
          this.onmessage?.(this.sdk.deserializeMessage(line));
        }
      }
      void this.#end('SIGTERM');
    } catch (error) {
      // After a message that is too large or malformed, nothing else from the process is read.
      if (this.#program === undefined) return;
      this.onerror?.(error as Error);
      void this.#end('SIGKILL');
    }
  }

  send(message: JSONRPCMessage): Promise<void> {
    const stdio = this.#program?.stdio;
    if ('id' in message && 'method' in message) this.traffic.expectAnswer();
    if (stdio !== undefined && stdio.writableLength > MAX_UNREAD_BYTES) {
      const limit = formatBytes(MAX_UNREAD_BYTES);
      this.onerror?.(new TrafficError(`it has not read ${limit} of messages`));
      void this.#end('SIGKILL');
    }
    return new Promise((resolve, reject) => {
      if (stdio === undefined || !stdio.writable) reject(new Error('The server process has exited.'));
      else stdio.write(this.sdk.serializeMessage(message), (error) => (error ? reject(error) : resolve()));
    });
  }

  /**
   * Closes the input of the process and sends SIGTERM, then SIGKILL if the process does not exit. Calls fail immediately.
   * Does not wait for processes that it has started and that keep its output open.
   */
  close(): Promise<void> {
    this.#isClosed = true;
    return this.#end('SIGTERM');
  }

  async #end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const program = this.#program;
    if (program === undefined) return;
    this.#program = undefined;
    this.onclose?.();
    program.stdio.end();
    program.kill(signal);
    const timer = setTimeout(() => program.kill('SIGKILL'), KILL_AFTER_MS);
    await program.exited;
    clearTimeout(timer);
    program.stdio.destroy();
  }
}
