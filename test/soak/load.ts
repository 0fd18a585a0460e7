/** The load of one tenant: requests over HTTP, one after another, until the deadline or the request limit. */
import type { Attack, AttackRequest } from './attacks.ts';
import { ENDLESS, type Outcome, PROGRAMS, type Program } from './programs.ts';
import type { ProtocolAttack } from './protocol-attacks.ts';

export interface LoadOptions {
  readonly url: string;
  readonly tenant: string;
  readonly secret: string;
  /** A seeded generator of numbers from 0 to 1. */
  readonly random: () => number;
  readonly deadline: number;
}

export interface CallRecord {
  readonly tenant: string;
  readonly program: string;
  readonly outcome: Outcome;
  readonly isExpected: boolean;
  /** When the call started, in milliseconds since 1970. */
  readonly at: number;
  readonly milliseconds: number;
  /** Describes an unexpected outcome. */
  readonly detail?: string;
}

const MAX_REQUESTS = 200_000;
const REQUEST_TIMEOUT_MS = 60_000;
const VERSION = '2026-07-28';
const META = {
  'io.modelcontextprotocol/protocolVersion': VERSION,
  'io.modelcontextprotocol/clientInfo': { name: 'soak', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};
/** Outcomes that can interrupt any program of this load: workers are killed, and queues are full. */
const ALWAYS_EXPECTED: readonly Outcome[] = ['worker_lost', 'rejected'];
const REJECTIONS = /queue_full|rate_limited|session_limit|sandbox_closed/;

/** An answer of the server to a call that it could not handle. */
const SERVER_FAILURE = /^internal:|The server failed/;
/** Errors of the protocol that a hostile request must get: a body beyond a limit, a resource that is not cached or that another
 * client of the tenant has deleted, or a closed connection, because its tenant holds too many bytes or connections. */
const REFUSALS = /status 4\d\d|no longer cached|limit is|has no file|other side closed|ECONNRESET|EPIPE/;

interface ToolResult {
  readonly isError?: boolean;
  readonly content?: readonly { readonly text?: string }[];
  readonly structuredContent?: { readonly success?: boolean; readonly trap_reason?: string | null };
}

class TenantLoad {
  readonly records: CallRecord[] = [];
  constructor(readonly options: LoadOptions) {}

  call(name: string, args: object, signal?: AbortSignal): Promise<ToolResult> {
    return this.request({ method: 'tools/call', name, arguments: args }, signal);
  }

  async request({ method, name, arguments: args }: AttackRequest, signal?: AbortSignal): Promise<ToolResult> {
    const { url, secret } = this.options;
    const params = method === 'tools/call' ? { name, arguments: args } : { uri: name };
    const timeout = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${secret}`,
        'mcp-protocol-version': VERSION,
        'mcp-method': method,
        'mcp-name': name,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: META } }),
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    });
    const text = await response.text();
    if (response.status === 429 || response.status === 503)
      return { isError: true, content: [{ text: 'rate_limited' }] };
    if (!response.ok) throw new Error(`status ${response.status}: ${text.slice(0, 300)}`);
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
    const json = isStream
      ? text
          .split('\n')
          .findLast((line) => line.startsWith('data:'))!
          .slice(5)
      : text;
    const { result, error } = JSON.parse(json) as { result?: ToolResult; error?: { message: string } };
    if (result === undefined) throw new Error(error?.message ?? 'no result');
    return result;
  }

  /** Calls a program and records how it ended. */
  async run(
    program: Program,
    args: object,
    label: string,
    action = () => this.execute(program, args),
  ): Promise<void> {
    const started = performance.now();
    const name = `${program.language} ${label}`;
    try {
      const result = await action();
      const outcome = outcomeOf(result);
      const isExpected = [...program.expected, ...ALWAYS_EXPECTED].includes(outcome);
      this.record(name, outcome, isExpected, started, JSON.stringify(result).slice(0, 300));
    } catch (cause) {
      this.record(name, 'error', false, started, describe(cause));
    }
  }

  record(program: string, outcome: Outcome, isExpected: boolean, started: number, detail: string): void {
    const { tenant } = this.options;
    const milliseconds = performance.now() - started;
    const call = { tenant, program, outcome, isExpected, at: Date.now() - milliseconds, milliseconds };
    this.records.push(isExpected ? call : { ...call, detail });
  }

  execute({ code, language, arguments: more }: Program, args: object): Promise<ToolResult> {
    return this.call('execute_code', { code, language, ...more, ...args });
  }

  /** A session with a few calls that depend on each other. */
  async useSession(): Promise<void> {
    const session_id = `s${Math.floor(this.options.random() * 1e9)}`;
    const steps = ['n = 1', 'n += 1', 'n += 1', "open('n', 'w').write(str(n)); print(n)"];
    const created = await this.call('create_session', { language: 'python', session_id });
    if (created.isError) return;
    for (const code of steps)
      await this.run(
        { name: 'session', language: 'python', code, expected: ['success', 'error'] },
        { session_id },
        'session',
      );
    await this.call('destroy_session', { session_id });
  }

  /** A program in a session that another call cancels, or whose client disconnects. */
  async cancel(): Promise<void> {
    const session_id = `c${Math.floor(this.options.random() * 1e9)}`;
    const created = await this.call('create_session', { language: 'python', session_id });
    if (created.isError) return;
    const isDisconnect = this.options.random() < 0.5;
    const controller = new AbortController();
    const timer = setTimeout(
      () =>
        isDisconnect ? controller.abort() : this.call('cancel_execution', { session_id }).catch(() => {}),
      100 + this.options.random() * 300,
    );
    await this.run(ENDLESS, { session_id }, 'cancel', async () => {
      try {
        const { code, language, arguments: more } = ENDLESS;
        return await this.call('execute_code', { code, language, ...more, session_id }, controller.signal);
      } catch (cause) {
        if (controller.signal.aborted)
          return { structuredContent: { success: false, trap_reason: 'cancelled' } };
        throw cause;
      }
    });
    clearTimeout(timer);
    await this.call('destroy_session', { session_id });
  }

  /** Sends the requests of an attack. Any answer is correct unless it says that the server failed. */
  async attack({ name, requests }: Attack): Promise<void> {
    for (const request of requests) {
      if (Date.now() >= this.options.deadline) return;
      const started = performance.now();
      const label = `${name}: ${request.name.replace(/:.*/s, '')}`;
      try {
        const result = await this.request(request);
        const isFailure = SERVER_FAILURE.test(result.content?.[0]?.text ?? '');
        const detail = JSON.stringify(result).slice(0, 300);
        this.record(label, outcomeOf(result), !isFailure, started, detail);
      } catch (cause) {
        this.record(label, 'error', REFUSALS.test(describe(cause)), started, describe(cause));
      }
    }
  }
}

function outcomeOf({ isError, content, structuredContent }: ToolResult): Outcome {
  const { success, trap_reason } = structuredContent ?? {};
  if (success === true) return 'success';
  if (typeof trap_reason === 'string') return trap_reason as Outcome;
  if (success === undefined && !isError) return 'success';
  const text = content?.[0]?.text ?? '';
  if (success === undefined && isError && REJECTIONS.test(text)) return 'rejected';
  // A call that was cancelled before it started has no execution result.
  if (success === undefined && isError && /cancel/i.test(text)) return 'cancelled';
  return 'error';
}

/** An error of `fetch` says only in its cause what happened. */
const describe = (error: unknown) =>
  error instanceof Error && error.cause !== undefined ? `${error}: ${error.cause}` : String(error);

/** Sends requests until the deadline. Returns a record of every call. */
export async function runLoad(options: LoadOptions): Promise<readonly CallRecord[]> {
  const load = new TenantLoad(options);
  for (let i = 0; i < MAX_REQUESTS && Date.now() < options.deadline; i++) {
    const choice = options.random();
    try {
      if (choice < 0.1) await load.useSession();
      else if (choice < 0.18) await load.cancel();
      else {
        const program = PROGRAMS[Math.floor(options.random() * PROGRAMS.length)]!;
        await load.run(program, {}, program.name);
      }
    } catch (cause) {
      load.record('session tools', 'error', false, performance.now(), describe(cause));
    }
  }
  return load.records;
}

/** Makes attacks in random order until the deadline. Returns a record of every request. */
export async function runAttacks(
  options: LoadOptions,
  attacks: readonly Attack[],
): Promise<readonly CallRecord[]> {
  const load = new TenantLoad(options);
  while (Date.now() < options.deadline)
    await load.attack(attacks[Math.floor(options.random() * attacks.length)]!);
  return load.records;
}

/** Makes attacks over one protocol in random order until the deadline. Returns a record of every answer. */
export async function runProtocolAttacks(
  options: LoadOptions,
  attacks: readonly ProtocolAttack[],
): Promise<readonly CallRecord[]> {
  const load = new TenantLoad(options);
  const target = { origin: new URL(options.url).origin, secret: options.secret };
  while (Date.now() < options.deadline) {
    const attack = attacks[Math.floor(options.random() * attacks.length)]!;
    const started = performance.now();
    const statuses = await attack.run(target).catch((cause: unknown) => {
      load.record(attack.name, 'error', REFUSALS.test(describe(cause)), started, describe(cause));
      return [];
    });
    for (const status of statuses)
      load.record(attack.name, outcomeOfStatus(status), status !== 500, started, `status ${status}`);
  }
  return load.records;
}

/** Connections that the server closes are rejected: the hostile tenant exceeds a limit. */
const outcomeOfStatus = (status: number): Outcome =>
  status === 0 || status === 429 || status === 503 ? 'rejected' : status < 400 ? 'success' : 'error';
