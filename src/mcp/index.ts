/** The MCP server as a library: `llm-wasm-sandbox/mcp`. The package's root entry does not load it. */

export { type HttpServer, serveHttp } from './http.ts';
export { type Observer, openObserver, type ServerLog } from './observability.ts';
export type { HouseOptions } from './server-context.ts';
export { type ServerSettings, type ServerSettingsInput, serverSettings } from './settings.ts';
export { type StdioServer, serveStdio } from './stdio.ts';
export { toolTable } from './tools/index.ts';
