/**
 * The entry for the MCP registry, server.json. Name and version come from package.json, which is the only place where
 * whoever publishes sets them; the variable comes from the table of settings.
 */
const SCHEMA = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json';

export function registryText({ name, version, mcpName }, { environmentName, serverSettings }) {
  const variable = (setting) => ({
    name: environmentName(setting),
    description: `${serverSettings.shape[setting].description} Several are separated by commas.`,
    isRequired: false,
  });
  const entry = {
    $schema: SCHEMA,
    name: mcpName,
    title: 'LLM WASM Sandbox',
    description:
      'Run Python and JavaScript in a sealed, metered WebAssembly sandbox with sessions, files and undo.',
    version,
    packages: [
      {
        registryType: 'npm',
        identifier: name,
        version,
        runtimeHint: 'npx',
        transport: { type: 'stdio' },
        packageArguments: [{ type: 'positional', value: 'mcp' }],
        environmentVariables: [variable('external_files')],
      },
    ],
  };
  return `${JSON.stringify(entry, undefined, 2)}\n`;
}
