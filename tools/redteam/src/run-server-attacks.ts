/** Runs attacks on an HTTP server that listens on a loopback port of this process. */
import type { Attack, AttackedServer, ServerAttack, ServerRequest } from './attack.ts';
import { sendHttp } from './clients.ts';
import { TOKENS } from './corpus/secret.ts';
import { show } from './match.ts';
import { withStalls } from './stalls.ts';
import { SECRET, type Surroundings } from './surroundings.ts';

/** Limits of the servers under attack. */
export const SERVER_LIMITS = {
  rate_per_minute: 100_000,
  ...{ max_timeout_seconds: 2, timeout_seconds: 2, max_fuel_budget: 2e9, fuel_budget: 1e9 },
};
export const SERVER_TOKENS = Object.entries(TOKENS).map(([name, secret]) => `${name}=${secret}`);
const PROTOCOL_VERSION = '2026-07-28';

interface TextAnswer {
  readonly status: number;
  readonly text: string;
}

export class TargetServer {
  private constructor(
    readonly server: Awaited<ReturnType<AttackedServer['serveHttp']>>,
    readonly surroundings: Surroundings,
  ) {}

  static async start({ serveHttp }: AttackedServer, surroundings: Surroundings): Promise<TargetServer> {
    const server = await serveHttp({ port: 0, tokens: SERVER_TOKENS, ...SERVER_LIMITS });
    return new TargetServer(server, surroundings);
  }

  async run(attack: Attack<ServerAttack>): Promise<string[]> {
    const requests = attack.requests.map((request) => this.#prepare(request));
    const problems = await withStalls(attack.maxStallMs, async () => {
      const found: string[] = [];
      for (const [i, { send, check }] of requests.entries()) {
        const own = await send().then(check, (cause) => [`the request failed: ${(cause as Error).message}`]);
        found.push(...own.map((problem) => `request ${i + 1}: ${problem}`));
      }
      return found;
    });
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
      check: (answer: TextAnswer) => {
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

  async #send({ path, ...request }: { path: string; method: string; headers: object; body: string }) {
    const { status, body } = await sendHttp(new URL(this.server.url).origin, path, request);
    return { status, text: body.toString('utf8') };
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
