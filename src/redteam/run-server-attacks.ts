/** Runs attacks on an HTTP server that listens on a loopback port of this process. */
import { request as httpRequest } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { Attack, AttackedServer, ServerAttack, ServerRequest } from './attack.ts';
import { show } from './match.ts';
import { SECRET, type Surroundings } from './surroundings.ts';

const TOKENS = { ann: 'redteam-ann-0123456789abcdef', bob: 'redteam-bob-0123456789abcdef' } as const;
const DEFAULT_MAX_STALL_MS = 1_000;
/** The event loop delay is sampled this often; a stall is noticed one sample later. */
const SAMPLE_MS = 10;
const PROTOCOL_VERSION = '2026-07-28';

interface Answer {
  readonly status: number;
  readonly text: string;
}

export class TargetServer {
  private constructor(
    readonly server: Awaited<ReturnType<AttackedServer['serveHttp']>>,
    readonly surroundings: Surroundings,
  ) {}

  static async start({ serveHttp }: AttackedServer, surroundings: Surroundings): Promise<TargetServer> {
    const tokens = Object.entries(TOKENS).map(([name, secret]) => `${name}=${secret}`);
    const limits = { max_timeout_seconds: 2, timeout_seconds: 2, max_fuel_budget: 2e9, fuel_budget: 1e9 };
    const server = await serveHttp({ port: 0, tokens, rate_per_minute: 100_000, ...limits });
    return new TargetServer(server, surroundings);
  }

  async run(attack: Attack<ServerAttack>): Promise<string[]> {
    const requests = attack.requests.map((request) => this.#prepare(request));
    const stalls = monitorEventLoopDelay({ resolution: SAMPLE_MS });
    stalls.enable();
    const problems: string[] = [];
    for (const [i, { send, check }] of requests.entries()) {
      const found = await send().then(check, (cause) => [`the request failed: ${(cause as Error).message}`]);
      problems.push(...found.map((problem) => `request ${i + 1}: ${problem}`));
    }
    await delay(2 * SAMPLE_MS);
    stalls.disable();
    const stalledMs = Math.round(stalls.max / 1e6);
    const maxStallMs = attack.maxStallMs ?? DEFAULT_MAX_STALL_MS;
    if (stalledMs > maxStallMs)
      problems.push(`the server did not answer for ${stalledMs} ms; the limit is ${maxStallMs} ms`);
    const health = await this.#send({ method: 'GET', path: '/healthz', headers: {}, body: '' });
    if (health.status !== 200) problems.push(`/healthz answered ${health.status}`);
    return [...problems, ...this.surroundings.checkHost()];
  }

  close(): Promise<void> {
    return this.server.close();
  }

  /** Builds the request before the measurement starts. */
  #prepare(given: ServerRequest) {
    const { as = 'ann', method = 'POST', tool, status, expect, reject } = given;
    const fill = <T>(value: T) => this.surroundings.fill(value, TOKENS);
    const headers: Record<string, string> = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(as !== null && { authorization: `Bearer ${TOKENS[as]}` }),
      ...(tool !== undefined && {
        'mcp-protocol-version': PROTOCOL_VERSION,
        'mcp-method': 'tools/call',
        'mcp-name': tool,
      }),
      ...fill(given.headers ?? {}),
    };
    const body = tool === undefined ? (given.body?.() ?? '') : toolCall(tool, fill(given.arguments ?? {}));
    const path = fill(given.path ?? new URL(this.server.url).pathname);
    return {
      send: () => this.#send({ method, path, headers, body }),
      check: (answer: Answer) => {
        const problems: string[] = [];
        if (status !== undefined && !status.includes(answer.status))
          problems.push(`status ${answer.status}, expected ${status.join(' or ')}: ${show(answer.text)}`);
        if (expect !== undefined && !expect.test(answer.text))
          problems.push(`the answer does not match ${expect}: ${show(answer.text)}`);
        if (reject?.test(answer.text)) problems.push(`the answer matches ${reject}: ${show(answer.text)}`);
        if (answer.text.includes(SECRET)) problems.push('the answer contains the secret of the host');
        return problems;
      },
    };
  }

  #send({
    method,
    path,
    headers,
    body,
  }: Record<'method' | 'path' | 'body', string> & { headers: Record<string, string> }) {
    const { hostname, port } = new URL(this.server.url);
    return new Promise<Answer>((resolve, reject) => {
      const outgoing = httpRequest(
        { host: hostname, port, path, method, headers, agent: false },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () =>
            resolve({ status: response.statusCode!, text: Buffer.concat(chunks).toString('utf8') }),
          );
        },
      );
      outgoing.on('error', reject);
      outgoing.end(body);
    });
  }
}

function toolCall(name: string, args: Readonly<Record<string, unknown>>): string {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': PROTOCOL_VERSION,
    'io.modelcontextprotocol/clientInfo': { name: 'redteam', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  return JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name, arguments: args, _meta },
  });
}
