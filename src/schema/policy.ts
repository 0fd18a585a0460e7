/** The policy: the limits of a sandbox, and the part of them that a session stores. */
import { z } from 'zod';
import { DEFAULT_LIMITS } from './default-limits.ts';

const MiB = 1024 * 1024;

/** The fields of a policy that a call can override. */
export const timeoutSeconds = z.number().positive().max(86_400);
export const fuelBudget = z.number().int().min(1).max(Number.MAX_SAFE_INTEGER);

const bytes = (fallback: number, what: string) =>
  z
    .number()
    .int()
    .min(0)
    .max(4096 * MiB)
    .default(fallback)
    .describe(what);
const envName = z
  .string()
  .regex(
    /^[A-Za-z_][A-Za-z0-9_]{0,127}$/,
    'must have 1 to 128 letters, digits and underscores, and must not start with a digit',
  );
const envValue = z
  .string()
  .max(32_768)
  .refine((value) => !value.includes('\0'), 'must not contain NUL');

export const mount = z.strictObject({
  host_path: z.string().min(1).describe('File or folder on the host; copied when the sandbox is created.'),
  guest_path: z
    .string()
    .regex(
      /^(\/(?!\.{1,2}(\/|$))[^/\0]+)+$/,
      'must be an absolute path without ".", "..", "//" or a slash at the end',
    )
    .describe('Path in the guest, where it is read-only.'),
});
/** A read-only copy of host files in the guest. */
export interface Mount extends z.infer<typeof mount> {}

/** Default start of the virtual clock. */
const DETERMINISTIC_START = '2026-01-01T00:00:00Z';
const deterministicSettings = z.strictObject({
  seed: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER).default(0).describe('Seed of all randomness.'),
  start_time: z.iso
    .datetime('must be a time in UTC, such as 2026-01-31T12:00:00Z')
    .default(DETERMINISTIC_START)
    .describe('Start of the virtual clock, in ISO 8601 and UTC.'),
});

/** The limits of a sandbox. Unknown keys are rejected, so that a misspelt limit is an error. */
export const policy = z.strictObject({
  fuel_budget: fuelBudget
    .default(DEFAULT_LIMITS.fuel_budget)
    .describe('WebAssembly instructions that one call may execute.'),
  memory_bytes: bytes(
    DEFAULT_LIMITS.memory_bytes,
    'Memory that the guest may use, including the interpreter.',
  ),
  timeout_seconds: timeoutSeconds
    .default(DEFAULT_LIMITS.timeout_seconds)
    .describe('Wall-clock time that one call may take, excluding time in the queue.'),
  max_tool_calls: z
    .number()
    .int()
    .min(0)
    .max(10_000)
    .default(100)
    .describe('Maximum number of tool calls per program.'),
  max_wait_seconds: z
    .number()
    .min(0)
    .max(86_400)
    .default(300)
    .describe('Time that one program may wait for tools; not part of timeout_seconds.'),
  stdout_max_bytes: bytes(
    DEFAULT_LIMITS.stdout_max_bytes,
    'Standard output returned per call; the rest is dropped and counted.',
  ),
  stderr_max_bytes: bytes(
    DEFAULT_LIMITS.stderr_max_bytes,
    'Standard error returned per call; the rest is dropped and counted.',
  ),
  workspace_max_bytes: bytes(64 * MiB, 'Total size of the files in /app and /tmp.'),
  workspace_max_files: z
    .number()
    .int()
    .min(0)
    .max(1_000_000)
    .default(10_000)
    .describe(
      'Number of files, folders and links in /app and /tmp. The total length of their paths is limited to 512 bytes times this number, or to 64 KiB if that is more.',
    ),
  env: z
    .record(envName, envValue)
    .default({})
    .describe('Environment variables of the guest; it sees no others.'),
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

let defaults: Policy | undefined;

/** The policy of a caller who sets no limit. */
export function defaultPolicy(): Policy {
  defaults ??= policy.parse({});
  return { ...defaults, env: {}, mounts: [] };
}

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
    message: `a session stores at most ${SESSION_ENV_MAX_CHARS} characters of environment variables`,
  });
/** The limits that a session stores. */
export interface SessionPolicy extends z.infer<typeof sessionPolicy> {}

/** The settings of deterministic mode, or undefined when it is off. */
export function deterministicMode({ deterministic }: Policy): { seed: number; startMs: number } | undefined {
  if (deterministic === false) return undefined;
  const { seed, start_time } = deterministic === true ? deterministicSettings.parse({}) : deterministic;
  return { seed, startMs: Date.parse(start_time) };
}
