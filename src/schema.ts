/**
 * Everything that crosses the wire, once: policy, call options and results. Types, defaults, error texts, CLI flags and
 * documentation tables derive from here. Names are snake_case, as callers and models see them.
 */
import { z } from 'zod';
import { SandboxError } from './errors.ts';

const MiB = 1024 * 1024;

export const RUNTIME_NAMES = ['python', 'javascript'] as const;
export const runtimeName = z.enum(RUNTIME_NAMES).describe('Language of the guest.');
export type RuntimeName = z.infer<typeof runtimeName>;

/** Windows opens a device for these names in any folder. */
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

const envName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'must look like a variable name');
const envValue = z
  .string()
  .max(32_768)
  .refine((value) => !value.includes('\0'), 'must not contain NUL');

const mount = z.strictObject({
  host_path: z.string().min(1).describe('File or folder of the host; copied when the sandbox is made.'),
  guest_path: z
    .string()
    .regex(/^(\/(?!\.{1,2}(\/|$))[^/\0]+)+$/, 'must be an absolute path without "." and ".."')
    .describe('Where the guest sees it, read-only.'),
});

/** Where a virtual clock starts unless told otherwise. */
const DETERMINISTIC_START = '2026-01-01T00:00:00Z';
const deterministicSettings = z.strictObject({
  seed: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER).default(0).describe('Seed of all randomness.'),
  start_time: z.iso
    .datetime()
    .default(DETERMINISTIC_START)
    .describe('Where the virtual clock starts, in ISO 8601 and UTC.'),
});

/** The limits of a sandbox. Unknown keys are refused, so that a misspelt limit is never silently absent. */
export const policy = z.strictObject({
  fuel_budget: fuel.default(10_000_000_000).describe('WebAssembly instructions one call may execute.'),
  memory_bytes: bytes(256 * MiB, 'Memory the guest may grow to, its interpreter included.'),
  timeout_seconds: seconds
    .default(30)
    .describe('Wall time one call may take; waiting in the queue does not count.'),
  stdout_max_bytes: bytes(2_000_000, 'Standard output kept per call; the rest is dropped and counted.'),
  stderr_max_bytes: bytes(1_000_000, 'Standard error kept per call; the rest is dropped and counted.'),
  workspace_max_bytes: bytes(64 * MiB, 'Contents of all files in /app and /tmp together.'),
  workspace_max_files: z
    .number()
    .int()
    .min(0)
    .max(1_000_000)
    .default(10_000)
    .describe('Files, folders and links there.'),
  env: z
    .record(envName, envValue)
    .default({})
    .describe('Environment variables of the guest; it sees no others.'),
  deterministic: z
    .union([z.boolean(), deterministicSettings])
    .default(false)
    .describe('Same code, same input: same output and same fuel, on any machine.'),
  mounts: z.array(mount).max(31).default([]).describe('Read-only copies of host files.'),
  error_guidance: z.boolean().default(true).describe('Explain failures in metadata.error_guidance.'),
  fuel_analysis: z.boolean().default(true).describe('Report on fuel in metadata.fuel_analysis.'),
});
export type Policy = z.infer<typeof policy>;
export type PolicyInput = z.input<typeof policy>;

/** Environment that a session can keep, names and values together. */
const SESSION_ENV_MAX_CHARS = 262_144;

/**
 * What a session keeps of its policy. Never mounts: those are paths of a host, and what is read back from a store may
 * name any.
 */
export const sessionPolicy = policy
  .omit({ mounts: true })
  .refine(({ env }) => JSON.stringify(env).length <= SESSION_ENV_MAX_CHARS, {
    path: ['env'],
    message: `a session keeps at most ${SESSION_ENV_MAX_CHARS} characters of environment`,
  });
export type SessionPolicy = z.infer<typeof sessionPolicy>;

const count = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
/** These names become part of a program that lists variables, so they must be valid identifiers. */
const identifier = z
  .string()
  .max(200)
  .regex(/^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u);
const recordedModule = z.string().min(1).max(300);

/** Facts about a session that a store lists without loading the session. */
export const sessionRecord = z.strictObject({
  session_id: sessionId,
  runtime: runtimeName,
  auto_persist_globals: z.boolean(),
  created_at: z.iso.datetime(),
  last_used_at: z.iso.datetime(),
  calls: count,
  fuel_consumed: count,
  imports: z.array(recordedModule).max(10_000).describe('Top-level modules that calls have imported.'),
  declared: z
    .array(identifier)
    .max(10_000)
    .describe('Top-level names that programs may have declared, for languages that cannot list them.'),
  preload: z.array(recordedModule).max(10_000).describe('Modules preloaded into the image of the session.'),
  policy: sessionPolicy.describe('The limits that apply unless a caller passes others.'),
});
type MutableSessionRecord = z.infer<typeof sessionRecord>;
export type SessionRecord = {
  readonly [K in keyof MutableSessionRecord]: MutableSessionRecord[K] extends readonly (infer T)[]
    ? readonly T[]
    : MutableSessionRecord[K];
};

const moduleName = z
  .string()
  .max(200)
  .regex(/^[A-Za-z_@][\w@/-]*(\.[\w-]+)*$/, 'must be the name of a module or package');
/** What events are written to. A pino logger is one; so is any object with these two methods. */
export interface EventLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

const eventLogger = z.custom<EventLogger>((value) => {
  const logger = value as Partial<EventLogger> | null;
  return (
    typeof logger === 'object' && typeof logger?.info === 'function' && typeof logger.warn === 'function'
  );
}, 'must have the methods info and warn, as a pino logger has');

export const sandboxOptions = z.strictObject({
  runtime: runtimeName,
  policy: policy.prefault({}),
  session_id: sessionId.optional().describe('Name of the session to open or begin; by default a new UUID.'),
  auto_persist_globals: z
    .boolean()
    .optional()
    .describe('Whether the interpreter lives on between calls. On where a session_id or a store is given.'),
  store: z
    .custom<object>(
      (value) => typeof value === 'object' && value !== null && 'acquire' in value,
      'must be a store',
    )
    .optional()
    .describe('Where sessions are kept; by default in the memory of this process.'),
  preload: z
    .array(moduleName)
    .max(64)
    .default([])
    .describe('Modules that every run finds loaded; the image with them is made once and kept.'),
  packages: z
    .array(z.string().min(1))
    .max(64)
    .default([])
    .describe("Wheels or folders of the host with the caller's own packages."),
  logger: eventLogger.optional().describe('Receives structured events, such as execution.complete.'),
  pool: z
    .custom<object>()
    .optional()
    .describe('Worker threads to use, from createPool(); by default shared by all sandboxes.'),
  tenant: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('Sandboxes of one tenant share its turns in the pool; by default each sandbox has its own.'),
});

const fileContent = z.union([z.string(), z.instanceof(Uint8Array)]);
const callback = <T>() =>
  z.custom<(chunk: T) => void>((value) => typeof value === 'function', 'must be a function');

const stream = z.custom<AsyncIterable<string | Uint8Array>>(
  (value) => typeof value === 'object' && value !== null && Symbol.asyncIterator in value,
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
export type ExecuteOptions = z.input<typeof executeOptions>;

/** Every way a run can end other than by itself, with the words for it and the exit code it gets. */
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
export type TrapReason = keyof typeof TRAPS;
const trapReason = z.enum(Object.keys(TRAPS) as [TrapReason, ...TrapReason[]]);

/** Longest texts the boot scripts send: they count characters, which can be two units each. */
const TEXT_MAX = 40_100;
const shortText = z.string().max(420);

/** An uncaught exception as the runtime saw it. Comes from the guest: every field is capped and may be a lie. */
export const guestError = z.object({
  type: z.string().max(TEXT_MAX),
  message: z.string().max(TEXT_MAX),
  line: z.number().int().nullish(),
  file: shortText.optional().describe('Whose line it is, if not that of the program that ran.'),
  column: z.number().int().nullish(),
  stack: z.string().max(TEXT_MAX).nullish(),
  module: shortText.optional().describe('Where the class comes from; built-in ones from "builtins".'),
  kind: shortText.optional().describe('The nearest built-in class it derives from.'),
  raised: z.boolean().optional().describe('The program raised it itself, on that line.'),
  thrower: shortText.optional().describe('The built-in function that threw it.'),
  errno: z.number().int().nullish(),
  path: z.string().max(TEXT_MAX).nullish(),
  path2: z.string().max(TEXT_MAX).optional(),
  cwd: shortText.optional().describe('What a relative path was relative to.'),
  name: z.string().max(TEXT_MAX).nullish().describe('Of the missing module, variable or attribute.'),
  attribute: shortText.optional().describe('What a module did not have.'),
  module_name: shortText.optional().describe('The module that an attribute was looked for in.'),
  on_path: z.boolean().optional().describe('Vendored packages were on the import path.'),
  suggestion: shortText.optional().describe('A name close to the missing one.'),
  container: shortText.optional().describe('Type of what a key, index or attribute was looked for in.'),
  key: shortText.optional(),
  available: z.array(shortText).max(20).optional().describe('Keys that were there, the first of them.'),
  length: z.number().int().optional(),
  position: z.number().int().optional().describe('Where in the text or bytes it happened.'),
  near: shortText.optional().describe('The text around that position.'),
});
export type GuestError = z.infer<typeof guestError>;

/** What the boot script reports about a program that came to its own end. */
export const guestReport = z.object({
  exit_code: z.number().int().min(0).max(255),
  result: z.json().optional(),
  result_type: z.string().max(200).optional(),
  error: guestError.optional(),
  exit_cause: guestError.optional().describe('The exception that was being handled when the program exited.'),
});
export type GuestReport = z.infer<typeof guestReport>;

/** What one import cost in this very run. */
export const importFacts = z.object({
  name: z.string().describe('Top-level name of the module.'),
  fuel: z.number().int().describe('Instructions that loading it took, all it imports itself included.'),
  cached: z.boolean().describe('It had been loaded before the program began.'),
});
export type ImportFacts = z.infer<typeof importFacts>;

/** A vendored package, with figures measured at build time. */
export const packageFacts = z.object({
  language: runtimeName,
  name: z.string(),
  import_names: z.array(z.string()),
  version: z.string(),
  heavy: z.boolean().describe('A first import takes a notable share of the default fuel budget.'),
  measured_imports: z.array(z.string()).describe('The imports that the figures are about.'),
  fuel_first_import: z.number().int().describe('Fuel of importing it in a fresh guest.'),
  fuel_cached_import: z.number().int().describe('Fuel of importing it once more.'),
  warm: z.boolean().describe('It is loaded in every guest from the start.'),
  use: z.string(),
  licence: z.string(),
});
export type PackageFacts = z.infer<typeof packageFacts>;

/** Says what went wrong and what to do about it. `error_type` is one of the types of docs/ERROR_GUIDANCE.md. */
export const errorGuidance = z.object({
  error_type: z.string(),
  error_message: z.string(),
  actionable_guidance: z.array(z.string()).describe('What to know and do, most important first.'),
  related_docs: z.array(z.string()).describe('Files of this package, with the section.'),
  code_examples: z.array(z.string()).optional(),
});
export type ErrorGuidance = z.infer<typeof errorGuidance>;

export const FUEL_STATUSES = ['efficient', 'moderate', 'warning', 'critical', 'exhausted'] as const;
export const fuelAnalysis = z.object({
  consumed: z.number().int(),
  budget: z.number().int(),
  utilization_percent: z.number(),
  status: z.enum(FUEL_STATUSES),
  recommendation: z.string().nullable(),
  likely_causes: z.array(z.string()),
});
export type FuelAnalysis = z.infer<typeof fuelAnalysis>;

export const resultMetadata = z.object({
  runtime: runtimeName,
  trapped: z.boolean().describe('The run was ended from outside.'),
  trap_reason: trapReason.nullable(),
  trap_message: z.string().nullable(),
  stdout_truncated: z.boolean(),
  stderr_truncated: z.boolean(),
  stdout_dropped_bytes: z.number().int(),
  stderr_dropped_bytes: z.number().int(),
  result: z
    .json()
    .optional()
    .describe('Value of a trailing expression: JSON data, or its representation as text.'),
  result_type: z.string().optional().describe('Type of that value in the guest.'),
  error: guestError.optional().describe('The uncaught exception, if that is how the program ended.'),
  state: z
    .enum(['fresh', 'committed', 'rolled_back'])
    .describe('What became of the interpreter: new for this call; lives on; or as it was before the call.'),
  session_id: z.string().optional(),
  imports: z
    .array(importFacts)
    .describe('Packages and costly standard modules the program imported, and what each cost.'),
  error_guidance: errorGuidance.optional().describe('Present when the run failed in a way that is known.'),
  fuel_analysis: fuelAnalysis.optional().describe('How the run used its fuel budget.'),
  queue_ms: z.number().describe('Time the call waited for its turn; not part of duration_ms.'),
});

const resultFields = {
  stdout: z.string(),
  stderr: z.string(),
  fuel_consumed: z.number().int().describe('WebAssembly instructions of the program, without the boot.'),
  memory_used_bytes: z.number().int().describe('Size that the guest memory reached.'),
  duration_ms: z.number(),
  files_created: z.array(z.string()),
  files_modified: z.array(z.string()),
  files_deleted: z.array(z.string()),
};

export const successfulResult = z.object({
  success: z.literal(true).describe('Exit code 0 and no trap.'),
  exit_code: z.literal(0),
  ...resultFields,
  metadata: resultMetadata.extend({
    trapped: z.literal(false),
    trap_reason: z.null(),
    trap_message: z.null(),
  }),
});

export const failedResult = z.object({
  success: z.literal(false).describe('The program failed, or the run was stopped.'),
  exit_code: z.number().int(),
  ...resultFields,
  metadata: resultMetadata,
});

export const sandboxResult = z.discriminatedUnion('success', [successfulResult, failedResult]);
export type SuccessfulResult = z.infer<typeof successfulResult>;
export type FailedResult = z.infer<typeof failedResult>;
/** The result of `execute`. Check `success` to tell the two forms apart. */
export type SandboxResult = SuccessfulResult | FailedResult;

/** The settings of deterministic mode, or undefined when it is off. */
export function deterministicMode({ deterministic }: Policy): { seed: number; startMs: number } | undefined {
  if (deterministic === false) return undefined;
  const { seed, start_time } = deterministic === true ? deterministicSettings.parse({}) : deterministic;
  return { seed, startMs: Date.parse(start_time) };
}

/** Parses a caller's input; the error names every field that does not fit. */
export function parse<T extends z.ZodType>(schema: T, input: unknown, what: string): z.output<T> {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => `${[what, ...path].join('.')}: ${message}`);
  throw new SandboxError('invalid_argument', problems.join('; '));
}
