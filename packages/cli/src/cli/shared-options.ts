/** Options shared by several commands, and the parsers of option values. */
import { existsSync } from 'node:fs';
import {
  LANGUAGE_NAMES,
  type LanguageName,
  languageOfFile,
  parseBytes,
  parseCount,
  parseFuel,
  parseUrlPattern,
} from '@llm-wasm-sandbox/core/internal';
import { InvalidArgumentError, Option } from 'commander';

/** Turns a parser that returns undefined for invalid text into one that commander reports as a usage error. */
function optionParser(parse: (text: string) => number | undefined, advice: string) {
  return (text: string): number => {
    const value = parse(text);
    if (value === undefined) throw new InvalidArgumentError(advice);
    return value;
  };
}

export const parseFuelOption = optionParser(
  parseFuel,
  'Expected an amount of fuel, such as 20B, 500M or 20_000_000_000.',
);
export const parseBytesOption = optionParser(
  parseBytes,
  'Expected a number of bytes, such as 512Mi, 1Gi or 1_000_000.',
);
export const parseCountOption = optionParser(parseCount, 'Expected a whole number, such as 100 or 10_000.');
export const parseSecondsOption = optionParser((text) => {
  const seconds = Number(text);
  return seconds > 0 ? seconds : undefined;
}, 'Expected a number of seconds above 0, such as 30 or 0.5.');
const parseHoursOption = optionParser((text) => {
  const hours = text.trim() === '' ? Number.NaN : Number(text);
  return hours >= 0 && hours < 1e9 ? hours : undefined;
}, 'Expected a number of hours, such as 24 or 0.5.');

export interface MountOption {
  readonly host_path: string;
  readonly guest_path: string;
}

/** Collects the values of a repeatable HOST:GUEST option. */
function collectMounts(text: string, previous: readonly MountOption[] = []): MountOption[] {
  const colon = text.lastIndexOf(':/');
  if (colon <= 0) throw new InvalidArgumentError('Expected HOST:GUEST, such as ./data:/external.');
  return [...previous, { host_path: text.slice(0, colon), guest_path: text.slice(colon + 1) }];
}

/** Collects the values of a repeatable option. */
const collectValues = (text: string, previous: readonly string[] = []) => [...previous, text];

/** Collects URL patterns. */
function collectPatterns(text: string, previous?: readonly string[]): string[] {
  const pattern = parseUrlPattern(text);
  if (typeof pattern === 'string') throw new InvalidArgumentError(`It ${pattern}.`);
  return collectValues(text, previous);
}

/** Collects the values of a repeatable option that also accepts a comma-separated list. */
const collectNames = (text: string, previous: readonly string[] = []) => [
  ...previous,
  ...text.split(',').filter(Boolean),
];

/** Collects the values of a repeatable option that accepts paths and comma-separated lists of names. */
export const collectPackages = (text: string, previous: readonly string[] | boolean = []) => [
  ...(typeof previous === 'boolean' ? [] : previous),
  ...(existsSync(text) ? [text] : text.split(',').filter(Boolean)),
];

/** The parsers of options by name, then by placeholder. */
const PARSERS: Readonly<Record<string, (text: string, previous: never) => unknown>> = {
  '--fuel': parseFuelOption,
  '--mount': collectMounts,
  '--allow-net': collectPatterns,
  '--preload': collectNames,
  '--packages': collectPackages,
  '<N>': parseCountOption,
  '<BYTES>': parseBytesOption,
  '<SECONDS>': parseSecondsOption,
  '<HOURS>': parseHoursOption,
};

/** Options as rows of flags and description. The values of an option that is called repeatable are collected. */
export const options = (rows: Readonly<Record<string, string>>): Option[] =>
  Object.entries(rows).map(([flags, description]) => {
    const option = new Option(flags, description);
    const placeholder = /<[^<>]*>/.exec(flags)?.[0] ?? '';
    const parse = PARSERS[option.long!] ?? PARSERS[placeholder];
    if (parse !== undefined) return option.argParser(parse as (text: string) => unknown);
    return description.endsWith('; repeatable') ? option.argParser(collectValues) : option;
  });

/** The name of a language. Suggests one for a file extension, such as sh. */
function parseLanguage(text: string): LanguageName {
  const found = LANGUAGE_NAMES.find((name) => name === text);
  if (found !== undefined) return found;
  const meant = languageOfFile(`program.${text}`);
  const suggestion = meant === undefined ? '' : `\n(Did you mean ${meant}?)`;
  throw new InvalidArgumentError(`Allowed choices are ${LANGUAGE_NAMES.join(', ')}.${suggestion}`);
}

export const languageOption = (description: string) =>
  new Option('-l, --language <NAME>', description).choices(LANGUAGE_NAMES).argParser(parseLanguage);
/** Where the sessions of a command are stored. */
export interface StoreFlags {
  readonly store?: string;
  readonly tenant?: string;
}

/** The options for `StoreFlags`. */
export const storeOptions = () =>
  options({
    '--store <STORE>':
      "Folder or postgres:// address where sessions are stored (default: $LLM_WASM_SANDBOX_STORE, else the user's data folder)",
    '--tenant <NAME>':
      'Use the sessions of this tenant of the servers with this store; "local" is the tenant of a server without tokens',
  });

export const HIDDEN_OPTION = {
  '--hidden':
    'With --out, also copy hidden files: those whose name, or the name of a folder around them, starts with a dot',
};
export const GUIDANCE_OPTIONS = {
  '--guidance': 'Explain a failure on standard error (default: only on a terminal)',
  '--no-guidance': 'Do not explain failures',
};
export const jsonOption = (description = 'Print JSON instead of text') => new Option('--json', description);
