/**
 * Generates server.json, the entry for the MCP registry. Name and version come from package.json, the environment variable
 * from the table of server settings.
 */
const SCHEMA = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json';

export function registryText({ name, version, mcpName }, { environmentName, serverSettings }) {
  const variable = (setting) => ({
    name: environmentName(setting),
    description: `${serverSettings.shape[setting].description} Separate several paths with commas.`,
    isRequired: false,
  });
  const entry = {
    $schema: SCHEMA,
    name: mcpName,
    title: 'LLM WASM Sandbox',
    description:
      'Run Python and JavaScript in an isolated, metered WebAssembly sandbox with sessions, files and undo.',
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
