/**
 * All settings of the MCP server. The configuration file, environment variables, command-line flags and documentation
 * derive from this schema. Unknown names are rejected, so a misspelt limit is never silently ignored.
 */
import { z } from 'zod';
import { SandboxError } from '../errors.ts';
import { CEILINGS, commitMode, isolationMode, optimizationMode, parse, policy } from '../schema.ts';
import { isDatabaseAddress } from '../stores/database-address.ts';
import { parseTokens } from './tokens.ts';

const MiB = 1024 * 1024;

const count = (fallback: number, description: string) =>
  z.number().int().min(1).max(1_000_000).default(fallback).describe(description);
const list = (description: string) => z.array(z.string().min(1)).default([]).describe(description);

const SECRET = /^[\x21-\x7e]{16,512}$/;
const token = z
  .string()
  .regex(
    /^(?:[\w.-]{1,64}=)?[\x21-\x7e]{16,512}$/,
    'must be SECRET or NAME=SECRET, where SECRET has at least 16 characters and no spaces',
  );

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
    .default(CEILINGS.fuel_budget)
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
    .default(CEILINGS.timeout_seconds)
    .describe('Longest time limit that a call or session may request.'),
  tools: z
    .enum(['minimal', 'standard', 'all'])
    .default('all')
    .describe(
      'Tools that clients see. "minimal": execute_code, read_file and write_file; "standard": also the most used tools for cancellation, sessions, checkpoints, files and packages; "all": every tool. With "minimal" and "standard", results are text without structured content.',
    ),
  tools_config: z
    .string()
    .min(1)
    .optional()
    .describe(
      'JSON file with MCP servers (mcpServers) whose tools programs may call. Without it, programs cannot call tools.',
    ),
  session_header: z
    .boolean()
    .default(false)
    .describe(
      'Declare session_id as the HTTP header Mcp-Param-Session (x-mcp-header), so that a load balancer can route by session. Calls from 2026-era clients that lack the header are then rejected.',
    ),
  inline_images: z
    .boolean()
    .default(false)
    .describe(
      'Return images that programs display as image blocks of execute_code, whose results then have no structured content; otherwise view_result returns them.',
    ),
  max_output_chars: z
    .number()
    .int()
    .min(200)
    .max(60_000)
    .default(20_000)
    .describe(
      'Characters of output in a tool result; longer output is truncated, with a link to the full text.',
    ),
  max_resource_bytes: z
    .number()
    .int()
    .min(1024)
    .max(64 * MiB)
    .default(4 * MiB)
    .describe('Maximum size of a workspace file or output that a client can read as a resource.'),
  max_sessions: count(50, 'Sessions that one tenant may have.'),
  max_held_bytes: z
    .number()
    .int()
    .min(MiB)
    .default(2048 * MiB)
    .describe(
      'Bytes of files and interpreter memory that the sessions of all tenants may hold in memory. At the limit, idle sessions are unloaded to data_dir or store; if that is not enough, calls fail with session_limit.',
    ),
  max_held_bytes_per_tenant: z
    .number()
    .int()
    .min(MiB)
    .default(1024 * MiB)
    .describe('The same limit for the sessions of one tenant.'),
  max_concurrent: z
    .number()
    .int()
    .min(1)
    .max(1000)
    .optional()
    .describe(
      'Programs that may run at the same time, each in its own thread with its own memory; by default four per CPU core, at least one per token.',
    ),
  max_concurrent_per_caller: z
    .number()
    .int()
    .min(1)
    .optional()
    .describe(
      'Programs of one tenant that may run at the same time; by default two per CPU core. One slot is always reserved for each tenant that has no program running.',
    ),
  max_queued: count(100, 'Calls of one tenant that may be queued; further calls are rejected.'),
  fuel_per_minute: z
    .number()
    .int()
    .min(1)
    .max(Number.MAX_SAFE_INTEGER)
    .optional()
    .describe(
      'Fuel that all programs of one tenant together may use per minute; further calls are rejected. By default there is no limit.',
    ),
  isolation: isolationMode
    .default('thread')
    .describe(
      'Where programs run: "thread": in threads of the server; "process": in a separate process that can read only the files of this package and of its dependency zod.',
    ),
  optimization: optimizationMode
    .default('idle')
    .describe(
      'When V8 optimises the interpreters: "idle": before calls need it, by running short programs of this package while no call runs; "demand": while calls run.',
    ),
  data_dir: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Folder in which sessions are stored. Without it and without store, sessions are lost when the server stops.',
    ),
  store: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Where sessions are stored, instead of data_dir: a folder, or the address of a PostgreSQL database, such as postgres://USER:PASSWORD@HOST:PORT/DATABASE. Servers with the same database share their sessions.',
    ),
  store_connections: count(10, 'Maximum number of connections to the database of store.'),
  store_max_tenant_bytes: z
    .number()
    .int()
    .min(MiB)
    .optional()
    .describe(
      'Bytes that the sessions of one tenant may take in the database of store; contents that they share count once. Calls that exceed it fail with session_limit. By default there is no limit.',
    ),
  store_ttl_seconds: z
    .number()
    .int()
    .min(60)
    .max(10_000_000_000)
    .optional()
    .describe('Time after which unused sessions are deleted from the database of store; by default never.'),
  lease_seconds: z
    .number()
    .min(1)
    .max(3600)
    .default(30)
    .describe(
      'Time after which another server with the same database can take over the sessions of a server that does not respond.',
    ),
  lease_wait_seconds: z
    .number()
    .min(0)
    .max(3600)
    .default(20)
    .describe(
      'How long a call waits for a session that another server with the same database is using, before it fails with session_busy.',
    ),
  commit: commitMode
    .default('answer')
    .describe(
      'When the effects of a tool call on a session are saved: "answer": before the call returns; "background": afterwards.',
    ),
  packages: z
    .array(z.string().min(1))
    .optional()
    .describe(
      'Packages that programs can import beyond the vendored ones: names of packages that "packages add" has added, wheels, or folders of wheels. By default all added packages.',
    ),
  external_files: list('Host files or folders that programs can read under /external.'),
  log_program_data: z
    .boolean()
    .default(false)
    .describe('Allow log events to quote programs, for example the line and message of an error.'),
  log_level: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'silent'])
    .default('info')
    .describe('Lowest level of the events written to standard error.'),
  shutdown_seconds: count(10, 'Time allowed for running calls to finish after the server is asked to stop.'),
  host: z.string().min(1).default('127.0.0.1').describe('Address to listen on.'),
  port: z
    .number()
    .int()
    .min(0)
    .max(65_535)
    .default(8765)
    .describe('Port to listen on; 0 selects a free port.'),
  path: z
    .string()
    .regex(/^\/[\w./-]*$/, 'must begin with "/"')
    .default('/mcp')
    .describe('Path of the MCP endpoint.'),
  playground: z
    .boolean()
    .default(false)
    .describe('Serve the playground, a web page for running programs, at /playground/. Requires a token.'),
  tokens: z
    .array(token)
    .default([])
    .describe(
      'Bearer tokens, as SECRET or NAME=SECRET; each token is a separate tenant. The name identifies the stored sessions of the tenant; without a name, a digest of the secret does.',
    ),
  metrics_token: z
    .string()
    .regex(SECRET, 'must have at least 16 characters and no spaces')
    .optional()
    .describe(
      'Bearer token for /metrics, which shows metrics of all tenants. Without it, /metrics is available only if there are no tokens.',
    ),
  allowed_hosts: list(
    'Host names accepted in the Host header in addition to loopback names; "*" accepts any.',
  ),
  cors_origins: list('Origins of web pages that may call the server, such as https://app.example.'),
  max_body_bytes: z
    .number()
    .int()
    .min(1024)
    .max(256 * MiB)
    .default(4 * MiB)
    .describe('Maximum size of a request body.'),
  max_buffered_bytes: z
    .number()
    .int()
    .min(1024)
    .max(4096 * MiB)
    .default(64 * MiB)
    .describe(
      'Bytes of request bodies in progress and of responses that are not yet received, per tenant. Further requests are rejected, and responses beyond the limit are cut off.',
    ),
  max_connection_bytes: z
    .number()
    .int()
    .min(1024)
    .max(4096 * MiB)
    .default(32 * MiB)
    .describe(
      'The same limit for one connection, so that a client that does not read its responses affects only itself.',
    ),
  max_connections: count(
    512,
    'Open connections; when the limit is reached, an idle one is closed, or the new one if none is idle.',
  ),
  write_timeout_seconds: count(
    30,
    'Time after which the server closes a connection whose client does not read a pending response.',
  ),
  rate_per_minute: count(600, 'Requests that one tenant may send per minute.'),
  cpu_seconds_per_minute: z
    .number()
    .positive()
    .max(60)
    .default(30)
    .describe(
      'Seconds of main-thread time that the requests of one tenant may use per minute. This covers reading, validating and answering requests, not running programs, which have their own threads. Further requests are rejected with rate_limited.',
    ),
  max_clients: count(
    256,
    'Open connections of 2025-era clients; when the limit is reached, an idle one is closed.',
  ),
  client_idle_seconds: count(1800, 'Idle time after which a connection of a 2025-era client is closed.'),
});
/** Complete settings. */
export type ServerSettings = z.infer<typeof serverSettings>;
/** Settings as given by the user; every field is optional. */
export type ServerSettingsInput = z.input<typeof serverSettings>;
export type SettingName = keyof ServerSettings;

export const SETTING_NAMES = Object.keys(serverSettings.shape) as SettingName[];
const ENVIRONMENT_PREFIX = 'LLM_WASM_SANDBOX_';

/** Settings that apply only to the HTTP transport. */
export const HTTP_SETTINGS: readonly SettingName[] = SETTING_NAMES.slice(SETTING_NAMES.indexOf('host'));

export function environmentName(name: SettingName): string {
  return ENVIRONMENT_PREFIX + name.toUpperCase();
}

/** Reads settings from environment variables. An unknown name with the prefix is kept, so that validation rejects it. */
export function settingsFromEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): Record<string, unknown> {
  const settings: Record<string, unknown> = {};
  for (const [variable, text] of Object.entries(env)) {
    if (!variable.startsWith(ENVIRONMENT_PREFIX) || text === undefined) continue;
    const name = variable.slice(ENVIRONMENT_PREFIX.length).toLowerCase();
    settings[name] = parseSettingText(name, text);
  }
  return settings;
}

/** Parses the value of a setting from text; lists are separated by commas. Invalid text is left for validation to reject. */
export function parseSettingText(name: string, text: string): unknown {
  const kind = settingKind(name);
  // An empty list of tokens would turn off authentication, so an empty token is left for validation to reject.
  if (kind === 'list') return text.split(',').filter((part) => part !== '' || name === 'tokens');
  if (kind === 'boolean' && /^(?:true|false)$/.test(text)) return text === 'true';
  if (kind === 'number' && /^\d[\d_]*(\.\d+)?$/.test(text)) return Number(text.replaceAll('_', ''));
  return text;
}

export function settingKind(name: string): 'number' | 'list' | 'boolean' | 'text' {
  const field = (serverSettings.shape as Record<string, z.ZodType>)[name];
  if (field === undefined) return 'text';
  const inner = field instanceof z.ZodDefault || field instanceof z.ZodOptional ? field.unwrap() : field;
  if (inner instanceof z.ZodNumber) return 'number';
  if (inner instanceof z.ZodArray) return 'list';
  return inner instanceof z.ZodBoolean ? 'boolean' : 'text';
}

/** Merges and validates sources of settings; later sources take precedence. */
export function resolveSettings(...sources: readonly Record<string, unknown>[]): ServerSettings {
  const settings = parse(serverSettings, mergeSources(sources), 'settings');
  parseTokens(settings);
  checkDatabaseSettings(settings);
  for (const [limit, maximum] of LIMITS) {
    if (settings[limit] > settings[maximum]) settings[maximum] = settings[limit];
  }
  return settings;
}

/** Rejects limits that only a database enforces if there is no database. */
function checkDatabaseSettings(settings: ServerSettings): void {
  if (settings.store !== undefined && isDatabaseAddress(settings.store)) return;
  for (const name of ['store_max_tenant_bytes', 'store_ttl_seconds'] as const)
    if (settings[name] !== undefined)
      throw new SandboxError(
        'invalid_argument',
        `${name}: requires a database. Set store to the address of a PostgreSQL database, or remove ${name}.`,
      );
}

/** `store` and `data_dir` replace each other. */
function mergeSources(sources: readonly Record<string, unknown>[]): Record<string, unknown> {
  const merged: Record<string, unknown> = {};
  for (const source of sources) {
    const { store, data_dir } = source;
    if (store !== undefined && data_dir !== undefined)
      throw new SandboxError('invalid_argument', 'store, data_dir: set only one of the two.');
    if (store !== undefined) delete merged['data_dir'];
    if (data_dir !== undefined) delete merged['store'];
    Object.assign(merged, source);
  }
  return merged;
}

/** Default limits with their maximums. A default above its maximum raises the maximum. */
const LIMITS = [
  ['fuel_budget', 'max_fuel_budget'],
  ['memory_bytes', 'max_memory_bytes'],
  ['timeout_seconds', 'max_timeout_seconds'],
  ['max_body_bytes', 'max_connection_bytes'],
  ['max_body_bytes', 'max_buffered_bytes'],
  ['max_held_bytes_per_tenant', 'max_held_bytes'],
] as const;

/** Stands for a secret that is not shown. */
export const REDACTED = '<secret>';

/** The settings with secrets removed. */
export function redactSettings(settings: ServerSettings): Record<string, unknown> {
  return {
    ...settings,
    tokens: parseTokens(settings).map(({ tenant }) => `${tenant}=${REDACTED}`),
    ...(settings.metrics_token !== undefined && { metrics_token: REDACTED }),
    ...(settings.store !== undefined && isDatabaseAddress(settings.store) && { store: REDACTED }),
  };
}
