/**
 * The schemas of all data that crosses the API: policy, options, results, session records. Types, defaults, error
 * messages, editor hints, CLI flags and documentation tables derive from them. Data is snake_case, as in docs/specification.md;
 * callbacks are camelCase.
 */
export * from './schema/batch-options.ts';
export { DEFAULT_MAXIMUMS } from './schema/default-limits.ts';
export * from './schema/display-result.ts';
export * from './schema/guest-report.ts';
export * from './schema/names.ts';
export * from './schema/network-policy.ts';
export * from './schema/network-record.ts';
export * from './schema/package-facts.ts';
export * from './schema/parse.ts';
export * from './schema/paused-execution.ts';
export * from './schema/policy.ts';
export * from './schema/pool-options.ts';
export * from './schema/report-limits.ts';
export * from './schema/result.ts';
export * from './schema/runtime-names.ts';
export * from './schema/sandbox-options.ts';
export * from './schema/sandbox-tools-options.ts';
export * from './schema/session-options.ts';
export * from './schema/session-record.ts';
export * from './schema/tool-call-record.ts';
export * from './schema/traps.ts';
