/**
 * All settings of the MCP server. The configuration file, environment variables, command-line flags and documentation
 * derive from this schema. Unknown names are rejected, so a misspelt limit is never silently ignored.
 */

import {
  commitMode,
  DEFAULT_MAXIMUMS,
  isolationMode,
  networkOnly,
  optimizationMode,
  policy,
  sandboxToolsOptions,
} from '@llm-wasm-sandbox/core/internal';
import * as z from 'zod';
import { httpSettings, MiB, positiveCount, stringList } from './http-settings.ts';

/** Schema of the settings. */
export const serverSettings = z.strictObject({
  fuel_budget: policy.shape.fuel_budget.describe(
    'Default fuel budget of a call, in WebAssembly instructions.',
  ),
  memory_bytes: policy.shape.memory_bytes.describe('Default memory limit of a program.'),
  timeout_seconds: policy.shape.timeout_seconds.describe('Default time limit of a call.'),
  max_fuel_budget: z
    .number()
    .int()
    .min(1)
    .max(Number.MAX_SAFE_INTEGER)
    .default(DEFAULT_MAXIMUMS.fuel_budget)
    .describe('Highest fuel budget that a call or session may request.'),
  max_memory_bytes: z
    .number()
    .int()
    .min(1)
    .max(4096 * MiB)
    .default(1024 * MiB)
    .describe('Highest memory limit that a session may request.'),
  max_timeout_seconds: z
    .number()
    .positive()
    .max(86_400)
    .default(DEFAULT_MAXIMUMS.timeout_seconds)
    .describe('Longest time limit that a call or session may request.'),
  error_guidance: policy.shape.error_guidance.describe(
    'Explain failures in the results of programs, with steps to fix them.',
  ),
  fuel_analysis: policy.shape.fuel_analysis.describe('Analyse the fuel use of programs in their results.'),
  tools: z
    .enum(['minimal', 'standard', 'all'])
    .default('standard')
    .describe(
      'What clients are told about tools. "minimal": only execute_code, read_file and write_file; "standard": every tool; "all": every tool, with the schema of its results, for more than twice as many tokens.',
    ),
  shell_tool: z
    .boolean()
    .default(false)
    .describe(
      'Offer the tool bash as well, with the arguments command and restart, which models know: one shell per tenant, on the files of the default workspace. Needs the package @llm-wasm-sandbox/bash.',
    ),
  tools_config: z
    .string()
    .min(1)
    .optional()
    .describe(
      'JSON file with MCP servers (mcpServers) whose tools programs may call. Without it, programs cannot call tools.',
    ),
  allow_net: networkOnly
    .default([])
    .describe(
      'URL patterns, such as https://api.example.com/v1/*, that programs may request. Does not apply to tokens that network_config names. Without allow_net and network_config, programs have no network.',
    ),
  network_config: z
    .string()
    .min(1)
    .optional()
    .describe(
      'JSON file with the requests that programs may send, for all tokens (network) or for single ones (tokens), with methods, limits and secrets.',
    ),
  session_header: z
    .boolean()
    .default(false)
    .describe(
      'Declare session_id as the HTTP header Mcp-Param-Session (x-mcp-header), so that a load balancer can route by session. Calls from 2026-era clients are then rejected if they lack the header.',
    ),
  max_output_chars: sandboxToolsOptions.shape.max_output_chars.describe(
    'Characters of output in a tool result. Longer output is truncated, with a link to the full text.',
  ),
  max_sessions: positiveCount(50, 'Sessions that one tenant may have.'),
  max_held_bytes: z
    .number()
    .int()
    .min(MiB)
    .default(2048 * MiB)
    .describe(
      'Bytes of files and interpreter memory that the sessions of all tenants may hold in memory; those of one tenant may hold half of it. At the limit, idle sessions are saved to the store and removed from memory. If that is not enough, calls fail with session_limit.',
    ),
  max_concurrent: z
    .number()
    .int()
    .min(1)
    .max(1000)
    .optional()
    .describe(
      'Programs that may run at the same time. Each has its own thread and its own memory. One tenant may run half of them, and one slot is always reserved for each tenant that has no program running. Default: four per CPU core, and at least one per token.',
    ),
  max_queued: positiveCount(100, 'Calls of one tenant that may be queued; further calls are rejected.'),
  fuel_per_minute: z
    .number()
    .int()
    .min(1)
    .max(Number.MAX_SAFE_INTEGER)
    .optional()
    .describe(
      'Fuel that all programs of one tenant together may use per minute. Further calls are rejected. By default there is no limit.',
    ),
  isolation: isolationMode
    .default('thread')
    .describe(
      'Where programs run. "thread": in threads of the server. "process": in a separate process that can read only the files of this package and of its dependency pako.',
    ),
  optimization: optimizationMode
    .default('idle')
    .describe(
      'When V8 optimises the interpreters. "idle": while no call is running, by running short programs that are part of this package. "demand": while calls are running.',
    ),
  store: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Where sessions are stored: a folder, or the address of a PostgreSQL database, such as postgres://USER:PASSWORD@HOST:PORT/DATABASE. Servers with the same database share their sessions. Without a store, sessions are lost when the server stops.',
    ),
  store_max_tenant_bytes: z
    .number()
    .int()
    .min(MiB)
    .optional()
    .describe(
      'Bytes that the sessions of one tenant may occupy in the PostgreSQL database. Shared contents count once. Calls that exceed the limit fail with session_limit. By default there is no limit.',
    ),
  store_ttl_seconds: z
    .number()
    .int()
    .min(60)
    .max(10_000_000_000)
    .optional()
    .describe('Time after which unused sessions are deleted from the PostgreSQL database; by default never.'),
  lease_seconds: z
    .number()
    .min(1)
    .max(3600)
    .default(30)
    .describe(
      'Time after which another server with the same database can take over the sessions of a server that does not respond.',
    ),
  commit: commitMode
    .default('answer')
    .describe(
      'When the effects of a tool call on a session are saved. "answer": before the call returns. "background": after the call has returned.',
    ),
  packages: z
    .array(z.string().min(1))
    .optional()
    .describe(
      'Packages that programs can import in addition to the vendored ones: names of packages added with "packages add", wheels, and folders of wheels or Python sources. "auto" adds known packages when programs import them; it cannot be combined with others or with a PostgreSQL store. Default: all added packages. Without a PostgreSQL store, the command playground uses "auto", and the command mcp does so if the person at the client agrees, who is asked once.',
    ),
  external_files: stringList('Host files or folders that programs can read under /external.'),
  log_level: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'silent'])
    .default('info')
    .describe('Lowest level of the events written to standard error.'),
  shutdown_seconds: positiveCount(
    10,
    'Time allowed for running calls to finish after the server is asked to stop.',
  ),
  ...httpSettings,
});
/** The settings of a server, with defaults filled in. */
export type ServerSettings = z.infer<typeof serverSettings>;
/** The settings of a server as a caller sets them. Settings that are left out have defaults. */
export type ServerSettingsInput = z.input<typeof serverSettings>;
export type SettingName = keyof ServerSettings;

export const SETTING_NAMES = Object.keys(serverSettings.shape) as SettingName[];

/** Settings that apply only to the HTTP transport. */
export const HTTP_SETTINGS = Object.keys(httpSettings) as SettingName[];
