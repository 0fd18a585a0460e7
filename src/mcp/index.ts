/** Public entry point `llm-wasm-sandbox/mcp`: the MCP server as a library. The root entry point does not load it. */

export { type HttpServer, type HttpServerOptions, serveHttp } from './http.ts';
export type { ServerOptions } from './server-state.ts';
export { type ServerSettings, type ServerSettingsInput, serverSettings } from './settings.ts';
export { type StdioServer, serveStdio } from './stdio.ts';
export { createTelemetry, type ServerLog, type Span, type Telemetry } from './telemetry.ts';
