/** `llm-wasm-sandbox/adapters`: the tools of a sandbox, and sessions as sandboxes, for agent frameworks. */
export * from '@llm-wasm-sandbox/adapters';
