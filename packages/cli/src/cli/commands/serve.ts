/** `serve`: serves MCP over HTTP. */
import { SandboxError } from '@llm-wasm-sandbox/core/internal';
import { SETTING_NAMES } from '@llm-wasm-sandbox/server/internal';
import { serverCommand } from './server-command.ts';

/** The address of the server for clients on this machine. */
const localOrigin = (url: string) =>
  new URL(url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:')).origin;

const jupyterAddress = (url: string) =>
  `Clients of Jupyter connect to ${localOrigin(url)}/ with the secret of a token, if the server has tokens.`;

/** The environment variables that lead the SDKs of E2B to the server. */
function e2bVariables(url: string, hasTokens: boolean): string {
  const origin = localOrigin(url);
  const key = hasTokens ? 'SECRET  # the secret of a token' : 'any  # this server has no tokens';
  return `Clients of E2B need these variables:\n  export E2B_API_URL=${origin}\n  export E2B_SANDBOX_URL=${origin}\n  export E2B_API_KEY=${key}`;
}

export default serverCommand('serve', {
  settings: SETTING_NAMES,
  usual: ['host', 'port', 'tokens', 'store', 'packages', 'tools_config', 'allow_net', 'e2b', 'jupyter'],
  examples: ['serve --port 8080', 'serve --config server.toml --print-config'],
  async start(settings, options) {
    // The clients of the server have the tokens that open the page, so a model could approve its own calls there.
    if (settings.playground && settings.tools_config !== undefined)
      throw new SandboxError(
        'invalid_argument',
        'playground: cannot be combined with tools_config, because every client could approve its own tool calls on the page. Run the command "playground" with --tools-config instead.',
      );
    const { asksPersons } = await import('@llm-wasm-sandbox/server/internal');
    if (settings.playground && asksPersons(settings))
      throw new SandboxError(
        'invalid_argument',
        'playground: cannot be combined with "ask" in network_config, because every client could approve its own requests on the page. Run the command "playground" with --network-config instead.',
      );
    const { serveHttp } = await import('@llm-wasm-sandbox/server/mcp');
    const server = await serveHttp(settings, options);
    const { printToStderr } = await import('../stderr-log.ts');
    printToStderr(`llm-wasm-sandbox: listening on ${server.url}`);
    if (settings.jupyter) printToStderr(jupyterAddress(server.url));
    if (settings.e2b) printToStderr(e2bVariables(server.url, settings.tokens.length > 0));
    return server;
  },
});
