/** Servers that share a database, and clients that append to lists in their sessions. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { CLI } from '../support/mcp.ts';
import type { Operation } from './append-history.ts';

const VERSION = '2026-07-28';
const META = {
  'io.modelcontextprotocol/protocolVersion': VERSION,
  'io.modelcontextprotocol/clientInfo': { name: 'faults', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};
const REQUEST_TIMEOUT_MS = 60_000;

export class Replica {
  child: ChildProcess | undefined;
  url: string | undefined;

  constructor(readonly flags: readonly string[]) {}

  async start(): Promise<void> {
    const args = [
      CLI,
      'serve',
      '--port',
      '0',
      '--log-level',
      'silent',
      '--optimization',
      'demand',
      ...this.flags,
    ];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    this.child = child;
    for await (const line of createInterface({ input: child.stderr! })) {
      this.url = /listening on (\S+)/.exec(line)?.[1];
      if (this.url !== undefined) break;
    }
    child.stderr!.resume();
    if (this.url === undefined) throw new Error('The server has exited.');
  }

  /** Ends the process and returns its exit code. */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    const { child } = this;
    this.url = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return null;
    const ended = once(child, 'exit');
    child.kill(signal);
    const [code] = (await ended) as [number | null];
    return code;
  }
}

interface Answer {
  /** The code of an error, the reason why the program was stopped, or undefined for success. */
  readonly failure: string | undefined;
  readonly text: string;
  readonly stdout: string;
}

interface ToolResult {
  readonly isError?: boolean;
  readonly content: readonly { readonly text?: string }[];
  readonly structuredContent?: Record<string, unknown>;
}

/** Calls a tool. Throws if there is no answer, so the outcome is unknown. */
export async function callTool(url: string, secret: string, name: string, args: object): Promise<Answer> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${secret}`,
      'mcp-protocol-version': VERSION,
      'mcp-method': 'tools/call',
      'mcp-name': name,
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: args, _meta: META },
    }),
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
  });
  const body = await response.text();
  // The server ended before the call did.
  if (response.status === 499) throw new Error('The outcome is unknown.');
  if (!response.ok) return { failure: `http_${response.status}`, text: body, stdout: '' };
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
  const lines = body.split('\n');
  const json = isStream ? lines.findLast((line) => line.startsWith('data:'))!.slice(5) : body;
  const { isError, content, structuredContent } = (JSON.parse(json) as { result: ToolResult }).result;
  const text = content[0]?.text ?? '';
  if (isError) return { failure: /^(\w+):/.exec(text)?.[1] ?? 'undocumented', text, stdout: '' };
  const isStopped = structuredContent?.['success'] === false;
  return {
    failure: isStopped ? String(structuredContent['trap_reason'] ?? 'program_failed') : undefined,
    text,
    stdout: String(structuredContent?.['stdout'] ?? ''),
  };
}

export interface Target {
  readonly secret: string;
  readonly session_id: string;
  /** Tenant and session. */
  readonly list: string;
}

/** Failures that mean that the call had no effect, and that a client may see while servers fail. */
const WITHOUT_EFFECT = [
  'session_busy',
  'store_failed',
  'sandbox_closed',
  'worker_lost',
  'cancelled',
  'http_503',
];

export interface LoadState {
  readonly replicas: readonly Replica[];
  readonly targets: readonly Target[];
  readonly history: Operation[];
  /** Failures that are not documented, and programs that found a torn state. */
  readonly problems: string[];
  /** Number of answers by failure; `ok` and `no_answer` included. */
  readonly counts: Map<string, number>;
  isOver: boolean;
}

const APPEND = (item: string) => `
  items.push(${JSON.stringify(item)});
  fs.appendFileSync('log', ${JSON.stringify(`${item}\n`)});
  if (fs.readFileSync('log', 'utf8') !== items.join('\\n') + '\\n') throw new Error('the session is torn');
  console.log(items.join(' '));`;

/** Appends to and reads lists at random servers until the load is over. */
export async function client(state: LoadState, name: string): Promise<void> {
  for (let n = 1; !state.isOver; n++) {
    const { url } = pick(state.replicas);
    if (url === undefined) await sleep(20);
    else await operate(state, url, pick(state.targets), n % 4 === 0 ? undefined : `${name}-${n}`);
  }
}

/** Appends an item, or reads the list if there is none. */
export async function operate(
  state: LoadState,
  url: string,
  target: Target,
  item: string | undefined,
): Promise<Operation> {
  const startMs = performance.now();
  const { list, secret, session_id } = target;
  let answer: Answer | undefined;
  try {
    answer =
      item === undefined
        ? await callTool(url, secret, 'read_file', { session_id, path: 'log' })
        : await callTool(url, secret, 'execute_code', {
            session_id,
            language: 'javascript',
            code: APPEND(`${list}/${item}`),
          });
  } catch {
    // The connection was lost, so the outcome is unknown.
  }
  const failure = answer === undefined ? 'no_answer' : (answer.failure ?? 'ok');
  state.counts.set(failure, (state.counts.get(failure) ?? 0) + 1);
  const isKnown = answer !== undefined && !answer.text.includes('not known whether');
  if (isKnown && failure !== 'ok' && !WITHOUT_EFFECT.includes(failure))
    state.problems.push(`${list}: ${failure}: ${answer!.text.slice(0, 300)}`);
  const operation: Operation = {
    list,
    kind: item === undefined ? 'read' : 'append',
    ...(item !== undefined && { item: `${list}/${item}` }),
    startMs,
    endMs: performance.now(),
    outcome: !isKnown ? 'unknown' : failure === 'ok' ? 'ok' : 'none',
    ...(failure === 'ok' && { seen: itemsOf(item === undefined ? answer!.text : answer!.stdout) }),
  };
  state.history.push(operation);
  if (failure === 'no_answer') await sleep(20);
  return operation;
}

export const itemsOf = (text: string) => text.split(/\s+/).filter((word) => word.includes('/'));

function pick<T>(from: readonly T[]): T {
  return from[Math.floor(Math.random() * from.length)]!;
}
