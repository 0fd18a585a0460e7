/** Reads settings from text and environment variables, merges and validates their sources, and removes secrets from them. */

import { isDatabaseAddress, parse, SandboxError } from '@llm-wasm-sandbox/core/internal';
import * as z from 'zod';
import { type ServerSettings, type SettingName, serverSettings } from './settings.ts';
import { parseTokens } from './tokens.ts';

const ENVIRONMENT_PREFIX = 'LLM_WASM_SANDBOX_';

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
  const settings = parse(serverSettings, Object.assign({}, ...sources), 'settings');
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

/** Limits with their maximums. A limit above its maximum raises the maximum. */
const LIMITS = [
  ['fuel_budget', 'max_fuel_budget'],
  ['memory_bytes', 'max_memory_bytes'],
  ['timeout_seconds', 'max_timeout_seconds'],
] as const;

/** Stands for a secret that is not shown. */
export const REDACTED = '<secret>';

/** Settings whose values are secrets. The name of a token is left out too, because a secret can contain "=". */
const SECRETS: readonly string[] = ['tokens', 'metrics_token'] satisfies SettingName[];
/** A URL with a user name or password, or a password as a parameter, in any setting. */
const CREDENTIALS = /:\/\/[^/?#\s]*@|(?:pass(?:word|wd|phrase)?|pwd|secret|token|api_?key)\s*=/i;

/** The settings with secrets removed. */
export function redactSettings(settings: ServerSettings): Record<string, unknown> {
  const redact = (name: string, value: unknown): unknown => {
    if (Array.isArray(value)) return value.map((item) => redact(name, item));
    if (typeof value !== 'string') return value;
    const isSecret = SECRETS.includes(name) || CREDENTIALS.test(value) || isDatabaseAddress(value);
    return isSecret ? REDACTED : value;
  };
  return Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, redact(name, value)]));
}
