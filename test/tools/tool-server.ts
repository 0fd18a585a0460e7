/** A configuration file of tool servers with `gateway-fixture.mjs` as the server `demo`. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const TOOL_SERVER = {
  command: process.execPath,
  args: [new URL('gateway-fixture.mjs', import.meta.url).pathname],
};

/** Writes the file and returns its path. `settings` are further settings of the server. */
export function writeToolsConfig(folder: string, settings: object = {}): string {
  const path = join(folder, 'tools.json');
  writeFileSync(path, JSON.stringify({ mcpServers: { demo: { ...TOOL_SERVER, ...settings } } }));
  return path;
}
