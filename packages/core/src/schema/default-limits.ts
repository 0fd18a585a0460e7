/** Defaults of the limits that the command line has flags for, or mentions. Separate from the schemas, so that the command line need not load them. */
export const DEFAULT_LIMITS = {
  fuel_budget: 10_000_000_000,
  memory_bytes: 256 * 1024 * 1024,
  timeout_seconds: 30,
  stdout_max_bytes: 2_000_000,
  stderr_max_bytes: 1_000_000,
  max_processes: 50_000,
  max_process_depth: 200,
} as const;

/**
 * The highest limits that calls and sessions of the MCP server and jobs may request if no maximum is configured. At the typical
 * speed, a program reaches both at about the same time.
 */
export const DEFAULT_MAXIMUMS = {
  fuel_budget: 1_000_000_000_000,
  timeout_seconds: 300,
} as const;
