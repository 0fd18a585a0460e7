/** The MCP servers of `--tools-config`. Servers and tools that cannot be used are reported on standard error. */
import type { Gateway } from '@llm-wasm-sandbox/server/internal';
import { printWarning } from './diagnostics.ts';
import { packageInfo } from './package-info.ts';

/** `path` is undefined if the command line names no file. */
export async function openGateway(path: string | undefined): Promise<Gateway | undefined> {
  if (path === undefined) return undefined;
  const { Gateway, readToolsConfig } = await import('@llm-wasm-sandbox/server/internal');
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
