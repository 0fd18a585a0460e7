/**
 * The service `process.Process` of E2B: commands as processes in a guest of their own, with the files of the sandbox. A process
 * goes on when its client disconnects, until it ends, its time is over or the sandbox stops. It sees the files as they were
 * when it started; what it changes is applied when it ends.
 */

import type { SandboxResult } from '@llm-wasm-sandbox/core/internal';
import {
  encodeContent,
  ProcessInput,
  prepareProcess,
  processEnd,
  toBase64,
} from '@llm-wasm-sandbox/core/internal';
import * as z from 'zod';
import { HttpError, quoted } from '../server/http-error.ts';
import { type ConnectStream, deadlineMs, messageFrame, serverStream, unary } from './connect-protocol.ts';
import type { E2bCall, E2bRoutes } from './e2b-call.ts';
import { notRunning } from './e2b-error.ts';
import { relativePath } from './file-paths.ts';
import { filesOf } from './filesystem-service.ts';

/** Running processes of one sandbox. */
const MAX_PROCESSES = 32;
const FIRST_PID = 1000;

const NO_TERMINALS = 'There are no terminals: run commands with commands.run()';

const config = z.object({
  cmd: z.string().min(1).max(4096),
  args: z
    .array(z.string().max(1024 * 1024))
    .max(1000)
    .default([]),
  envs: z.record(z.string().regex(/^[^=\0]{1,256}$/), z.string().max(32_768)).default({}),
  cwd: z.string().max(4096).nullish(),
});
const startRequest = z.object({
  process: config,
  pty: z.unknown().optional(),
  tag: z.string().max(256).nullish(),
  stdin: z.boolean().nullish(),
});
type StartRequest = z.output<typeof startRequest>;
const selector = z.object({
  process: z.object({ pid: z.number().int().optional(), tag: z.string().max(256).optional() }),
});
const signalRequest = selector.extend({ signal: z.string().max(100) });
const inputRequest = selector.extend({
  input: z.object({ stdin: z.string().optional(), pty: z.string().optional() }),
});

/** One running process. */
interface RunningProcess {
  readonly pid: number;
  readonly config: StartRequest['process'];
  readonly tag: string | undefined;
  /** Undefined if the process has no standard input. */
  readonly input: ProcessInput | undefined;
  /** The streams that receive its output. */
  readonly streams: Set<ConnectStream>;
  readonly killed: AbortController;
  /** Resolves with the event that reports the end. */
  readonly ended: Promise<object>;
}

type Selected = z.output<typeof selector>;

/** What a client learns of the end of a process. As in E2B, a process that fails has its status as the error. */
function endEvent(result: SandboxResult): object {
  const { exitCode, error } = processEnd(result);
  const status = error ?? `exit status ${exitCode}`;
  return { exitCode, exited: error === undefined, status, ...(exitCode !== 0 && { error: status }) };
}

export class SandboxProcesses {
  readonly #running = new Map<string, Map<number, RunningProcess>>();
  #lastPid = FIRST_PID;

  get routes(): E2bRoutes {
    return {
      ...serverStream('process.Process/Start', startRequest, (call, message, stream) =>
        this.#start(call, message, stream),
      ),
      ...serverStream('process.Process/Connect', selector, async (call, message, stream) => {
        await filesOf(call);
        await this.#follow(call, this.#find(call, message), stream);
      }),
      ...unary('process.Process/List', z.object({}), async (call) => {
        await filesOf(call);
        const all = this.#running.get(call.caller.sandbox_id!)?.values() ?? [];
        const processes = [...all].map(({ pid, tag, config: { cwd, ...rest } }) => ({
          pid,
          config: { ...rest, ...(cwd && { cwd }) },
          ...(tag !== undefined && { tag }),
        }));
        return { processes };
      }),
      ...unary('process.Process/SendInput', inputRequest, async (call, message) => {
        const { input, pid } = this.#find(call, message);
        if (message.input.pty !== undefined) throw new HttpError(501, NO_TERMINALS);
        if (input === undefined)
          throw new HttpError(400, `The process ${pid} was started without standard input: pass stdin: true`);
        input.write(await encodeContent(message.input.stdin ?? '', 'base64', call.nextSlice));
        return {};
      }),
      ...unary('process.Process/CloseStdin', selector, async (call, message) => {
        this.#find(call, message).input?.end();
        return {};
      }),
      ...unary('process.Process/SendSignal', signalRequest, async (call, message) => {
        const { killed } = this.#find(call, message);
        if (message.signal !== 'SIGNAL_SIGKILL' && message.signal !== 'SIGNAL_SIGTERM')
          throw new HttpError(400, 'Only SIGTERM and SIGKILL can be sent, and both end the process');
        killed.abort();
        return {};
      }),
      ...unary('process.Process/Update', selector, async () => {
        throw new HttpError(501, NO_TERMINALS);
      }),
    };
  }

  #find({ caller }: E2bCall, { process: { pid, tag } }: Selected): RunningProcess {
    const all = [...(this.#running.get(caller.sandbox_id!)?.values() ?? [])];
    const found = all.find((one) => (pid === undefined ? one.tag === tag : one.pid === pid));
    if (found !== undefined) return found;
    throw new HttpError(404, `There is no running process ${pid ?? quoted(tag ?? '')}`);
  }

  async #start(call: E2bCall, message: StartRequest, stream: ConnectStream): Promise<void> {
    if (message.pty !== undefined && message.pty !== null) throw new HttpError(501, NO_TERMINALS);
    const sandbox_id = call.caller.sandbox_id!;
    const all = this.#running.get(sandbox_id) ?? new Map<number, RunningProcess>();
    if (all.size >= MAX_PROCESSES)
      throw new HttpError(429, `${MAX_PROCESSES} processes are already running in this sandbox`);
    this.#running.set(sandbox_id, all);
    const pid = ++this.#lastPid;
    const streams = new Set([stream]);
    const killed = new AbortController();
    const input = message.stdin === true ? new ProcessInput() : undefined;
    const launched = this.#launch(call, message, { streams, killed, input });
    const ended = launched
      .then(({ result }) => result)
      .then((result) => {
        if (killed.signal.reason instanceof HttpError) throw killed.signal.reason;
        return endEvent(result);
      })
      .finally(() => {
        input?.end();
        all.delete(pid);
        if (all.size === 0) this.#running.delete(sandbox_id);
      });
    ended.catch(() => {});
    const tag = message.tag ?? undefined;
    const process = { pid, config: message.process, tag, input, streams, killed, ended };
    // It counts from now on, so that processes which are started at the same time cannot exceed the limit.
    all.set(pid, process);
    await launched;
    const limitMs = deadlineMs(call);
    const deadline = limitMs && setTimeout(() => killed.abort(), limitMs);
    void ended.finally(() => clearTimeout(deadline)).catch(() => {});
    await this.#follow(call, process, stream);
  }

  /** Starts the process. Its files are those of the sandbox. */
  async #launch(
    call: E2bCall,
    { process: { cmd, args, envs, cwd } }: StartRequest,
    { streams, killed, input }: Pick<RunningProcess, 'streams' | 'killed' | 'input'>,
  ): Promise<{ readonly result: Promise<SandboxResult> }> {
    const { tenant, caller, nextSlice } = call;
    const session = await filesOf(call);
    const place = relativePath(cwd ?? '', 400);
    const start = await prepareProcess(session, { argv: [cmd, ...args], cwd: place, env: envs });
    const active = tenant.calls.begin(caller.sandbox_id!, killed.signal);
    const result = start({
      signal: active.signal,
      timeout_seconds: tenant.maximums.timeout_seconds,
      ...(input !== undefined && { stdin: input }),
      // The process waits until its clients have room for more.
      onOutput: async (name, bytes) => {
        const text = await toBase64(bytes, nextSlice);
        const frame = await messageFrame({ event: { data: { [name]: text } } }, nextSlice);
        await Promise.all([...streams].map((one) => one.sendFrames(async () => frame)));
      },
    }).finally(() => active[Symbol.dispose]());
    return { result };
  }

  /** Sends what a process produces from now on, until it ends, the client leaves or the time of the stream is over. */
  async #follow(
    call: E2bCall,
    { pid, streams, ended }: RunningProcess,
    stream: ConnectStream,
  ): Promise<void> {
    await stream.send({ event: { start: { pid } } });
    stream.keepAlive({ event: { keepalive: {} } });
    streams.add(stream);
    const limitMs = deadlineMs(call);
    let timer: NodeJS.Timeout | undefined;
    const left = new Promise<'left' | 'late'>((resolve) => {
      call.signal.addEventListener('abort', () => resolve('left'), { once: true });
      if (limitMs !== undefined) timer = setTimeout(() => resolve('late'), limitMs);
    });
    try {
      const event = await Promise.race([ended, left]);
      if (event === 'late') throw new HttpError(504, 'The time of the command is over');
      if (typeof event === 'object') await stream.send({ event: { end: event } });
    } finally {
      clearTimeout(timer);
      streams.delete(stream);
    }
  }

  /** Ends the processes of a sandbox that stops. */
  stop(sandbox_id: string): void {
    for (const { killed } of this.#running.get(sandbox_id)?.values() ?? [])
      killed.abort(notRunning(sandbox_id));
  }
}
