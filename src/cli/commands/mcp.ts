/** `mcp`: serves MCP over standard input and output. */
import { HTTP_SETTINGS, SETTING_NAMES } from '../../server/settings.ts';
import { serverCommand } from './server-command.ts';

export const mcpCommand = serverCommand({
  settings: SETTING_NAMES.filter((name) => !HTTP_SETTINGS.includes(name)),
  examples: ['mcp', 'mcp --data-dir ./sessions --external-files ./data'],
  async start(settings, options) {
    const { serveStdio } = await import('../../mcp/stdio.ts');
    return serveStdio(settings, options);
  },
});
