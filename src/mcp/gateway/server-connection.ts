/**
 * The connection to one MCP server. It is opened on first use and reopened after it was lost. A failed call is never
 * repeated, because it may have taken effect.
 */
import type { Client, Transport } from '@modelcontextprotocol/client';
import type { McpClient } from '../../tools/from-mcp.ts';
import { ToolError } from '../../tools/tool-error.ts';
import { ChildProcessTransport } from './child-process-transport.ts';
import { limitMessages } from './message-limit.ts';
import type { GatewayServer } from './tools-config.ts';

const CONNECT_MS = 20_000;
const MAX_LIST_PAGES = 50;

interface CallOptions {
  readonly signal?: AbortSignal;
  readonly timeout?: number;
}

export class ServerConnection implements McpClient {
  #client: Promise<Client> | undefined;
  /** The client that is connecting. */
  #connecting: Client | undefined;
  #isClosed = false;

  constructor(
    readonly name: string,
    readonly server: GatewayServer,
    readonly version: string,
  ) {}

  async listTools(params: { readonly cursor?: string } = {}): Promise<unknown> {
    const client = await this.#connect();
    // With a cursor, the SDK returns one page and does not cache the list.
    return client.listTools({ ...params }, { timeout: CONNECT_MS });
  }

  /** Must have two parameters: `fromMcp` detects the version of the SDK by their number. */
  async callTool(
    params: { name: string; arguments?: Record<string, unknown> },
    options: CallOptions,
  ): Promise<unknown> {
    const client = await this.#connect();
    return client.callTool(params, options);
  }

  #connect(): Promise<Client> {
    if (this.#isClosed) throw new ToolError(`The connection to ${this.name} is closed.`);
    if (this.#client === undefined) {
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
      { name: 'llm-wasm-sandbox', version: this.version },
      {
        capabilities: {},
        listMaxPages: MAX_LIST_PAGES,
        // This project validates results itself. The validator of the SDK compiles schemas of the server to code.
        jsonSchemaValidator: {
          getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }),
        },
      },
    );
    this.#connecting = client;
    try {
      await client.connect(await this.#transport(sdk), { timeout: CONNECT_MS });
    } catch (cause) {
      await client.close().catch(() => {});
      throw new ToolError(`The MCP server ${this.name} could not be reached.`, 'failed', { cause });
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

  async #transport(sdk: typeof import('@modelcontextprotocol/client')): Promise<Transport> {
    const { server } = this;
    if ('command' in server) return new ChildProcessTransport(server, sdk);
    const transport = new sdk.StreamableHTTPClientTransport(new URL(server.url), {
      requestInit: { headers: server.headers },
      // Closing the connection also fails the calls that wait for a message.
      fetch: limitMessages(() => void transport.close().catch(() => {})),
    });
    return transport;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    // Ends the attempt to connect, which would otherwise last until its time limit.
    await this.#connecting?.close().catch(() => {});
    const client = await this.#client?.catch(() => undefined);
    await client?.close().catch(() => {});
  }
}
