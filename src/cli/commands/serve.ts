/** `serve`: serves MCP over HTTP. */
import { SETTING_NAMES } from '../../mcp/settings.ts';
import { serverCommand } from './server-command.ts';

export const serveCommand = serverCommand({
  settings: SETTING_NAMES,
  examples: ['serve --port 8080', 'serve --config server.toml --print-config'],
  async start(settings, options) {
    const { serveHttp } = await import('../../mcp/http.ts');
    const server = await serveHttp(settings, options);
    const { printToStderr } = await import('../stderr-log.ts');
    printToStderr(`llm-wasm-sandbox: listening on ${server.url}`);
    return server;
  },
});
