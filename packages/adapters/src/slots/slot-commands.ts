/**
 * Commands of a session for the sandbox slots of frameworks. Each command is a shell of its own: what it changes in its
 * environment ends with it, and only its files stay. Commands run at the same time.
 */

import type { Session } from '@llm-wasm-sandbox/core/internal';
import {
  ProcessInput,
  prepareProcess,
  processEnd,
  SandboxError,
  shellCommand,
} from '@llm-wasm-sandbox/core/internal';
import type { SlotFiles } from './slot-files.ts';

/** Running commands of one sandbox. */
const MAX_PROCESSES = 32;
/** Output that is held until it is read. A command that writes more waits, as for a pipe. */
const MAX_UNREAD_BYTES = 1024 * 1024;
const FIRST_PID = 1000;

export interface CommandOptions {
  /** Default: the workspace. */
  readonly cwd?: string | undefined;
  /** Variables in addition to those of the session. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Default: the timeout of the policy. */
  readonly timeoutMs?: number | undefined;
}

/** The end of a command. At a limit, `error` says which, and the exit code is that of a killed process. */
export interface CommandEnd {
  readonly exitCode: number;
  readonly error?: string;
}

interface CommandResult extends CommandEnd {
  readonly stdout: string;
  /** Standard error. At a limit, its last line is `error`. */
  readonly stderr: string;
  /** Whether output beyond the limits of the policy is missing. */
  readonly isTruncated: boolean;
  readonly hasTimedOut: boolean;
}

/** A command that was started. */
export interface SlotProcess {
  readonly pid: number;
  readonly stdout: ReadableStream<Uint8Array>;
  readonly stderr: ReadableStream<Uint8Array>;
  /** Undefined if the command has no standard input. */
  readonly input: ProcessInput | undefined;
  /** Rejects with the reason of the signal if it was aborted. */
  readonly ended: Promise<CommandEnd>;
  /** Ends the command. The files that it has changed are not applied. */
  kill(): void;
}

export class SlotCommands {
  readonly #session: Session;
  readonly #files: SlotFiles;
  readonly #running = new Map<number, SlotProcess>();
  #lastPid = FIRST_PID;

  constructor(session: Session, files: SlotFiles) {
    this.#session = session;
    this.#files = files;
  }

  get running(): ReadonlyMap<number, SlotProcess> {
    return this.#running;
  }

  /** Runs a command to its end. */
  async run(command: string, options: CommandOptions = {}): Promise<CommandResult> {
    const { start, limits } = await this.#prepare(command, options);
    const result = await start(limits);
    options.signal?.throwIfAborted();
    const end = processEnd(result);
    const { stdout, metadata } = result;
    const { stdout_truncated, stderr_truncated, trap_reason } = metadata;
    const hasTimedOut = trap_reason === 'timeout';
    const newline = result.stderr === '' || result.stderr.endsWith('\n') ? '' : '\n';
    const stderr = end.error === undefined ? result.stderr : `${result.stderr}${newline}${end.error}\n`;
    return { ...end, stdout, stderr, isTruncated: stdout_truncated || stderr_truncated, hasTimedOut };
  }

  /** Starts a command whose output is read while it runs. Throws `queue_full` if too many are running. */
  async spawn(
    command: string,
    options: CommandOptions & { readonly stdin?: boolean } = {},
  ): Promise<SlotProcess> {
    if (this.#running.size >= MAX_PROCESSES)
      throw new SandboxError('queue_full', `${MAX_PROCESSES} commands are already running in this sandbox.`);
    const pid = ++this.#lastPid;
    const killed = new AbortController();
    const signal = AbortSignal.any([
      killed.signal,
      ...(options.signal === undefined ? [] : [options.signal]),
    ]);
    const input = options.stdin === true ? new ProcessInput() : undefined;
    const output = { stdout: new CommandOutput(), stderr: new CommandOutput() };
    const prepared = this.#prepare(command, options);
    const ended = prepared
      .then(({ start, limits }) =>
        start({
          ...limits,
          signal,
          ...(input !== undefined && { stdin: input }),
          onOutput: (name, bytes) => output[name].write(bytes),
        }),
      )
      .then((result) => {
        options.signal?.throwIfAborted();
        return processEnd(result);
      })
      .finally(() => {
        this.#running.delete(pid);
        input?.end();
        output.stdout.end();
        output.stderr.end();
      });
    // A caller that does not wait for the end is not told of a failure.
    ended.catch(() => {});
    const { stdout, stderr } = { stdout: output.stdout.stream, stderr: output.stderr.stream };
    const process = { pid, stdout, stderr, input, ended, kill: () => killed.abort() };
    // It counts from now on, so that commands which are started at the same time cannot exceed the limit.
    this.#running.set(pid, process);
    await prepared;
    return process;
  }

  /** Ends the commands that are running. */
  killAll(): void {
    for (const process of this.#running.values()) process.kill();
  }

  async #prepare(command: string, { cwd = '', env = {}, signal, timeoutMs }: CommandOptions) {
    signal?.throwIfAborted();
    const defined = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
    const start = await prepareProcess(this.#session, {
      argv: shellCommand(command),
      cwd: this.#files.relative(cwd),
      env: Object.fromEntries(defined),
    });
    const limits = {
      ...(signal !== undefined && { signal }),
      ...(timeoutMs !== undefined && { timeout_seconds: Math.max(0.001, timeoutMs / 1000) }),
    };
    return { start, limits };
  }
}

/** A stream of output. Writing waits while more is unread than the stream holds. A reader that leaves is not waited for. */
class CommandOutput {
  readonly stream: ReadableStream<Uint8Array>;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  #hasEnded = false;
  #wake: () => void = () => {};

  constructor() {
    this.stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.#wake(),
        cancel: () => {
          this.#hasEnded = true;
          this.#wake();
        },
      },
      new ByteLengthQueuingStrategy({ highWaterMark: MAX_UNREAD_BYTES }),
    );
  }

  async write(bytes: Uint8Array): Promise<void> {
    if (this.#hasEnded) return;
    this.#controller.enqueue(bytes);
    if ((this.#controller.desiredSize ?? 0) > 0) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
  }

  end(): void {
    this.#wake();
    if (!this.#hasEnded) this.#controller.close();
    this.#hasEnded = true;
  }
}
