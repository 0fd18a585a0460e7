/** `llm-wasm-sandbox/mcp`: the MCP server as a library. */
export * from '@llm-wasm-sandbox/server/mcp';
