/**
 * A kernel: a session that speaks the messaging protocol of Jupyter. Requests on the shell channel run one after another;
 * those on the control channel, and input, do not wait. Replies go to the client that asked, output to all clients.
 */
import { randomUUID } from 'node:crypto';
import type { Session } from '@llm-wasm-sandbox/core/internal';
import { parse, type SandboxResult, SerialQueue, Slices } from '@llm-wasm-sandbox/core/internal';
import * as z from 'zod';
import { toHttpError } from '../server/http-error.ts';
import { cellProgram } from '../server/notebook-code.ts';
import { programFailure } from '../server/program-outcome.ts';
import type { Tenant } from '../server/tenant.ts';
import { DisplayedResults } from './displayed-results.ts';
import { completions, description, isComplete } from './introspection.ts';
import {
  type ClientMessage,
  type KernelMessage,
  type MessageHeader,
  newHeader,
  writeMessage,
} from './kernel-message.ts';
import type { KernelSocket } from './kernel-socket.ts';
import { type KernelLanguage, kernelInfo } from './kernel-specs.ts';
import { findMagic, runMagic } from './magics.ts';

/** Clients of one kernel. */
const MAX_SOCKETS = 16;

const executeRequest = z.object({
  code: z.string(),
  silent: z.boolean().default(false),
  store_history: z.boolean().default(true),
  allow_stdin: z.boolean().default(false),
  stop_on_error: z.boolean().default(true),
});
const cursorRequest = z.object({ code: z.string().max(1_000_000), cursor_pos: z.number().int().min(0) });
const codeRequest = z.object({ code: z.string().max(1_000_000) });
const inputReply = z.object({ value: z.string() });
const shutdownRequest = z.object({ restart: z.boolean().default(false) });
const commOpen = z.object({ comm_id: z.string().max(256) });

interface KernelParts {
  readonly tenant: Tenant;
  readonly session_id: string;
  readonly language: KernelLanguage;
  readonly version: string;
  /** The session with the files of the tenant. */
  files(): Promise<Session>;
  /** Ends the kernel on request of a client. */
  shutDown(): Promise<void>;
  onError(cause: unknown): void;
}

/** A request of a client. */
interface KernelRequest {
  readonly socket: KernelSocket;
  readonly message: ClientMessage;
  readonly channel: 'shell' | 'control';
  readonly order: number;
}

type Reply = Readonly<Record<string, unknown>> & { readonly status: string };
type RequestHandler = (request: KernelRequest) => Promise<Reply | undefined>;

/** The input for which a program waits. */
interface PendingInput {
  readonly socket: KernelSocket;
  /** The parents that an answer may name. */
  readonly parents: readonly (string | undefined)[];
  answer(text: string | undefined): void;
}

export class JupyterKernel {
  executionState: 'starting' | 'idle' | 'busy' = 'idle';
  lastActivity = new Date().toISOString();
  readonly sockets = new Set<KernelSocket>();
  readonly #queue = new SerialQueue();
  /** Encodes and sends messages in their order. */
  readonly #outbox = new SerialQueue();
  readonly #slices = new Slices();
  #interrupt = new AbortController();
  #executionCount = 0;
  #received = 0;
  /** Requests up to this one are answered with `aborted`. */
  #abortedTo = 0;
  #input: PendingInput | undefined;
  #messageSession = randomUUID();

  constructor(readonly parts: KernelParts) {}

  get hasRoom(): boolean {
    return this.sockets.size < MAX_SOCKETS;
  }

  disconnect(socket: KernelSocket): void {
    this.sockets.delete(socket);
    if (this.#input?.socket === socket) this.#input.answer(undefined);
  }

  /** Handles a message. Resolves when it is answered. Throws if the message is invalid. */
  handle(socket: KernelSocket, message: ClientMessage): Promise<void> {
    const { channel } = message;
    if (channel === 'stdin') return this.#receiveInput(socket, message);
    if (channel === 'iopub') return Promise.resolve();
    const request = { socket, message, channel, order: ++this.#received };
    return channel === 'control' ? this.#serve(request) : this.#queue.run(() => this.#serve(request));
  }

  /** Answers a request, between the messages that the kernel is busy and idle. */
  async #serve(request: KernelRequest): Promise<void> {
    const { header } = request.message;
    const type = header.msg_type;
    this.lastActivity = new Date().toISOString();
    this.#publishState('busy', request);
    try {
      const reply = await this.#answer(request, type);
      if (reply !== undefined) this.#send(request, type.replace(/_request$/, '_reply'), reply);
    } finally {
      this.#publishState('idle', request);
      // What waits to be encoded belongs to one request at most.
      await this.#outbox.idle();
    }
  }

  async #answer(request: KernelRequest, type: string): Promise<Reply | undefined> {
    const handler = Object.hasOwn(this.#handlers, type) ? this.#handlers[type] : undefined;
    if (handler === undefined)
      return type.endsWith('_request')
        ? failed('NotImplementedError', `The kernel does not support ${type}.`)
        : undefined;
    try {
      return await handler(request);
    } catch (cause) {
      return failed('SandboxError', this.#messageOf(cause));
    }
  }

  readonly #handlers: Readonly<Record<string, RequestHandler>> = {
    kernel_info_request: async () => kernelInfo(this.parts.language, this.parts.version),
    execute_request: (request) => this.#execute(request),
    complete_request: async ({ message }) => {
      const { code, cursor_pos } = parse(cursorRequest, message.content, 'content');
      return { status: 'ok', metadata: {}, ...(await completions(await this.#session(), code, cursor_pos)) };
    },
    inspect_request: async ({ message }) => {
      const { code, cursor_pos } = parse(cursorRequest, message.content, 'content');
      const text = await description(await this.#session(), code, cursor_pos);
      const data = text === undefined ? {} : { 'text/plain': text };
      return { status: 'ok', found: text !== undefined, data, metadata: {} };
    },
    is_complete_request: async ({ message }) => {
      const { code } = parse(codeRequest, message.content, 'content');
      return { status: (await isComplete(await this.#session(), code)) ? 'complete' : 'incomplete' };
    },
    history_request: async () => ({ status: 'ok', history: [] }),
    comm_info_request: async () => ({ status: 'ok', comms: {} }),
    // There are no targets in the kernel. The protocol answers with a close.
    comm_open: async ({ message }) => {
      const { comm_id } = parse(commOpen, message.content, 'content');
      this.#publish('comm_close', { comm_id, data: {} }, message.header);
      return undefined;
    },
    interrupt_request: async () => {
      this.interrupt();
      return { status: 'ok' };
    },
    shutdown_request: async (request) => {
      const { restart } = parse(shutdownRequest, request.message.content, 'content');
      if (restart) await this.restart(request.channel === 'shell');
      else {
        this.#send(request, 'shutdown_reply', { status: 'ok', restart });
        await this.parts.shutDown();
        return undefined;
      }
      return { status: 'ok', restart };
    },
  };

  /** What a client is told of an error. An error of the host is logged. */
  #messageOf(cause: unknown): string {
    const { error, isHostError } = toHttpError(cause);
    if (isHostError) this.parts.onError(cause);
    return error.message;
  }

  #session(): Promise<Session> {
    return this.parts.tenant.session(this.parts.session_id);
  }

  // ---- execution ----

  async #execute(request: KernelRequest): Promise<Reply> {
    const { message } = request;
    const given = parse(executeRequest, message.content, 'content');
    if (request.order <= this.#abortedTo)
      return { ...failed('Aborted', 'An earlier cell failed or was interrupted.'), status: 'aborted' };
    this.#interrupt = new AbortController();
    const isCounted = !given.silent && given.store_history;
    if (isCounted) this.#executionCount++;
    const execution_count = this.#executionCount;
    if (!given.silent) this.#publish('execute_input', { code: given.code, execution_count }, message.header);
    const outcome = await this.#run(request, given).catch((cause: unknown): CellOutcome => {
      const message = this.#messageOf(cause);
      return { error: { ename: 'SandboxError', evalue: message, traceback: [message] } };
    });
    if (outcome.error === undefined)
      return { status: 'ok', execution_count, payload: [], user_expressions: {} };
    this.#publish('error', outcome.error, message.header, outcome.metadata);
    if (given.stop_on_error) this.#abortedTo = this.#received;
    return { status: 'error', execution_count, ...outcome.error };
  }

  async #run(request: KernelRequest, given: z.output<typeof executeRequest>): Promise<CellOutcome> {
    const { tenant, session_id } = this.parts;
    const { header } = request.message;
    const session = await this.#session();
    const files = () => this.parts.files();
    const write = (name: 'stdout' | 'stderr') => (text: string) => {
      if (!given.silent) this.#publish('stream', { name, text }, header);
    };
    const magic = findMagic(given.code);
    if (magic !== undefined) {
      write('stdout')(await session.withFilesOf(files, () => runMagic(magic, session)));
      return {};
    }
    const results = new DisplayedResults(session, (type, content) => {
      if (!given.silent) this.#publish(type, { ...content, execution_count: this.#executionCount }, header);
    });
    const program = cellProgram(given.code, session.runtime);
    using active = tenant.calls.begin(session_id, this.#interrupt.signal);
    const result = await session.withFilesOf(files, () =>
      session.execute(program, {
        file_name: null,
        signal: active.signal,
        ...(given.allow_stdin && { stdin: this.#inputOf(request) }),
        onStdout: write('stdout'),
        onStderr: write('stderr'),
        onResult: (displayed) => results.show(displayed),
      }),
    );
    await results.showRest(result.results);
    return outcomeOf(result);
  }

  /** Cancels the running cell. Cells that wait are aborted. */
  interrupt(): void {
    this.#abortedTo = this.#received;
    this.#interrupt.abort();
    this.#input?.answer(undefined);
  }

  /** Gives the session a new interpreter. Its files and checkpoints are kept. */
  async restart(isInQueue = false): Promise<void> {
    this.interrupt();
    const restart = async () => {
      await (await this.#session()).restart();
      this.#executionCount = 0;
      this.#messageSession = randomUUID();
    };
    await (isInQueue ? restart() : this.#queue.run(restart));
  }

  /** Closes the connections when they have received what was sent to them. */
  close(): void {
    this.interrupt();
    void this.#outbox.run(() => {
      for (const socket of this.sockets) socket.close();
    });
  }

  // ---- input ----

  /** Asks the client for a line whenever the program reads. The input ends if the client leaves or the cell is interrupted. */
  async *#inputOf({ socket, message }: KernelRequest): AsyncGenerator<string> {
    while (socket.isOpen && !this.#interrupt.signal.aborted) {
      const header = newHeader('input_request', this.#messageSession);
      const answered = new Promise<string | undefined>((answer) => {
        this.#input = { socket, parents: [undefined, header.msg_id, message.header.msg_id], answer };
      });
      const content = { prompt: '', password: false };
      this.#post([socket], {
        channel: 'stdin',
        header,
        parent_header: message.header,
        metadata: {},
        content,
      });
      const line = await answered;
      this.#input = undefined;
      if (line === undefined) return;
      yield `${line}\n`;
    }
  }

  /** Only the client that was asked can answer, and only what was asked. Some clients name the cell as the parent. */
  async #receiveInput(
    socket: KernelSocket,
    { header, parent_header, content }: ClientMessage,
  ): Promise<void> {
    const pending = this.#input;
    if (header.msg_type !== 'input_reply' || pending?.socket !== socket) return;
    if (!pending.parents.includes(parent_header.msg_id)) return;
    pending.answer(parse(inputReply, content, 'content').value);
  }

  // ---- messages ----

  #send({ socket, message, channel }: KernelRequest, msg_type: string, content: Reply): void {
    const header = newHeader(msg_type, this.#messageSession);
    this.#post([socket], { channel, header, parent_header: message.header, metadata: {}, content });
  }

  #publish(msg_type: string, content: object, parent_header: MessageHeader | object, metadata = {}): void {
    const header = newHeader(msg_type, this.#messageSession);
    this.#post([...this.sockets], { channel: 'iopub', header, parent_header, metadata, content });
  }

  /** Sends a message to clients, after those that were sent before. It is encoded once for each framing. */
  #post(sockets: readonly KernelSocket[], message: KernelMessage): void {
    const send = async () => {
      const encoded = new Map<string, Promise<Buffer>>();
      for (const socket of sockets.filter(({ isOpen }) => isOpen)) {
        const { protocol, options } = socket;
        const data = encoded.get(protocol) ?? writeMessage(message, protocol, options.nextSlice);
        encoded.set(protocol, data);
        socket.send(await data);
        await this.#slices.pause(options.nextSlice);
      }
    };
    this.#outbox.run(send).catch(this.parts.onError);
  }

  #publishState(execution_state: 'busy' | 'idle', { channel, message }: KernelRequest): void {
    // A cell can run while the control channel is served.
    if (channel === 'shell') this.executionState = execution_state;
    this.#publish('status', { execution_state }, message.header);
  }
}

interface CellOutcome {
  readonly error?: { readonly ename: string; readonly evalue: string; readonly traceback: readonly string[] };
  readonly metadata?: object;
}

const failed = (ename: string, evalue: string): Reply => ({
  status: 'error',
  ename,
  evalue,
  traceback: [`${ename}: ${evalue}`],
});

/** What an interrupted cell leaves: like any exception, the interrupt keeps changes, unless the interpreter had to be stopped. */
const KEPT = 'Changes to variables and files are kept.';
const UNDONE = 'Variables and files are as they were before it.';

/** Interpreters write the stack to standard error, so the traceback has only the message and the steps to fix the failure. */
function outcomeOf(result: SandboxResult): CellOutcome {
  const failure = programFailure(result);
  if (failure === undefined) return {};
  const { trap_reason, state, error_guidance } = result.metadata;
  const [ename, evalue] =
    trap_reason === 'cancelled'
      ? ['KeyboardInterrupt', `The cell was interrupted. ${state === 'committed' ? KEPT : UNDONE}`]
      : [failure.name, failure.value];
  const steps = failure.steps.map((step, i) => `${i + 1}. ${step}`);
  const traceback = [`${ename}: ${evalue}`, ...(steps.length > 0 ? ['How to fix it:', ...steps] : [])];
  return {
    error: { ename, evalue, traceback },
    ...(error_guidance && { metadata: { error_guidance } }),
  };
}
