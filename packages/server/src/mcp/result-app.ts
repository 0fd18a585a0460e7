/**
 * The app that shows the results of programs, as a resource of the MCP extension `io.modelcontextprotocol/ui`. Tools refer to it only
 * for clients that declare the extension; all others receive what they receive without it.
 */
import type { McpServer, ServerContext } from '@modelcontextprotocol/server';
import { readServerFile } from '../server/server-file.ts';
import { clientCapabilities } from './client-input.ts';

const UI_EXTENSION = 'io.modelcontextprotocol/ui';
const MIME = 'text/html;profile=mcp-app';
const APP_URI = 'ui://llm-wasm-sandbox/result';

/** The tools whose results the app shows. */
const TOOLS: ReadonlySet<string> = new Set(['execute_code', 'resume_execution']);

/** The app needs no permissions and loads nothing. */
const RESOURCE_META = { ui: { csp: {}, prefersBorder: true } };

/** The app as one HTML document. It is read when it is first needed. */
let page: string | undefined;

function showsApps({ mcpReq }: ServerContext, server: McpServer): boolean {
  const declared = clientCapabilities(mcpReq, server).extensions?.[UI_EXTENSION];
  const { mimeTypes } = (declared ?? {}) as { readonly mimeTypes?: unknown };
  return Array.isArray(mimeTypes) && mimeTypes.includes(MIME);
}

/** Adds the app to the answers of a server object whose tools and resources are registered. */
export function offerResultApp(mcp: McpServer): void {
  const { server } = mcp;
  const listTools = server['_getRequestHandler']('tools/list')!;
  server.setRequestHandler('tools/list', async (request, context) => {
    const result = (await listTools(request as never, context)) as { tools: { name: string }[] };
    if (!showsApps(context, mcp)) return result as never;
    const _meta = { ui: { resourceUri: APP_URI } };
    const tools = result.tools.map((tool) => (TOOLS.has(tool.name) ? { ...tool, _meta } : tool));
    return { ...result, tools } as never;
  });
  const readResource = server['_getRequestHandler']('resources/read')!;
  server.setRequestHandler('resources/read', async (request, context) => {
    if (request.params.uri !== APP_URI || !showsApps(context, mcp))
      return (await readResource(request as never, context)) as never;
    page ??= readServerFile('mcp/result-app.html').toString('utf8');
    return { contents: [{ uri: APP_URI, mimeType: MIME, text: page, _meta: RESOURCE_META }] };
  });
}
