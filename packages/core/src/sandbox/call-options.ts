/** One call of `execute`: its options after they were checked, its language and its limits. */

import type { z } from 'zod';
import type { CancelSignal } from '../concurrency/cancellation.ts';
import { invalidArgument } from '../errors.ts';
import type { Program } from '../runtimes/runtime.ts';
import {
  executeOptions,
  LANGUAGE_NAMES,
  LANGUAGE_RUNTIMES,
  type LanguageName,
  type PausedExecution,
  type Policy,
  parse,
  type RuntimeName,
} from '../schema.ts';
import type { CallPackages } from './call-packages.ts';
import type { CallTools, Resumption, ToolOptions } from './call-tools.ts';
import type { OutputDelivery } from './output-delivery.ts';
import type { ResultDelivery } from './result-delivery.ts';
import type { Stdin } from './stdin.ts';

/** Options of `execute`. */
export interface ExecuteOptions
  extends Omit<z.input<typeof executeOptions>, keyof ToolOptions>,
    ToolOptions {}

/** A call after its options were checked and the limits of the policy were applied. */
export interface Call {
  readonly program: Program;
  readonly stdin: Stdin;
  /** Ends the call with the error of its input stream. */
  readonly onInputError: (cause: unknown) => void;
  readonly limits: CallLimits;
  readonly profile: boolean;
  readonly files: Readonly<Record<string, string | Uint8Array>> | undefined;
  readonly onProgress: z.output<typeof executeOptions>['onProgress'];
  /** Aborted when the call is cancelled or the sandbox is closed. */
  readonly signal: CancelSignal;
  readonly output: OutputDelivery;
  /** Receives what the program displays. */
  readonly results: ResultDelivery;
  /** Absent if the program has no tools. */
  readonly tools: CallTools | undefined;
  /** Of the program, or of the Python processes that it starts; absent if nobody answers when it asks for some. */
  readonly packages: CallPackages | undefined;
  /** The execution that the call continues, and the answers. */
  readonly resumption: Resumption | undefined;
}

export type CallLimits = Pick<Policy, 'fuel_budget' | 'timeout_seconds'>;

/** The defaults. Checking them for every call would take a noticeable part of the time of a short call. */
const NO_OPTIONS = executeOptions.parse({});

/** Callers without types can pass anything. */
function isEmpty(options: unknown): boolean {
  if (typeof options !== 'object' || options === null) return false;
  return Object.getPrototypeOf(options) === Object.prototype && Reflect.ownKeys(options).length === 0;
}

export function parseCallOptions(code: string, options: ExecuteOptions): z.output<typeof executeOptions> {
  if (typeof code !== 'string') throw invalidArgument('code: expected a string.');
  if (isEmpty(options)) return NO_OPTIONS;
  const parsed = parse(executeOptions, options, 'options');
  if (parsed.onOutput !== undefined && (parsed.onStdout ?? parsed.onStderr) !== undefined)
    throw invalidArgument(
      'options.onOutput: cannot be combined with onStdout or onStderr, because it receives both streams. Omit onStdout and onStderr.',
    );
  return parsed;
}

/** The language of a program, which must be one that the runtime runs. */
export function callLanguage(language: LanguageName | undefined, runtime: RuntimeName): LanguageName {
  if (language === undefined) return runtime;
  if (LANGUAGE_RUNTIMES[language] === runtime) return language;
  const choices = LANGUAGE_NAMES.filter((name) => LANGUAGE_RUNTIMES[name] === runtime).join(' or ');
  throw invalidArgument(
    `language: this sandbox has the runtime ${runtime}, which does not run ${language}. Pass ${choices}, or create a sandbox with the runtime ${LANGUAGE_RUNTIMES[language]}.`,
  );
}

export function callLimits(
  { fuel_budget, timeout_seconds }: Pick<z.output<typeof executeOptions>, keyof CallLimits>,
  policy: Policy,
  resumes?: PausedExecution,
): CallLimits {
  // A resumed execution gets the rest of its limits, which options can only lower.
  if (resumes !== undefined) {
    const fuel = Math.min(resumes.fuel_budget, fuel_budget ?? Number.POSITIVE_INFINITY);
    const seconds = Math.min(resumes.timeout_seconds, timeout_seconds ?? Number.POSITIVE_INFINITY);
    return {
      fuel_budget: Math.max(1, fuel - resumes.fuel_consumed),
      timeout_seconds: Math.max(0.001, seconds - resumes.running_ms / 1000),
    };
  }
  return {
    fuel_budget: fuel_budget ?? policy.fuel_budget,
    timeout_seconds: timeout_seconds ?? policy.timeout_seconds,
  };
}
