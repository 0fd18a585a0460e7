/** The MCP servers of `--tools-config`. Servers and tools that cannot be used are reported on standard error. */
import { Gateway } from '../gateway/gateway.ts';
import { readToolsConfig } from '../gateway/tools-config.ts';
import { printWarning } from './diagnostics.ts';
import { packageInfo } from './package-info.ts';

export function openGateway(path: string): Gateway {
  const warn = (fields: { server?: string; tool?: string; reason?: string }) => {
    const { server, tool, reason } = fields;
    const what = tool === undefined ? `MCP server ${server}` : `tool ${tool} of MCP server ${server}`;
    printWarning(`${what}: ${reason}`);
  };
  return new Gateway(readToolsConfig(path), {
    version: packageInfo().version,
    log: { info: () => {}, warn },
  });
}
