/** The public surface of llm-wasm-sandbox: the library, and the job queue of the server. */
export * from '@llm-wasm-sandbox/core';
export * from '@llm-wasm-sandbox/server/jobs';
