/**
 * The tools of the configured MCP servers, as one toolset with a namespace per server. Servers are contacted when a program
 * or a search first needs the tools. A server that cannot be reached has no tools until a later attempt succeeds. Tools
 * beyond the limits of a toolset are left out; servers that are configured first have precedence.
 */

import type { EventLogger } from '@llm-wasm-sandbox/core/internal';
import {
  formatItems,
  fromMcp,
  isNotReadOnly,
  type McpTool,
  ProgramStarter,
  type ToolDefinition,
  ToolError,
  Toolset,
} from '@llm-wasm-sandbox/core/internal';
import { ServerConnection } from './server-connection.ts';
import type { GatewayServer, ToolsConfig } from './tools-config.ts';

/** How long to wait before connecting again to a server that could not be reached. */
const RETRY_MS = 30_000;
/** Limits the reason in a log event, which may be text from the server. */
const MAX_REASON_CHARS = 1000;

interface GatewayOptions {
  readonly version: string;
  readonly log: EventLogger;
}

interface ToolListing {
  readonly tools: Record<string, ToolDefinition>;
  readonly failedAt?: number;
}

export class Gateway {
  readonly #starter = new ProgramStarter();
  readonly #connections: readonly ServerConnection[];
  readonly #listings = new Map<string, { readonly promise: Promise<ToolListing>; listing?: ToolListing }>();
  #built: { readonly listings: readonly ToolListing[]; readonly promise: Promise<Toolset> } | undefined;
  #toolset: Toolset | undefined;

  constructor(
    readonly config: ToolsConfig,
    readonly options: GatewayOptions,
  ) {
    this.#connections = [...config].map(
      ([name, server]) =>
        new ServerConnection(name, server, {
          version: options.version,
          starter: this.#starter,
          onExcess: (reason) =>
            options.log.warn({ event: 'gateway.closed', server: name, reason }, 'MCP server disconnected'),
        }),
    );
    if ([...config.values()].some((server) => 'command' in server)) this.#starter.prepare();
  }

  /** Names of the servers, which are the namespaces of their tools. Known before the servers are contacted. */
  get servers(): readonly string[] {
    return [...this.config.keys()];
  }

  /** The tools of all servers that can be reached. The same object is returned until the lists change. */
  async toolset(): Promise<Toolset> {
    const listings = await Promise.all(this.#connections.map((connection) => this.#list(connection)));
    if (this.#built === undefined || listings.some((listing, i) => listing !== this.#built?.listings[i]))
      this.#built = { listings, promise: this.#build(listings) };
    this.#toolset = await this.#built.promise;
    return this.#toolset;
  }

  /** The tools that are known without contacting a server; undefined if they have not been listed yet. */
  get listedToolset(): Toolset | undefined {
    return this.#toolset;
  }

  async #build(listings: readonly ToolListing[]): Promise<Toolset> {
    const record: Record<string, ToolListing['tools']> = {};
    for (const [i, { tools }] of listings.entries()) record[this.#connections[i]!.name] = tools;
    const skipped = new Map<string, { tools: number; readonly first: string }>();
    const toolset = await Toolset.fromUsable(record, ([server, tool], reason) => {
      const known = skipped.get(server!);
      if (known === undefined) skipped.set(server!, { tools: 1, first: `${tool}: ${reason}` });
      else known.tools++;
    });
    for (const [server, { tools, first }] of skipped) {
      const wasLeftOut =
        tools === 1
          ? '1 tool was left out'
          : `${formatItems(tools, 'tool')} were left out. Problem with the first`;
      const reason = `${wasLeftOut}: ${first}`;
      this.options.log.warn({ event: 'gateway.tools_skipped', server, tools, reason }, 'tools skipped');
    }
    return toolset;
  }

  /** Concurrent requests share one listing. */
  #list(connection: ServerConnection): Promise<ToolListing> {
    const { name } = connection;
    const known = this.#listings.get(name);
    const failedAt = known?.listing?.failedAt;
    if (known !== undefined && (failedAt === undefined || Date.now() - failedAt < RETRY_MS))
      return known.promise;
    const promise = this.#read(connection).then((listing) => {
      entry.listing = listing;
      return listing;
    });
    const entry: { readonly promise: Promise<ToolListing>; listing?: ToolListing } = { promise };
    this.#listings.set(name, entry);
    return promise;
  }

  async #read(connection: ServerConnection): Promise<ToolListing> {
    const { name, server } = connection;
    const { log } = this.options;
    try {
      const tools = await fromMcp(connection, {
        ...accessPolicy(server),
        onSkip: (tool, reason) =>
          log.warn({ event: 'gateway.tool_skipped', server: name, tool, reason }, 'tool skipped'),
      });
      for (const denied of server.deny) delete tools[denied];
      if (server.approval === 'deny') denyWrites(tools);
      log.info(
        { event: 'gateway.connect', server: name, tools: Object.keys(tools).length },
        'MCP server connected',
      );
      return { tools };
    } catch (cause) {
      log.warn(
        {
          event: 'gateway.unavailable',
          server: name,
          reason: reasonOf(cause as Error).slice(0, MAX_REASON_CHARS),
        },
        'MCP server unavailable',
      );
      return { tools: {}, failedAt: Date.now() };
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async close(): Promise<void> {
    await Promise.all(this.#connections.map((connection) => connection.close()));
    this.#starter.close();
  }
}

/** The operator also sees the paths that the message for programs leaves out. */
function reasonOf({ message, cause }: Error): string {
  return cause instanceof Error && message.includes('<path>') ? `${message} (${cause.message})` : message;
}

function accessPolicy({ tools, approval, timeout_seconds, max_calls }: GatewayServer) {
  return {
    ...(tools !== undefined && { tools }),
    ...(max_calls !== undefined && { maxCalls: max_calls }),
    timeoutMs: timeout_seconds * 1000,
    needsApproval: (tool: McpTool) => approval === 'ask' || (approval !== 'allow' && isNotReadOnly(tool)),
  };
}

/** Makes calls that would need approval fail without asking. */
function denyWrites(tools: Record<string, ToolDefinition>): void {
  for (const [name, tool] of Object.entries(tools)) {
    if (tool.needsApproval !== true) continue;
    const execute = async () => {
      throw new ToolError('The operator of this server does not allow calls to this tool.', 'denied');
    };
    tools[name] = { ...tool, needsApproval: false, execute };
  }
}
