/** The MCP server as a library: `llm-wasm-sandbox/mcp`. The package's root entry does not load it. */

export { type HttpServer, serveHttp } from './http.ts';
export type { ServerOptions } from './server-state.ts';
export { type ServerSettings, type ServerSettingsInput, serverSettings } from './settings.ts';
export { type StdioServer, serveStdio } from './stdio.ts';
export { createTelemetry, type ServerLog, type Telemetry } from './telemetry.ts';
export { toolTable } from './tools/index.ts';
