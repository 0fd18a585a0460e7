/** What the commands share: how their flags are read, and what their exit codes mean. */
import { InvalidArgumentError, Option } from 'commander';
import { type ErrorCode, SandboxError } from '../errors.ts';
import { parseBytes, parseCount, parseFuel } from '../quantities.ts';
import { RUNTIME_NAMES } from '../schema.ts';

/** Exit codes of this program itself; `run` otherwise ends with the code of the guest. */
export const EXIT = {
  /** What shells and getopt use for a command line that makes no sense. */
  usage: 2,
  /** A session cannot be had, or not so: there is none, it is in use, damaged, of another language, over a limit, or its store fails. */
  unavailable: 69,
  /** A fault of this program or its installation. */
  fault: 70,
} as const;

/** Thrown for a command line that makes no sense. */
export class UsageError extends Error {}

const USAGE_CODES: readonly ErrorCode[] = ['invalid_argument', 'invalid_path'];
const UNAVAILABLE_CODES: readonly ErrorCode[] = [
  'file_not_found',
  'quota_exceeded',
  'session_busy',
  'session_exists',
  'session_mismatch',
  'session_not_found',
  'session_limit',
  'session_damaged',
  'checkpoint_not_found',
  'nothing_to_undo',
  'store_failed',
];

export function exitCodeOf(cause: unknown): number {
  if (cause instanceof UsageError) return EXIT.usage;
  if (!(cause instanceof SandboxError)) return EXIT.fault;
  if (USAGE_CODES.includes(cause.code)) return EXIT.usage;
  return UNAVAILABLE_CODES.includes(cause.code) ? EXIT.unavailable : EXIT.fault;
}

function quantityFlag(parse: (text: string) => number | undefined, examples: string) {
  return (text: string): number => {
    const value = parse(text);
    if (value === undefined) throw new InvalidArgumentError(`Use a number such as ${examples}.`);
    return value;
  };
}

export const fuelFlag = quantityFlag(parseFuel, '20B, 530M or 20_000_000_000');
export const bytesFlag = quantityFlag(parseBytes, '512Mi, 1Gi or 536870912');
export const countFlag = quantityFlag(parseCount, '100, 10K or 10_000');

export function secondsFlag(text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new InvalidArgumentError('Use a number of seconds above 0.');
  return value;
}

export function hoursFlag(text: string): number {
  const value = text.trim() === '' ? Number.NaN : Number(text);
  if (!(value >= 0 && value < 1e9))
    throw new InvalidArgumentError('Use a number of hours, such as 24 or 0.5.');
  return value;
}

export interface MountFlag {
  readonly host_path: string;
  readonly guest_path: string;
}

export function mountFlag(text: string, previous: readonly MountFlag[]): MountFlag[] {
  const colon = text.lastIndexOf(':/');
  if (colon <= 0) throw new InvalidArgumentError('Use HOST:GUEST, for example ./data:/external.');
  return [...previous, { host_path: text.slice(0, colon), guest_path: text.slice(colon + 1) }];
}

export const listFlag = (text: string, previous: readonly string[]) => [
  ...previous,
  ...text.split(',').filter(Boolean),
];
export const pathFlag = (text: string, previous: readonly string[]) => [...previous, text];

export const languageOption = (what: string) =>
  new Option('-l, --language <NAME>', what).choices(RUNTIME_NAMES);
export const storeOption = () =>
  new Option(
    '--store <DIR>',
    "folder that sessions are kept in; by default LLM_WASM_SANDBOX_STORE, else the user's data folder",
  );
export const jsonOption = (what = 'print it as JSON and nothing else') => new Option('--json', what);

/** Lines for the end of a help text. */
export const examples = (...lines: readonly string[]) =>
  `\nExamples:\n${lines.map((line) => `  llm-wasm-sandbox ${line}`).join('\n')}`;
