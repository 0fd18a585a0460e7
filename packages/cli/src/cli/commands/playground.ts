/**
 * `playground`: serves the playground on the loopback interface under a random token and opens it in the browser. The token
 * is in the fragment of the address, which browsers do not send to servers.
 */
import { randomBytes } from 'node:crypto';
import { AUTO, isDatabaseAddress } from '@llm-wasm-sandbox/core/internal';
import { SETTING_NAMES, type SettingName } from '@llm-wasm-sandbox/server/internal';
import { Option } from 'commander';
import { serverCommand } from './server-command.ts';

const MiB = 1024 * 1024;

/** Settings that the command sets itself, or that concern MCP clients only. */
const LEFT_OUT: readonly SettingName[] = [
  'tools',
  'max_output_chars',
  'host',
  'playground',
  'tokens',
  'metrics_token',
  'allowed_hosts',
  'cors_origins',
];

export default serverCommand('playground', {
  usual: ['port', 'store', 'packages', 'external_files', 'tools_config', 'allow_net'],
  settings: SETTING_NAMES.filter((name) => !LEFT_OUT.includes(name)),
  options: [new Option('--no-open', 'Print the address without opening it in the browser')],
  examples: ['playground', 'playground --tools-config tools.json --no-open'],
  defaults: { port: 0, log_level: 'warn', max_body_bytes: 64 * MiB },
  overrides: () => ({
    host: '127.0.0.1',
    playground: true,
    tokens: [`playground=${randomBytes(24).toString('base64url')}`],
    allowed_hosts: [],
    cors_origins: [],
  }),
  async start(settings, options, { open }) {
    const { serveHttp } = await import('@llm-wasm-sandbox/server/mcp');
    const isShared = isDatabaseAddress(settings.store ?? '');
    const packages = settings.packages ?? (isShared ? undefined : [AUTO]);
    const server = await serveHttp({ ...settings, packages }, options);
    const secret = settings.tokens[0]!.replace(/^playground=/, '');
    const address = `${new URL('/playground/', server.url)}#token=${secret}`;
    process.stdout.write(`${address}\n`);
    if (open !== false) {
      const { openInBrowser } = await import('../open-in-browser.ts');
      openInBrowser(address);
    }
    return server;
  },
});
