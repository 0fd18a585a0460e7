/**
 * Every setting of the MCP server, once: the configuration file, the environment, the flags of the command line and
 * the documentation derive from this table. Unknown keys are refused, so that a misspelt limit is never silently absent.
 */
import { z } from 'zod';
import { parse, policy } from '../schema.ts';

const MiB = 1024 * 1024;
const DEFAULTS = policy.parse({});

const count = (fallback: number, what: string) =>
  z.number().int().min(1).max(1_000_000).default(fallback).describe(what);
const list = (what: string) => z.array(z.string().min(1)).default([]).describe(what);

const token = z
  .string()
  .regex(
    /^(?:[\w.-]{1,64}=)?[\x21-\x7e]{16,512}$/,
    'must be SECRET or NAME=SECRET, the secret of 16 characters or more, without spaces',
  );

export const serverSettings = z.strictObject({
  fuel_budget: policy.shape.fuel_budget.describe(
    'Instructions one call may execute unless it asks for more.',
  ),
  memory_bytes: policy.shape.memory_bytes.describe('Memory of a guest unless its session asks for more.'),
  timeout_seconds: policy.shape.timeout_seconds.describe(
    'Seconds one call may take unless it asks for more.',
  ),
  max_fuel_budget: z
    .number()
    .int()
    .min(1)
    .max(Number.MAX_SAFE_INTEGER)
    .default(100_000_000_000)
    .describe('The most instructions a call may ask for.'),
  max_memory_bytes: z
    .number()
    .int()
    .min(1)
    .max(4096 * MiB)
    .default(1024 * MiB)
    .describe('The most memory a session may ask for.'),
  max_timeout_seconds: z
    .number()
    .positive()
    .max(86_400)
    .default(300)
    .describe('The longest a call may ask for.'),
  max_output_chars: z
    .number()
    .int()
    .min(200)
    .max(60_000)
    .default(20_000)
    .describe('Characters of output in an answer; of more, head and tail, and a link to the whole.'),
  max_sessions: count(50, 'Sessions a tenant may have at a time.'),
  max_concurrent: z
    .number()
    .int()
    .min(1)
    .max(1000)
    .optional()
    .describe(
      'Programs that run at the same time, each in a thread with the memory of a guest; by default four per processor, and at least one per token.',
    ),
  max_concurrent_per_caller: z
    .number()
    .int()
    .min(1)
    .optional()
    .describe(
      'Programs of one tenant that run at the same time; by default two per processor. A place is kept for every other tenant.',
    ),
  max_queued: count(100, 'Calls of one tenant that may wait for their turn; more are refused.'),
  data_dir: z
    .string()
    .min(1)
    .optional()
    .describe('Folder that sessions are kept in; without one they end with the server.'),
  external_files: list('Host files or folders that programs can read under /external.'),
  log_level: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'silent'])
    .default('info')
    .describe('Which events are written to standard error.'),
  host: z.string().min(1).default('127.0.0.1').describe('Address to listen on.'),
  port: z.number().int().min(0).max(65_535).default(8765).describe('Port to listen on; 0 takes a free one.'),
  path: z
    .string()
    .regex(/^\/[\w./-]*$/, 'must begin with "/"')
    .default('/mcp')
    .describe('Path of the MCP endpoint.'),
  tokens: z
    .array(token)
    .default([])
    .describe('Bearer tokens, as SECRET or NAME=SECRET; each is a tenant of its own.'),
  allowed_hosts: list(
    'Host names that requests may be addressed to, besides the loopback ones; "*" for any.',
  ),
  cors_origins: list('Origins of browser pages that may call, such as https://app.example.'),
  max_body_bytes: z
    .number()
    .int()
    .min(1024)
    .max(256 * MiB)
    .default(8 * MiB)
    .describe('Largest request body.'),
  rate_per_minute: count(600, 'Requests a tenant may send in a minute.'),
  max_clients: count(256, 'Connections of 2025-era clients that are kept; the longest idle one makes room.'),
  client_idle_seconds: count(1800, 'After so long without a request such a connection is closed.'),
  shutdown_seconds: count(10, 'How long calls under way may go on when the server is told to stop.'),
});
export type ServerSettings = z.infer<typeof serverSettings>;
export type ServerSettingsInput = z.input<typeof serverSettings>;
export type SettingName = keyof ServerSettings;

export const SETTING_NAMES = Object.keys(serverSettings.shape) as SettingName[];
export const ENVIRONMENT_PREFIX = 'LLM_WASM_SANDBOX_';

/** Settings that only matter where there is a network. */
export const HTTP_SETTINGS: readonly SettingName[] = SETTING_NAMES.slice(SETTING_NAMES.indexOf('host'));

export function environmentName(name: SettingName): string {
  return ENVIRONMENT_PREFIX + name.toUpperCase();
}

/** What the environment sets. Lists are separated by commas. A name with our prefix that is no setting is refused. */
export function settingsFromEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const [variable, text] of Object.entries(env)) {
    if (!variable.startsWith(ENVIRONMENT_PREFIX) || text === undefined) continue;
    const name = variable.slice(ENVIRONMENT_PREFIX.length).toLowerCase();
    found[name] = parseSettingText(name, text);
  }
  return found;
}

/** The value of a setting given as text; what is no setting stays text, for the schema to refuse. */
export function parseSettingText(name: string, text: string): unknown {
  const kind = settingKind(name);
  if (kind === 'list') return text.split(',').filter((part) => part !== '');
  if (kind === 'number' && /^\d[\d_]*(\.\d+)?$/.test(text)) return Number(text.replaceAll('_', ''));
  return text;
}

export function settingKind(name: string): 'number' | 'list' | 'text' {
  const field = (serverSettings.shape as Record<string, z.ZodType>)[name];
  if (field === undefined) return 'text';
  const inner = field instanceof z.ZodDefault || field instanceof z.ZodOptional ? field.unwrap() : field;
  return inner instanceof z.ZodNumber ? 'number' : inner instanceof z.ZodArray ? 'list' : 'text';
}

/** Puts sources together, later ones over earlier ones, and checks that the whole makes sense. */
export function resolveSettings(...sources: readonly Record<string, unknown>[]): ServerSettings {
  const settings = parse(serverSettings, Object.assign({}, ...sources), 'settings');
  for (const [limit, ceiling] of CEILINGS) {
    if (settings[limit] > settings[ceiling]) settings[ceiling] = settings[limit];
  }
  return settings;
}

/** A default above its ceiling moves the ceiling: whoever sets one number need not set two. */
const CEILINGS = [
  ['fuel_budget', 'max_fuel_budget'],
  ['memory_bytes', 'max_memory_bytes'],
  ['timeout_seconds', 'max_timeout_seconds'],
] as const;

/** The settings as they can be shown: without secrets. */
export function redactSettings(settings: ServerSettings): Record<string, unknown> {
  return { ...settings, tokens: settings.tokens.map((one) => `${parseToken(one, 0).name}=<secret>`) };
}

/** The name and the secret of a token; one without a name is called by its place. */
export function parseToken(text: string, index: number): { name: string; secret: string } {
  const match = /^([\w.-]{1,64})=(.{16,})$/s.exec(text);
  return match === null
    ? { name: `token-${index + 1}`, secret: text }
    : { name: match[1]!, secret: match[2]! };
}

export const POLICY_DEFAULTS = DEFAULTS;
