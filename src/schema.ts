/**
 * The schemas of all data that crosses the API: policy, options, results, session records. Types, defaults, error
 * messages, editor hints, CLI flags and documentation tables derive from them. Data is snake_case, as the specifications
 * name it; callbacks are camelCase.
 */
import { z } from 'zod';
import { SandboxError } from './errors.ts';

const MiB = 1024 * 1024;

/** The languages that programs can be written in. */
export const RUNTIME_NAMES = ['python', 'javascript'] as const;
export const runtimeName = z.enum(RUNTIME_NAMES).describe('Language of the guest.');
/** The name of a runtime. */
export type RuntimeName = (typeof RUNTIME_NAMES)[number];

/** Windows treats these names as devices in every folder. */
const WINDOWS_DEVICE = /^(con|prn|aux|nul|com\d|lpt\d)$/i;

const shown = (input: unknown) => JSON.stringify(String(input).slice(0, 100));

/**
 * The name of a session: a single path component that every file system, shell and URL reads the same way.
 */
export const sessionId = z
  .string()
  .regex(/^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$/, {
    error: ({ input }) =>
      `${shown(input)} is not a valid session id; use 1 to 64 letters, digits, "_" or "-", not starting with "-"`,
  })
  .refine((id) => !WINDOWS_DEVICE.test(id), {
    error: ({ input }) =>
      `${shown(input)} is not a valid session id because Windows reserves it for a device; use another name`,
  });

export const checkpointName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, {
  error: ({ input }) =>
    `${shown(input)} is not a valid checkpoint name; use 1 to 64 letters, digits, ".", "_" or "-", starting with a letter or digit`,
});

const bytes = (fallback: number, what: string) =>
  z
    .number()
    .int()
    .min(0)
    .max(4096 * MiB)
    .default(fallback)
    .describe(what);
const seconds = z.number().positive().max(86_400);
const fuel = z.number().int().min(1).max(Number.MAX_SAFE_INTEGER);

const envName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'must be a valid variable name');
const envValue = z
  .string()
  .max(32_768)
  .refine((value) => !value.includes('\0'), 'must not contain NUL');

export const mount = z.strictObject({
  host_path: z.string().min(1).describe('File or folder on the host; copied when the sandbox is created.'),
  guest_path: z
    .string()
    .regex(/^(\/(?!\.{1,2}(\/|$))[^/\0]+)+$/, 'must be an absolute path without "." and ".."')
    .describe('Path in the guest, where it is read-only.'),
});
/** A read-only copy of host files in the guest. */
export interface Mount extends z.infer<typeof mount> {}

/** Default start of the virtual clock. */
const DETERMINISTIC_START = '2026-01-01T00:00:00Z';
const deterministicSettings = z.strictObject({
  seed: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER).default(0).describe('Seed of all randomness.'),
  start_time: z.iso
    .datetime()
    .default(DETERMINISTIC_START)
    .describe('Start of the virtual clock, in ISO 8601 and UTC.'),
});

/** The limits of a sandbox. Unknown keys are rejected, so that a misspelt limit is an error. */
export const policy = z.strictObject({
  fuel_budget: fuel.default(10_000_000_000).describe('WebAssembly instructions that one call may execute.'),
  memory_bytes: bytes(256 * MiB, 'Memory that the guest may use, including the interpreter.'),
  timeout_seconds: seconds
    .default(30)
    .describe('Wall-clock time that one call may take, excluding time in the queue.'),
  stdout_max_bytes: bytes(2_000_000, 'Standard output returned per call; the rest is dropped and counted.'),
  stderr_max_bytes: bytes(1_000_000, 'Standard error returned per call; the rest is dropped and counted.'),
  workspace_max_bytes: bytes(64 * MiB, 'Total size of the files in /app and /tmp.'),
  workspace_max_files: z
    .number()
    .int()
    .min(0)
    .max(1_000_000)
    .default(10_000)
    .describe('Number of files, folders and links in /app and /tmp.'),
  env: z
    .record(envName, envValue)
    .default({})
    .describe('Environment variables of the guest. It sees no others.'),
  deterministic: z
    .union([z.boolean(), deterministicSettings])
    .default(false)
    .describe('The same code and input give the same output and fuel use on every machine.'),
  mounts: z.array(mount).max(31).default([]).describe('Host files to copy into the guest, read-only.'),
  error_guidance: z.boolean().default(true).describe('Explain failures in metadata.error_guidance.'),
  fuel_analysis: z.boolean().default(true).describe('Analyse fuel use in metadata.fuel_analysis.'),
});
/** The limits of a sandbox, with defaults filled in. */
export interface Policy extends z.infer<typeof policy> {}
/** The limits that a caller sets; the rest have defaults. */
export interface PolicyInput extends z.input<typeof policy> {}

/** Maximum size of the environment that a session stores. */
const SESSION_ENV_MAX_CHARS = 262_144;

/**
 * The part of a policy that a session stores. Mounts are never stored, because they are host paths and the contents of a
 * store are not trusted.
 */
export const sessionPolicy = policy
  .omit({ mounts: true })
  .refine(({ env }) => JSON.stringify(env).length <= SESSION_ENV_MAX_CHARS, {
    path: ['env'],
    message: `a session stores at most ${SESSION_ENV_MAX_CHARS} characters of environment`,
  });
/** The limits that a session stores. */
export interface SessionPolicy extends z.infer<typeof sessionPolicy> {}

const count = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
/** These names become part of a program that lists variables, so they must be valid identifiers. */
const identifier = z
  .string()
  .max(200)
  .regex(/^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u);
const recordedModule = z.string().min(1).max(300);

/** Facts about a session that a store lists without loading the session. */
export const sessionRecord = z.strictObject({
  session_id: sessionId.describe('Name of the session.'),
  runtime: runtimeName,
  auto_persist_globals: z.boolean().describe('Whether the interpreter persists between calls.'),
  created_at: z.iso.datetime().describe('Time of creation, ISO 8601.'),
  last_used_at: z.iso.datetime().describe('Time of the last call, ISO 8601.'),
  calls: count.describe('Number of calls so far.'),
  fuel_consumed: count.describe('Fuel that all calls used together.'),
  imports: z.array(recordedModule).max(10_000).describe('Top-level modules that calls have imported.'),
  declared: z
    .array(identifier)
    .max(10_000)
    .describe('Top-level names that programs may have declared, for languages that cannot list them.'),
  preload: z.array(recordedModule).max(10_000).describe('Modules preloaded into the image of the session.'),
  policy: sessionPolicy.describe('The limits that apply unless a caller passes others.'),
});
type ReadonlyFields<T> = {
  readonly [K in keyof T]: T[K] extends readonly (infer Item)[] ? readonly Item[] : T[K];
};
/** Stored facts about a session. */
export interface SessionRecord extends ReadonlyFields<z.infer<typeof sessionRecord>> {}

const moduleName = z
  .string()
  .max(200)
  .regex(/^[A-Za-z_@][\w@/-]*(\.[\w-]+)*$/, 'must be the name of a module or package');
/** Receives structured events. A pino logger fits, as does any object with these two methods. */
export interface EventLogger {
  /** Receives an event: its fields, including `event`, and its name. */
  info(fields: object, message: string): void;
  /** Receives an event that needs attention, such as a reached limit. */
  warn(fields: object, message: string): void;
}

const eventLogger = z.custom<EventLogger>((value) => {
  const logger = value as Partial<EventLogger> | null;
  return (
    typeof logger === 'object' && typeof logger?.info === 'function' && typeof logger.warn === 'function'
  );
}, 'must have the methods info and warn, like a pino logger');

export const commitMode = z.enum(['answer', 'background']);
/** When a session is saved: before a call is answered, or after it. */
export type Commit = 'answer' | 'background';

export const sandboxOptions = z.strictObject({
  runtime: runtimeName,
  policy: policy.prefault({}).describe('Limits of every call.'),
  session_id: sessionId.optional().describe('Name of the session to open or create; by default a new UUID.'),
  auto_persist_globals: z
    .boolean()
    .optional()
    .describe('Whether variables persist between calls; by default only with a session_id or a store.'),
  store: z
    .custom<object>(
      (value) => typeof value === 'object' && value !== null && 'acquire' in value,
      'must be a store',
    )
    .optional()
    .describe('Where sessions are stored; by default in the memory of this process.'),
  commit: commitMode
    .default('background')
    .describe(
      'When a session is saved: background: after a call was answered; answer: before it is answered.',
    ),
  preload: z
    .array(moduleName)
    .max(64)
    .default([])
    .describe(
      'Modules preloaded into every run. The image with them is built once, within the limits of the policy, and cached.',
    ),
  signal: z
    .instanceof(AbortSignal)
    .optional()
    .describe(
      'Cancels building the image of `preload` and `packages`. It does not affect the finished sandbox.',
    ),
  packages: z
    .array(z.string().min(1))
    .max(64)
    .default([])
    .describe('Wheels, or folders of Python sources, to make importable.'),
  logger: eventLogger.optional().describe('Receives structured events, such as execution.complete.'),
  pool: z
    .custom<object>()
    .optional()
    .describe('Worker threads to use, from createPool(); by default a pool that all sandboxes share.'),
  tenant: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe(
      'Sandboxes with the same tenant share its turns in the pool; by default each sandbox is its own tenant.',
    ),
});

const fileContent = z.union([z.string(), z.instanceof(Uint8Array)]);
const callback = <T>() =>
  z.custom<(chunk: T) => void>((value) => typeof value === 'function', 'must be a function');

const stream = z.custom<AsyncIterable<string | Uint8Array>>(
  (value) => typeof (value as Partial<AsyncIterable<unknown>> | null)?.[Symbol.asyncIterator] === 'function',
  'must be a string, bytes or a stream',
);

export const executeOptions = z.strictObject({
  stdin: z
    .union([fileContent, stream])
    .optional()
    .describe('Standard input of the program. A stream is read to its end before the call is queued.'),
  signal: z.instanceof(AbortSignal).optional().describe('Cancels the call.'),
  timeout_seconds: seconds.optional().describe('Overrides the policy for this call.'),
  fuel_budget: fuel.optional().describe('Overrides the policy for this call.'),
  inject_setup: z
    .boolean()
    .default(true)
    .describe('Whether packages and helpers are available; without them the program has the bare language.'),
  onStdout: callback<string>().optional().describe('Receives standard output while the program runs.'),
  onStderr: callback<string>().optional().describe('Receives standard error while the program runs.'),
  onProgress: callback<{ fuel_consumed: number; fuel_budget: number }>()
    .optional()
    .describe('Called about ten times a second with the fuel that the run has used so far.'),
  files: z
    .record(z.string(), fileContent)
    .optional()
    .describe('Files to write into the workspace before the run.'),
});
/** Options of `execute`. */
export interface ExecuteOptions extends z.input<typeof executeOptions> {}

/** The reasons for which a run is stopped, with message and exit code. */
export const TRAPS = {
  out_of_fuel: { message: 'Execution trapped: OutOfFuel', exit_code: 152 },
  timeout: { message: 'Execution trapped: Timeout', exit_code: 124 },
  cancelled: { message: 'Execution trapped: Cancelled', exit_code: 130 },
  memory_limit: { message: 'Execution trapped: MemoryLimit', exit_code: 137 },
  stack_overflow: { message: 'Execution trapped: StackOverflow', exit_code: 139 },
  unreachable: { message: 'Execution trapped: Unreachable', exit_code: 134 },
  denied_call: { message: 'Execution trapped: DeniedCall', exit_code: 159 },
  worker_lost: { message: 'Execution trapped: WorkerLost', exit_code: 143 },
} as const;
/** Why a run was stopped. */
export type TrapReason = keyof typeof TRAPS;
const trapReason = z.enum(Object.keys(TRAPS) as [TrapReason, ...TrapReason[]]);

/** Maximum length of text from the boot scripts. They count code points, which can be two code units each. */
const TEXT_MAX = 40_100;
const shortText = z.string().max(420);

/** An uncaught exception as the interpreter reports it. It comes from the guest, so every field is capped and untrusted. */
export const guestError = z.object({
  type: z.string().max(TEXT_MAX).describe('Name of the exception class.'),
  message: z.string().max(TEXT_MAX).describe('Text of the exception.'),
  line: z.number().int().nullish().describe('Line on which it was raised, starting at 1.'),
  file: shortText.optional().describe('File of the line, if it is not the program itself.'),
  column: z.number().int().nullish().describe('Column in that line.'),
  stack: z.string().max(TEXT_MAX).nullish().describe('Stack or traceback as text.'),
  module: shortText.optional().describe('Module of the exception class; "builtins" for built-in classes.'),
  kind: shortText.optional().describe('Nearest built-in base class.'),
  raised: z.boolean().optional().describe('Whether the program itself raised it, on that line.'),
  thrower: shortText.optional().describe('Built-in function that threw it.'),
  errno: z.number().int().nullish().describe('Error number of the failed system call.'),
  path: z.string().max(TEXT_MAX).nullish().describe('File that the system call operated on.'),
  path2: z.string().max(TEXT_MAX).optional().describe('Second file, for example the target of a rename.'),
  cwd: shortText.optional().describe('Working directory that relative paths refer to.'),
  name: z.string().max(TEXT_MAX).nullish().describe('Name of the missing module, variable or attribute.'),
  attribute: shortText.optional().describe('Attribute that the module does not have.'),
  module_name: shortText.optional().describe('Module that the attribute was looked up in.'),
  on_path: z.boolean().optional().describe('Whether vendored packages were on the import path.'),
  suggestion: shortText.optional().describe('Similar name that exists.'),
  container: shortText
    .optional()
    .describe('Type of the object in which a key, index or attribute was looked up.'),
  key: shortText.optional().describe('Key or index that does not exist.'),
  available: z.array(shortText).max(20).optional().describe('The first keys that exist.'),
  length: z.number().int().optional().describe('Number of items in the container.'),
  position: z.number().int().optional().describe('Position of the error in the text or bytes.'),
  near: shortText.optional().describe('Text around that position.'),
});
/** An uncaught exception as the interpreter reports it. It comes from the guest, so it is truncated and untrusted. */
export interface GuestError extends z.infer<typeof guestError> {}

/** The report of the boot script about a program that was not stopped. */
export const guestReport = z.object({
  exit_code: z.number().int().min(0).max(255),
  result: z.json().optional(),
  result_type: z.string().max(200).optional(),
  error: guestError.optional(),
  exit_cause: guestError.optional().describe('The exception that was being handled when the program exited.'),
});
export interface GuestReport extends z.infer<typeof guestReport> {}

/** The cost of one import in this run. */
export const importFacts = z.object({
  name: z.string().describe('Top-level name of the module.'),
  fuel: z.number().int().describe('Instructions for loading it, including its own imports.'),
  cached: z.boolean().describe('Whether it was already loaded.'),
});
/** The cost of one import in a run. */
export interface ImportFacts extends z.infer<typeof importFacts> {}

/** A vendored package, with figures measured at build time. */
export const packageFacts = z.object({
  language: runtimeName,
  name: z.string().describe('Name of the package, as installers use it.'),
  import_names: z.array(z.string()).describe('Modules that programs import.'),
  version: z.string().describe('Version of the package.'),
  heavy: z.boolean().describe('Whether its first import takes a notable share of the default fuel budget.'),
  measured_imports: z.array(z.string()).describe('Imports that were measured.'),
  fuel_first_import: z.number().int().describe('Fuel of the first import in a fresh guest.'),
  fuel_cached_import: z.number().int().describe('Fuel of a repeated import.'),
  warm: z.boolean().describe('Whether it is preloaded in every guest.'),
  use: z.string().describe('What the package is for.'),
  licence: z.string().describe('Licence as an SPDX expression.'),
});
/** A vendored package, with figures measured at build time. */
export interface PackageFacts extends z.infer<typeof packageFacts> {}

/** What went wrong and what to do. docs/ERROR_GUIDANCE.md lists the values of `error_type`. */
export const errorGuidance = z.object({
  error_type: z.string().describe('Kind of failure.'),
  error_message: z.string().describe('The exception or the trap, on one line.'),
  actionable_guidance: z.array(z.string()).describe('What to know and do, most important first.'),
  related_docs: z.array(z.string()).describe('Documents of this package, with the section.'),
  code_examples: z.array(z.string()).optional().describe('Example code, where it helps.'),
});
/** What went wrong and what to do. docs/ERROR_GUIDANCE.md lists the values of `error_type`. */
export interface ErrorGuidance extends z.infer<typeof errorGuidance> {}

/** How close a run came to its fuel budget, in increasing order. */
export const FUEL_STATUSES = ['efficient', 'moderate', 'warning', 'critical', 'exhausted'] as const;
export const fuelAnalysis = z.object({
  consumed: z.number().int().describe('Fuel used.'),
  budget: z.number().int().describe('Fuel allowed.'),
  utilization_percent: z.number().describe('Fuel used as a percentage of the budget.'),
  status: z.enum(FUEL_STATUSES).describe('How close the run came to its budget.'),
  recommendation: z.string().nullable().describe('What to do; null if nothing needs to be done.'),
  likely_causes: z.array(z.string()).describe('What used the fuel.'),
});
/** How a run used its fuel budget. */
export interface FuelAnalysis extends z.infer<typeof fuelAnalysis> {}

export const resultMetadata = z.object({
  runtime: runtimeName,
  trapped: z.boolean().describe('Whether the run was stopped.'),
  trap_reason: trapReason.nullable().describe('Why the run was stopped; null if it was not.'),
  trap_message: z.string().nullable().describe('The trap as text; null if the run was not stopped.'),
  stdout_truncated: z.boolean().describe('Whether standard output exceeded its limit.'),
  stderr_truncated: z.boolean().describe('Whether standard error exceeded its limit.'),
  stdout_dropped_bytes: z.number().int().describe('Bytes of standard output beyond the limit.'),
  stderr_dropped_bytes: z.number().int().describe('Bytes of standard error beyond the limit.'),
  files_truncated: z
    .literal(true)
    .optional()
    .describe(
      'The lists of changed files are incomplete, because their paths are longer than 1 MiB in total.',
    ),
  result: z.json().optional().describe('Value of the last expression, as JSON data or as text.'),
  result_type: z.string().optional().describe('Type of that value in the guest.'),
  error: guestError.optional().describe('The uncaught exception that ended the program.'),
  state: z
    .enum(['fresh', 'committed', 'rolled_back'])
    .describe(
      'fresh: the interpreter was new; committed: its state is kept; rolled_back: it was restored to the state before the call.',
    ),
  session_id: z.string().optional().describe('Name of the session, if there is one.'),
  imports: z.array(importFacts).describe('Packages and costly standard modules that the program imported.'),
  error_guidance: errorGuidance
    .optional()
    .describe('What went wrong and what to do, for known kinds of failure.'),
  fuel_analysis: fuelAnalysis.optional().describe('How the run used its fuel budget.'),
  queue_ms: z.number().describe('Time that the call waited; not part of duration_ms.'),
});

const resultFields = {
  stdout: z.string().describe('Standard output as text.'),
  stderr: z.string().describe('Standard error as text.'),
  fuel_consumed: z.number().int().describe('WebAssembly instructions that the program executed.'),
  memory_used_bytes: z.number().int().describe('Size of the guest memory at the end.'),
  duration_ms: z.number().describe('Time that the run took, excluding time in the queue.'),
  files_created: z.array(z.string()).describe('Paths of new files in the workspace.'),
  files_modified: z.array(z.string()).describe('Paths of changed files.'),
  files_deleted: z.array(z.string()).describe('Paths of deleted files.'),
};

export const successfulResult = z.object({
  success: z.literal(true).describe('Exit code 0 and no trap.'),
  exit_code: z.literal(0).describe('Exit code of the program.'),
  ...resultFields,
  metadata: resultMetadata
    .extend({
      trapped: z.literal(false).describe('The run was not stopped.'),
      trap_reason: z.null().describe('The run was not stopped.'),
      trap_message: z.null().describe('The run was not stopped.'),
    })
    .describe('Further facts about the run.'),
});

export const failedResult = z.object({
  success: z.literal(false).describe('The program failed, or the run was stopped.'),
  exit_code: z.number().int().describe('Exit code of the program, or of the trap.'),
  ...resultFields,
  metadata: resultMetadata.describe('Further facts about the run.'),
});

export const sandboxResult = z.discriminatedUnion('success', [successfulResult, failedResult]);
/** The result of a program that ended with exit code 0. */
export interface SuccessfulResult extends z.infer<typeof successfulResult> {}
/** The result of a program that failed or was stopped. */
export interface FailedResult extends z.infer<typeof failedResult> {}
/** The result of `execute`. Check `success` to tell the two forms apart. */
export type SandboxResult = SuccessfulResult | FailedResult;

/** The settings of deterministic mode, or undefined when it is off. */
export function deterministicMode({ deterministic }: Policy): { seed: number; startMs: number } | undefined {
  if (deterministic === false) return undefined;
  const { seed, start_time } = deterministic === true ? deterministicSettings.parse({}) : deterministic;
  return { seed, startMs: Date.parse(start_time) };
}

/** Checks input of a caller. The error names every field that does not match the schema. */
export function parse<T extends z.ZodType>(schema: T, input: unknown, what: string): z.output<T> {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => `${[what, ...path].join('.')}: ${message}`);
  throw new SandboxError('invalid_argument', problems.join('; '));
}
