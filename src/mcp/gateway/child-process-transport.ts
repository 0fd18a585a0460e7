/**
 * MCP over the standard input and output of a child process. The process gets only the configured environment; the
 * transport of the SDK would add variables of this process. The size of messages is limited.
 */
import type { ChildProcess } from 'node:child_process';
import type { JSONRPCMessage, ReadBuffer, Transport } from '@modelcontextprotocol/client';
import { startProgram } from '../../host/start-program.ts';
import { MAX_MESSAGE_BYTES } from './message-limit.ts';

const KILL_AFTER_MS = 2000;
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
type Sdk = Pick<typeof import('@modelcontextprotocol/client'), 'ReadBuffer' | 'serializeMessage'>;

export class ChildProcessTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #buffer: ReadBuffer;
  #child: ChildProcess | undefined;

  constructor(
    readonly options: ChildProcessOptions,
    readonly sdk: Sdk,
  ) {
    this.#buffer = new sdk.ReadBuffer({ maxBufferSize: MAX_MESSAGE_BYTES });
  }

  async start(): Promise<void> {
    const { command, args, env, cwd } = this.options;
    const child = startProgram(command, args, {
      env: { PATH: MINIMAL_PATH, ...env },
      cwd,
      // Logs of the server are untrusted and are not mixed with those of this process.
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    this.#child = child;
    child.stdout!.on('data', (chunk: Buffer) => this.#receive(chunk));
    for (const stream of [child.stdin!, child.stdout!])
      stream.on('error', (error: Error) => this.onerror?.(error));
    child.on('close', () => {
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

  #receive(chunk: Buffer): void {
    try {
      this.#buffer.append(chunk);
      for (let message = this.#buffer.readMessage(); message !== null; message = this.#buffer.readMessage())
        this.onmessage?.(message);
    } catch (error) {
      // After a message that is too large or malformed, the rest of the stream cannot be parsed.
      this.onerror?.(error as Error);
      void this.close();
    }
  }

  send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    return new Promise((resolve, reject) => {
      if (stdin == null || !stdin.writable) reject(new Error('The server process has exited.'));
      else stdin.write(this.sdk.serializeMessage(message), (error) => (error ? reject(error) : resolve()));
    });
  }

  /**
   * Closes the input of the process and sends SIGTERM, then SIGKILL if the process does not exit. Does not wait for
   * processes that it has started and that keep its output open.
   */
  async close(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    this.#child = undefined;
    const hasEnded = child.exitCode !== null || child.signalCode !== null;
    const ended = hasEnded ? undefined : new Promise((resolve) => child.once('exit', resolve));
    child.stdin?.end();
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS);
    await ended;
    clearTimeout(timer);
    child.stdin?.destroy();
    child.stdout?.destroy();
  }
}
