/**
 * Public entry point `llm-wasm-sandbox/mcp`: servers as a library. An HTTP server answers MCP and the protocols that its
 * settings name, which are loaded only then. The root entry point does not load it.
 */
import { SandboxError } from '@llm-wasm-sandbox/core/internal';
import { MCP_PATH, type McpOptions, McpProtocol } from './mcp/mcp-protocol.ts';
import { startHttpServer } from './server/http-server.ts';
import type { Protocol } from './server/protocol.ts';
import { resolveSettings } from './server/resolve-settings.ts';
import { type ServerOptions, ServerState } from './server/server-state.ts';
import {
  type ServerSettings,
  type ServerSettingsInput,
  serverSettings as settingsSchema,
} from './server/settings.ts';

export { type StdioServer, serveStdio } from './mcp/stdio.ts';
export type { ServerOptions } from './server/server-state.ts';
export type { ServerSettings, ServerSettingsInput } from './server/settings.ts';
export { createTelemetry, type ServerLog, type Span, type Telemetry } from './server/telemetry.ts';

/** Checks settings of a server and fills in the defaults. */
const checkedSettings: {
  parse(settings: ServerSettingsInput): ServerSettings;
} = settingsSchema;

export { checkedSettings as serverSettings };

/** A running HTTP server. Created by `serveHttp`. */
export interface HttpServer {
  /** URL of the MCP endpoint. */
  readonly url: string;
  /** @internal */
  readonly state: ServerState;
  /** Resolves when the server has stopped. Rejects if a session could not be saved. */
  readonly closed: Promise<void>;
  /**
   * Stops the server. Waits up to `shutdown_seconds` for running calls and cancels the others. Then saves the sessions.
   * Rejects if a session could not be saved.
   */
  close(): Promise<void>;
}

/** Options of `serveHttp` that are not settings. */
export interface HttpServerOptions extends ServerOptions, McpOptions {}

/**
 * Starts an MCP server over HTTP. Resolves when it accepts connections. Throws `invalid_argument` if the settings are
 * invalid.
 */
export async function serveHttp(
  input: ServerSettingsInput = {},
  options: HttpServerOptions = {},
): Promise<HttpServer> {
  const settings = resolveSettings(input);
  checkPlayground(settings);
  const state = new ServerState(settings, options);
  return startHttpServer(state, MCP_PATH, () => openProtocols(state, options));
}

/** The protocols of a server, in the order in which their paths are compared. E2B has all other paths. */
async function openProtocols(state: ServerState, options: McpOptions): Promise<Protocol[]> {
  const { playground, jupyter, e2b } = state.settings;
  const protocols: Protocol[] = [new McpProtocol(state, options)];
  if (playground) protocols.push((await import('./playground/routes.ts')).createPlayground(state));
  if (jupyter) protocols.push(new (await import('./jupyter/jupyter-server.ts')).JupyterServer(state));
  if (e2b) protocols.push(new (await import('./e2b/e2b-server.ts')).E2bServer(state));
  return protocols;
}

/** The page cannot tell users of this machine apart, so it needs a token even on the loopback interface. */
function checkPlayground({ playground, tokens }: ServerSettings): void {
  if (!playground || tokens.length > 0) return;
  throw new SandboxError(
    'invalid_argument',
    'playground: a token is required. Set one with --token or LLM_WASM_SANDBOX_TOKENS, or run the command "playground", which creates one.',
  );
}
