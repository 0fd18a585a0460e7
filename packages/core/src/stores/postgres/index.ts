/** Public entry point `@llm-wasm-sandbox/core/stores/postgres`: sessions in a PostgreSQL database. */
export type { PostgresClient, PostgresPool, PostgresResult } from './database.ts';
export { type PostgresStore, type PostgresStoreOptions, postgresStore } from './postgres-store.ts';
