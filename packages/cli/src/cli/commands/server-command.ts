/**
 * The common part of `mcp`, `serve` and `playground`. Their options derive from the table of server settings. Options override
 * environment variables, which override the configuration file, which overrides the defaults. The MCP SDK is loaded
 * only when a command runs.
 */
import { constants } from 'node:os';
import { formatBytes, formatFuel, isDatabaseAddress } from '@llm-wasm-sandbox/core/internal';
import type { ServerOptions } from '@llm-wasm-sandbox/server/internal';
import {
  environmentName,
  parseSettingText,
  REDACTED,
  redactSettings,
  resolveSettings,
  SETTING_NAMES,
  type ServerSettings,
  type ServerSettingsInput,
  type SettingName,
  serverSettings,
  settingKind,
  settingsFromEnvironment,
} from '@llm-wasm-sandbox/server/internal';
import { Option } from 'commander';
import * as z from 'zod';
import { onBrokenPipe } from '../broken-pipe.ts';
import { type CommandDetails, rare } from '../command.ts';
import { printError } from '../diagnostics.ts';
import { exitCodeOf, UsageError } from '../exit-codes.ts';
import { hideArguments } from '../hide-arguments.ts';
import { readLocalFile } from '../local-files.ts';
import { packageInfo } from '../package-info.ts';
import {
  collectPackages,
  parseBytesOption,
  parseCountOption,
  parseFuelOption,
  parseSecondsOption,
} from '../shared-options.ts';

interface RunningServer {
  /** Resolves when the server has stopped and all sessions are saved; rejects if a session could not be saved. */
  readonly closed: Promise<void>;
  close(): Promise<void>;
}

interface ServerCommand {
  readonly settings: readonly SettingName[];
  /** The settings that `--help` shows; `--help all` shows the others, too. */
  readonly usual: readonly SettingName[];
  readonly examples: readonly string[];
  /** Options that are not settings. */
  readonly options?: readonly Option[];
  /** Defaults of this command that differ from those of the server. The user can change these settings. */
  readonly defaults?: ServerSettingsInput;
  /** Settings that the user cannot change. */
  overrides?(): ServerSettingsInput;
  start(settings: ServerSettings, options: ServerOptions, flags: ServerFlags): Promise<RunningServer>;
}

type ServerFlags = { readonly config?: string; readonly printConfig?: boolean } & Record<string, unknown>;

/** Options in the singular: each occurrence adds one value to the setting. */
const SINGULAR_FLAGS: Partial<Record<SettingName, string>> = {
  tokens: 'token',
  allowed_hosts: 'allowed-host',
  cors_origins: 'cors-origin',
};

/** Variables with the prefix of the settings that are not settings of the server. */
const OTHER_VARIABLES =
  /^LLM_WASM_SANDBOX_(?:ASSETS|CONFIG|CACHE\w*|PACKAGES_DIR|PYODIDE_URL|STATE|TEST\w*)$/;

const STORE_VARIABLE = environmentName('store');

export function serverCommand(name: string, command: ServerCommand): CommandDetails<ServerFlags> {
  const { settings, usual, examples, options = [], defaults = {}, overrides = () => ({}), start } = command;
  return {
    options: [
      new Option(
        '--config <FILE>',
        'Read settings from a TOML file; --print-config shows the keys (default: $LLM_WASM_SANDBOX_CONFIG)',
      ),
      new Option('--print-config', 'Print the effective settings, without secrets, as a TOML file, and exit'),
      ...options,
      ...usual.map((name) => settingOption(name, defaults[name])),
      ...settings
        .filter((name) => !usual.includes(name))
        .map((name) => rare(settingOption(name, defaults[name]))),
      rare(new Option('--no-packages', 'Do not use added packages')),
    ],
    examples: [...examples, `${name} --help all`],
    async action(_, flags) {
      const resolved = resolveSettings(
        defaults,
        await settingsFromFile(flags.config ?? process.env['LLM_WASM_SANDBOX_CONFIG']),
        settingsFromEnvironment(settingVariables()),
        settingsFromFlags(settings, flags),
        overrides(),
      );
      hideArguments(resolved.store, flags['token'] !== undefined || flags['metricsToken'] !== undefined);
      if (flags.printConfig) return printSettings(resolved);
      await runUntilClosed(await start(resolved, await serverOptions(resolved), flags), resolved);
    },
  };
}

/** Prints the settings as `--config` reads them. Secrets and settings without a value are comments. */
async function printSettings(settings: ServerSettings): Promise<void> {
  const { stringify } = await import('smol-toml');
  const shown = redactSettings(settings);
  const lines = SETTING_NAMES.map((name) => {
    const isSecret = JSON.stringify(shown[name])?.includes(REDACTED) === true;
    const value = shown[name] === undefined ? `${name} = …` : stringify({ [name]: shown[name] }).trim();
    const comment = `# ${serverSettings.shape[name].description}\n`;
    return `${comment}${shown[name] === undefined || isSecret ? '# ' : ''}${value}\n`;
  });
  process.stdout.write(`${lines.join('\n')}`);
}

/** SIGHUP arrives when a terminal or a service manager goes away. It stops the server like SIGTERM. */
const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** How long saving the sessions may take after the calls have ended, for example if the database does not respond. */
const SAVE_MS = 10_000;
/** How long the process waits at exit for its log to be read. */
const LOG_FLUSH_MS = 1000;

async function runUntilClosed(server: RunningServer, settings: ServerSettings): Promise<never> {
  // A client may close standard error and continue. If it closes standard output, the transport ends.
  onBrokenPipe(() => {});
  let isStopping = false;
  const stop = (signal: NodeJS.Signals) => {
    // The second signal ends the process at once.
    if (isStopping) process.exit(128 + constants.signals[signal]);
    isStopping = true;
    setTimeout(
      () => {
        printError(
          'the server did not stop in time, so it was terminated. Changes that were not saved yet are lost.',
        );
        process.exit(1);
      },
      settings.shutdown_seconds * 1000 + SAVE_MS,
    ).unref();
    server.close().catch(() => {});
  };
  for (const signal of STOP_SIGNALS) process.on(signal, stop);
  let exitCode = 0;
  try {
    await server.closed;
  } catch (cause) {
    printError((cause as Error).message);
    exitCode = exitCodeOf(cause);
  }
  const { flushStderrLog } = await import('../stderr-log.ts');
  await flushStderrLog(LOG_FLUSH_MS);
  process.exit(exitCode);
}

async function serverOptions({ log_level }: ServerSettings): Promise<ServerOptions> {
  const { createStderrLog } = await import('../stderr-log.ts');
  const { createTelemetry } = await import('@llm-wasm-sandbox/server/mcp');
  return { version: packageInfo().version, telemetry: await createTelemetry(createStderrLog(log_level)) };
}

const flagName = (name: SettingName) => SINGULAR_FLAGS[name] ?? name.replaceAll('_', '-');
const camelCase = (kebab: string) => kebab.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());

const formatSeconds = (seconds: number) => `${seconds} s`;

/** How the value of a numeric setting is written, from the unit in its name. */
function numberFormat(name: SettingName) {
  if (name.includes('fuel')) return { value: 'N', parse: parseFuelOption, format: formatFuel };
  if (name.includes('_bytes')) return { value: 'BYTES', parse: parseBytesOption, format: formatBytes };
  if (name.endsWith('_seconds'))
    return { value: 'SECONDS', parse: parseSecondsOption, format: formatSeconds };
  return { value: 'N', parse: parseCountOption, format: String };
}

function settingOption(name: SettingName, ownDefault: unknown): Option {
  const flag = flagName(name);
  const schema = serverSettings.shape[name];
  const kind = settingKind(name);
  const fallback = ownDefault ?? schema.safeParse(undefined).data;
  const description = schema.description!.replace(/\.$/, '');
  if (kind === 'number') {
    const { value, parse, format } = numberFormat(name);
    const shown = fallback === undefined ? '' : ` (default: ${format(fallback as number)})`;
    return new Option(`--${flag} <${value}>`, description + shown).argParser(parse);
  }
  if (kind === 'boolean')
    return fallback === true
      ? new Option(`--no-${flag}`, `Turn off: ${description}`)
      : new Option(`--${flag}`, description);
  const word = flag.split('-').at(-1)!.replace(/s$/, '').toUpperCase();
  if (kind === 'list') return new Option(`--${flag} <${word}...>`, description);
  const shown = fallback === undefined ? '' : ` (default: ${fallback})`;
  const option = new Option(`--${flag} <${word}>`, description + shown);
  const inner = schema instanceof z.ZodDefault ? schema.unwrap() : schema;
  return inner instanceof z.ZodEnum ? option.choices(inner.options as string[]) : option;
}

function settingVariables(): Record<string, string | undefined> {
  const { [STORE_VARIABLE]: store, ...others } = process.env;
  const variables = Object.entries(others).filter(([name]) => !OTHER_VARIABLES.test(name));
  // If this variable names a folder, it contains the sessions of the command line, not those of a server.
  if (store !== undefined && isDatabaseAddress(store)) variables.push([STORE_VARIABLE, store]);
  return Object.fromEntries(variables);
}

function settingsFromFlags(names: readonly SettingName[], flags: ServerFlags): Record<string, unknown> {
  const given = names.map((name) => [name, flags[camelCase(flagName(name))]] as const);
  return Object.fromEntries(
    given
      .filter(([name, value]) => value !== undefined && !isUnsetSwitch(name, value))
      .map(([name, value]) => [name, settingValue(name, value)]),
  );
}

/** The parser sets the value of an option that turns a setting off to true if it is absent. */
const isUnsetSwitch = (name: SettingName, value: unknown) =>
  value === true && serverSettings.shape[name].safeParse(undefined).data === true;

/** The value of a setting from its flag. Text is parsed, and names of packages may be separated by commas. */
function settingValue(name: SettingName, value: unknown): unknown {
  if (name === 'packages')
    return value === false ? [] : (value as string[]).flatMap((one) => collectPackages(one));
  return typeof value === 'string' ? parseSettingText(name, value) : value;
}

const MAX_CONFIG_BYTES = 1024 * 1024;

async function settingsFromFile(path: string | undefined): Promise<Record<string, unknown>> {
  if (path === undefined) return {};
  const { parse, TomlError } = await import('smol-toml');
  const text = readLocalFile(path, MAX_CONFIG_BYTES).toString('utf8');
  try {
    return parse(text);
  } catch (cause) {
    // The message of the parser quotes lines of the file, which may contain secrets.
    const reason =
      cause instanceof TomlError
        ? `line ${cause.line}, column ${cause.column} is not valid TOML.`
        : (cause as Error).message;
    throw new UsageError(`Cannot read the configuration file ${path}: ${reason}`);
  }
}
