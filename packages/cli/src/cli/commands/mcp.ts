/** `mcp`: serves MCP over standard input and output. */
import { HTTP_SETTINGS, SETTING_NAMES } from '@llm-wasm-sandbox/server/internal';
import { serverCommand } from './server-command.ts';

export default serverCommand('mcp', {
  usual: [
    'store',
    'packages',
    'external_files',
    'tools_config',
    'allow_net',
    'shell_tool',
    'memory_bytes',
    'timeout_seconds',
    'log_level',
  ],
  settings: SETTING_NAMES.filter((name) => !HTTP_SETTINGS.includes(name)),
  examples: ['mcp', 'mcp --store ./sessions --external-files ./data'],
  async start(settings, options) {
    const { serveStdio } = await import('@llm-wasm-sandbox/server/mcp');
    return serveStdio(settings, options);
  },
});
