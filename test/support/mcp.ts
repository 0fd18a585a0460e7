/** Connects clients to the built MCP server, over both transports and in both protocol eras. */
import { fileURLToPath } from 'node:url';
import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { type HttpServer, type ServerSettingsInput, serveHttp } from 'llm-wasm-sandbox/mcp';
import type { ServerState } from '../../packages/server/src/server/server-state.ts';

export const CLI = fileURLToPath(new URL('../../packages/cli/dist/cli/main.js', import.meta.url));

export const ERAS = ['modern', 'legacy'] as const;
export type Era = (typeof ERAS)[number];

const NEGOTIATION: Record<Era, NonNullable<ClientOptions['versionNegotiation']>> = {
  modern: { mode: { pin: '2026-07-28' } },
  legacy: { mode: 'legacy' },
};

type Capabilities = NonNullable<ClientOptions['capabilities']>;

export function newClient(era: Era, capabilities: Capabilities = {}): Client {
  return new Client({ name: 'test', version: '1' }, { versionNegotiation: NEGOTIATION[era], capabilities });
}

/** Starts a server in a process of its own. It is used too briefly to benefit from idle optimisation. */
export async function stdioClient(
  era: Era,
  args: readonly string[] = ['mcp', '--log-level', 'silent'],
  capabilities: Capabilities = {},
) {
  const client = newClient(era, capabilities);
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [CLI, ...args, '--optimization', 'demand'],
    // The transport does not pass on the environment, and the server must not have the packages of the user.
    env: { LLM_WASM_SANDBOX_PACKAGES_DIR: process.env['LLM_WASM_SANDBOX_PACKAGES_DIR']! },
    stderr: 'pipe',
  });
  await client.connect(transport);
  return { client, transport };
}

/** Lets `await using` close something. */
const closing = <T extends { close(): Promise<unknown> }>(opened: T): T & AsyncDisposable =>
  Object.assign(opened, {
    [Symbol.asyncDispose]: async () => {
      await opened.close();
    },
  });

export async function httpClient(
  server: Pick<HttpServer, 'url'>,
  era: Era,
  token?: string,
  capabilities: Capabilities = {},
): Promise<Client & AsyncDisposable> {
  const client = newClient(era, capabilities);
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(server.url), { requestInit: { headers } }));
  return closing(client);
}

type HttpLimits = Partial<ServerState['limits']>;
type HttpServerOptions = NonNullable<Parameters<typeof serveHttp>[1]>;

/** A server with its internal state, which tests wait for. */
type InspectableServer = HttpServer & AsyncDisposable & { readonly state: ServerState };

/** Starts a server on a free port. It is used too briefly to benefit from idle optimisation. */
export async function startHttp(
  settings: ServerSettingsInput = {},
  limits: HttpLimits = {},
): Promise<InspectableServer> {
  const options = { limits } as HttpServerOptions;
  const server = await serveHttp({ port: 0, optimization: 'demand', ...settings }, options);
  return closing(server) as InspectableServer;
}

/** The workspace files that the server lists as resources. */
export async function listedFiles(client: Client) {
  const { resources } = await client.listResources();
  return resources.filter(({ uri }) => uri.startsWith('workspace://'));
}

export interface ToolAnswer {
  readonly isError: boolean;
  readonly text: string;
  readonly structured: Record<string, unknown>;
  readonly content: readonly { readonly type: string; readonly [key: string]: unknown }[];
}

/** Calls a tool and splits its result into text and structured content. */
export async function call(
  client: Client,
  name: string,
  args: Record<string, unknown> = {},
  options: Parameters<Client['callTool']>[1] = {},
): Promise<ToolAnswer> {
  const result = await client.callTool({ name, arguments: args }, options);
  const content = result.content as ToolAnswer['content'];
  const text = content.find(({ type }) => type === 'text')?.['text'] as string;
  return {
    isError: result.isError === true,
    text,
    structured: (result.structuredContent ?? {}) as Record<string, unknown>,
    content,
  };
}
