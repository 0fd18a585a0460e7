/** What a client can do. Clients of 2026 state it with each request, clients of 2025 when they connect. */
import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';

/** The capabilities in a request of 2026; undefined if it has none. */
export function statedCapabilities({
  envelope,
}: Pick<ServerContext['mcpReq'], 'envelope'>): ClientCapabilities | undefined {
  return (envelope as Record<string, unknown> | undefined)?.[CLIENT_CAPABILITIES_META_KEY] as
    | ClientCapabilities
    | undefined;
}

export const clientCapabilities = (
  request: ServerContext['mcpReq'],
  { server }: McpServer,
): ClientCapabilities => statedCapabilities(request) ?? server.getClientCapabilities() ?? {};
