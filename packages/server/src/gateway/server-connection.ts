/**
 * The connection to one MCP server. It is opened on first use and reopened after it was lost. A failed call is never
 * repeated, because it may have taken effect. A server that exceeds a limit is disconnected.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { McpClient, ProgramStarter } from '@llm-wasm-sandbox/core/internal';
import { formatItems, hostMessage, MAX_TOOLS, ToolError } from '@llm-wasm-sandbox/core/internal';
import type { Client, Tool, Transport } from '@modelcontextprotocol/client';
import { ChildProcessTransport } from './child-process-transport.ts';
import { limitedFetch, ServerTraffic, TrafficError } from './server-traffic.ts';
import type { GatewayServer } from './tools-config.ts';

const CONNECT_MS = 20_000;
/** After this time, a connection that is being closed is abandoned. */
const CLOSE_MS = 4000;
/** Accepts any result. `fromMcp` checks what it uses; the schemas of the SDK take longer for large results. */
const ANY_RESULT = {
  '~standard': {
    version: 1 as const,
    vendor: 'llm-wasm-sandbox',
    validate: (value: unknown) => ({ value }),
  },
};

/** Why a connection failed. That a program has exited says more than that the connection is closed. */
async function rootCause(error: unknown, transport: Transport): Promise<unknown> {
  const exited = transport instanceof ChildProcessTransport ? await transport.exited : undefined;
  if (exited !== undefined && /closed/i.test((error as Error).message)) return new Error(exited);
  const { cause } = error as Error;
  return cause instanceof Error ? cause : error;
}

interface CallOptions {
  readonly signal?: AbortSignal;
  readonly timeout?: number;
}

interface ConnectionOptions {
  readonly version: string;
  /** Starts the servers that are programs. */
  readonly starter: ProgramStarter;
  /** Called when the connection is closed because the server has exceeded a limit. */
  readonly onExcess: (reason: string) => void;
}

export class ServerConnection implements McpClient {
  #client: Promise<Client> | undefined;
  /** The client that is connecting. */
  #connecting: Client | undefined;
  #isClosed = false;
  readonly #traffic = new ServerTraffic();
  /** The tools whose arguments are repeated in headers. */
  readonly #withHeaders = new Map<string, Tool>();
  /** Why the last connection was closed, if the server has exceeded a limit. */
  #excess: ToolError | undefined;

  constructor(
    readonly name: string,
    readonly server: GatewayServer,
    readonly options: ConnectionOptions,
  ) {}

  async listTools(params: { readonly cursor?: string } = {}): Promise<unknown> {
    const client = await this.#connect();
    const request = { method: 'tools/list' as const, params: { ...params } };
    const result = await this.#explain(client.request(request, ANY_RESULT, { timeout: CONNECT_MS }));
    if ('url' in this.server) this.#rememberHeaders(result);
    return result;
  }

  /** Over HTTP, the SDK repeats arguments in headers if the schema of a tool says so. */
  #rememberHeaders(list: unknown): void {
    const { tools } = list as { tools?: unknown };
    for (const tool of Array.isArray(tools) ? tools.slice(0, MAX_TOOLS) : []) {
      const { name, inputSchema } = (tool ?? {}) as { name?: unknown; inputSchema?: unknown };
      if (typeof name !== 'string' || this.#withHeaders.size >= MAX_TOOLS) continue;
      // biome-ignore lint/plugin: one schema in a message of a tool server, at most 10 MiB
      if (JSON.stringify(inputSchema ?? null).includes('"x-mcp-header"'))
        this.#withHeaders.set(name, { name, inputSchema } as Tool);
    }
  }

  /** Must have two parameters: `fromMcp` detects the version of the SDK by their number. */
  async callTool(
    params: { name: string; arguments?: Record<string, unknown> },
    options: CallOptions,
  ): Promise<unknown> {
    const client = await this.#connect();
    const toolDefinition = this.#withHeaders.get(params.name);
    return this.#explain(
      toolDefinition === undefined
        ? client.request({ method: 'tools/call', params }, ANY_RESULT, options)
        : client.callTool(params, { ...options, toolDefinition }),
    );
  }

  /** If the connection was closed because of a limit, calls fail for this reason. */
  async #explain<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (cause) {
      throw this.#excess ?? cause;
    }
  }

  readonly #onExceeded = ({ message }: TrafficError) => {
    this.#excess = new ToolError(`The connection to the MCP server ${this.name} was closed: ${message}.`);
    this.options.onExcess(message);
  };

  #connect(): Promise<Client> {
    if (this.#isClosed) throw new ToolError(`The connection to ${this.name} is closed.`);
    if (this.#client === undefined) {
      const seconds = this.#traffic.secondsToWait;
      if (seconds > 0 && this.#excess !== undefined)
        throw new ToolError(
          `${this.#excess.message} It can be used again in ${formatItems(seconds, 'second')}.`,
        );
      this.#excess = undefined;
      const opening = this.#open();
      this.#client = opening;
      opening.catch(() => this.#forget(opening));
    }
    return this.#client;
  }

  #forget(opening: Promise<Client>): void {
    if (this.#client === opening) this.#client = undefined;
  }

  async #open(): Promise<Client> {
    // The client of the SDK is loaded only by servers with a tools configuration.
    const sdk = await import('@modelcontextprotocol/client');
    const client = new sdk.Client(
      { name: 'llm-wasm-sandbox', version: this.options.version },
      {
        capabilities: {},
      },
    );
    this.#connecting = client;
    const transport = this.#transport(sdk);
    try {
      await client.connect(transport, { timeout: CONNECT_MS });
    } catch (error) {
      await client.close().catch(() => {});
      const cause = await rootCause(error, transport);
      const message = `The MCP server ${this.name} could not be reached: ${hostMessage(cause)}`;
      throw this.#excess ?? new ToolError(message, 'failed', { cause });
    } finally {
      this.#connecting = undefined;
    }
    const opened = this.#client;
    client.onclose = () => {
      if (opened !== undefined) this.#forget(opened);
    };
    if (this.#isClosed) await client.close();
    return client;
  }

  #transport(sdk: typeof import('@modelcontextprotocol/client')): Transport {
    const { server } = this;
    if ('command' in server) {
      const transport = new ChildProcessTransport(server, this.options.starter, sdk, this.#traffic);
      // The client of the SDK calls this function before its own.
      transport.onerror = (error) => {
        if (error instanceof TrafficError) this.#onExceeded(error);
      };
      return transport;
    }
    const transport = new sdk.StreamableHTTPClientTransport(new URL(server.url), {
      requestInit: { headers: server.headers },
      // Closing the connection also fails the calls that wait for a message.
      fetch: limitedFetch(this.#traffic, (error) => {
        this.#onExceeded(error);
        transport.close().catch(() => {});
      }),
    });
    return transport;
  }

  /** Closes the connection. Waits a limited time for the server. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const stop = new AbortController();
    await Promise.race([this.#close(), delay(CLOSE_MS, undefined, { signal: stop.signal }).catch(() => {})]);
    stop.abort();
  }

  async #close(): Promise<void> {
    // Ends the attempt to connect, which would otherwise last until its time limit.
    await this.#connecting?.close().catch(() => {});
    const client = await this.#client?.catch(() => undefined);
    await client?.close().catch(() => {});
  }
}
