/**
 * The commands `mcp` and `serve`. Their flags derive from the table of settings; flags win over the environment, that
 * over the configuration file, that over the defaults. Nothing of the MCP SDK is loaded before a command runs.
 */
import { type Command, Option } from 'commander';
import { SandboxError } from '../errors.ts';
import {
  HTTP_SETTINGS,
  parseSettingText,
  redactSettings,
  resolveSettings,
  SETTING_NAMES,
  type ServerSettings,
  type SettingName,
  serverSettings,
  settingKind,
  settingsFromEnvironment,
} from '../mcp/settings.ts';
import { bytesFlag, countFlag, fuelFlag, secondsFlag } from './flags.ts';

/** Flags whose name is not that of the setting: one flag names one thing, a setting may hold several. */
const FLAG_NAMES: Partial<Record<SettingName, string>> = {
  tokens: 'token',
  allowed_hosts: 'allowed-host',
  cors_origins: 'cors-origin',
};

interface CommandFlags {
  readonly config?: string;
  readonly printConfig?: boolean;
}

export interface CommandContext {
  readonly version: string;
  readonly readText: (path: string) => string;
}

/** Environment variables of ours that are not settings of the server. */
const OTHER_VARIABLES = /^LLM_WASM_SANDBOX_(?:CONFIG|CACHE\w*|STORE|TEST\w*)$/;

export function addServerCommands(program: Command, context: CommandContext): void {
  const local = SETTING_NAMES.filter((name) => !HTTP_SETTINGS.includes(name));
  command(program, 'mcp', 'serve MCP over standard input and output', local, context, runStdio);
  command(program, 'serve', 'serve MCP over HTTP', SETTING_NAMES, context, runHttp);
}

function command(
  program: Command,
  name: string,
  description: string,
  settings: readonly SettingName[],
  context: CommandContext,
  run: (settings: ServerSettings, version: string) => Promise<void>,
): void {
  const made = program.command(name).description(description);
  made.option('--config <FILE>', 'settings in TOML, under the names of these flags with "_" for "-"');
  made.option('--print-config', 'print the settings that would be used, without secrets, and end');
  for (const setting of settings) made.addOption(flag(setting));
  made.action(async (flags: CommandFlags & Record<string, unknown>) => {
    const resolved = resolveSettings(
      await fromFile(flags.config ?? process.env['LLM_WASM_SANDBOX_CONFIG'], context),
      settingsFromEnvironment(ownVariables()),
      fromFlags(settings, flags),
    );
    if (flags.printConfig) process.stdout.write(`${JSON.stringify(redactSettings(resolved), null, 2)}\n`);
    else await run(resolved, context.version);
  });
}

function ownVariables(): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !OTHER_VARIABLES.test(name)));
}

const flagName = (name: SettingName) => FLAG_NAMES[name] ?? name.replaceAll('_', '-');
const camelCase = (kebab: string) => kebab.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());

/** How the value of a numeric setting is read, from the unit in its name. */
function numberFlag(name: SettingName): (text: string) => number {
  if (name.endsWith('fuel_budget')) return fuelFlag;
  if (name.endsWith('_bytes')) return bytesFlag;
  return name.endsWith('_seconds') ? secondsFlag : countFlag;
}

function flag(name: SettingName): Option {
  const kind = settingKind(name);
  const fallback = serverSettings.shape[name].safeParse(undefined).data;
  const shown = fallback === undefined || kind === 'list' ? '' : ` (default ${fallback})`;
  const value = kind === 'number' ? '<N>' : kind === 'list' ? '<VALUE...>' : '<TEXT>';
  const option = new Option(`--${flagName(name)} ${value}`, serverSettings.shape[name].description + shown);
  if (kind === 'number') option.argParser(numberFlag(name));
  return option;
}

function fromFlags(names: readonly SettingName[], flags: Record<string, unknown>): Record<string, unknown> {
  const given = names.map((name) => [name, flags[camelCase(flagName(name))]] as const);
  return Object.fromEntries(
    given
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, typeof value === 'string' ? parseSettingText(name, value) : value]),
  );
}

async function fromFile(
  path: string | undefined,
  { readText }: CommandContext,
): Promise<Record<string, unknown>> {
  if (path === undefined) return {};
  const { parse } = await import('smol-toml');
  try {
    return parse(readText(path));
  } catch (cause) {
    throw new SandboxError('invalid_argument', `--config ${path}: ${(cause as Error).message}`);
  }
}

async function observerFor(settings: ServerSettings) {
  const { createStderrLog } = await import('../mcp/stderr-log.ts');
  const { createTelemetry } = await import('../mcp/telemetry.ts');
  return createTelemetry(createStderrLog(settings.log_level));
}

async function runStdio(settings: ServerSettings, version: string): Promise<void> {
  const { serveStdio } = await import('../mcp/stdio.ts');
  const server = serveStdio(settings, { version, telemetry: await observerFor(settings) });
  onSignal(() => server.close());
  await server.closed;
  process.exit(0);
}

async function runHttp(settings: ServerSettings, version: string): Promise<void> {
  const { serveHttp } = await import('../mcp/http.ts');
  const server = await serveHttp(settings, { version, telemetry: await observerFor(settings) });
  process.stderr.write(`llm-wasm-sandbox: listening on ${server.url}\n`);
  onSignal(() => server.close());
  await server.closed;
  process.exit(0);
}

function onSignal(close: () => Promise<void>): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void close());
}
