/** Public entry point `llm-wasm-sandbox/mcp`: the MCP server as a library. The root entry point does not load it. */

export type { ServerOptions } from '../server/server-state.ts';
export { type ServerSettings, type ServerSettingsInput, serverSettings } from '../server/settings.ts';
export { createTelemetry, type ServerLog, type Span, type Telemetry } from '../server/telemetry.ts';
export { type HttpServer, type HttpServerOptions, serveHttp } from './http.ts';
export { type StdioServer, serveStdio } from './stdio.ts';
