/** The policy: the limits of a sandbox, and the part of them that a session stores. */
import * as z from 'zod';
import { DEFAULT_LIMITS } from './default-limits.ts';
import { described, optionalField, wholeNumber } from './fields.ts';
import { networkOnly, networkPolicy } from './network-policy.ts';

const MiB = 1024 * 1024;

/** The fields of a policy that a call can override. */
export const timeoutSeconds = z.number().positive().max(86_400);
export const fuelBudget = wholeNumber(1, Number.MAX_SAFE_INTEGER);

const bytes = (fallback: number, what: string) =>
  wholeNumber(0, 4096 * MiB)
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

/** Environment variables. */
export const environment = z.record(envName, envValue);

export const mount = z.strictObject({
  host_path: described(
    z.string().min(1),
    'File or folder on the host. It is copied when the sandbox is created.',
  ),
  guest_path: described(
    z
      .string()
      .regex(
        /^(\/(?!\.{1,2}(\/|$))[^/\0]+)+$/,
        'must be an absolute path without ".", "..", "//" or a slash at the end',
      ),
    'Absolute path of the copy in the guest. It must not overlap with /app, /tmp, /dev, another mount or the files of the interpreter.',
  ),
});
/** Host files that are copied into the guest, where they are read-only. */
export interface Mount extends z.infer<typeof mount> {}

/** Default start of the virtual clock. */
const DETERMINISTIC_START = '2026-01-01T00:00:00Z';
const deterministicSettings = z.strictObject({
  seed: described(wholeNumber(0, Number.MAX_SAFE_INTEGER).default(0), 'Seed for all random numbers.'),
  start_time: described(
    z.iso.datetime('must be a time in UTC, such as 2026-01-31T12:00:00Z').default(DETERMINISTIC_START),
    'Start of the virtual clock, in ISO 8601 and UTC.',
  ),
});

/** The limits of a sandbox. Unknown keys are rejected, so that a misspelt limit is an error. */
export const policy = z.strictObject({
  fuel_budget: described(
    fuelBudget.default(DEFAULT_LIMITS.fuel_budget),
    'Maximum number of WebAssembly instructions per call.',
  ),
  memory_bytes: bytes(
    DEFAULT_LIMITS.memory_bytes,
    'Maximum size of the guest memory in bytes, including the interpreter.',
  ),
  timeout_seconds: described(
    timeoutSeconds.default(DEFAULT_LIMITS.timeout_seconds),
    'Maximum wall-clock time per call in seconds. Time in the queue and time spent waiting for tools and requests do not count.',
  ),
  max_tool_calls: described(wholeNumber(0, 10_000).default(100), 'Maximum number of tool calls per program.'),
  max_wait_seconds: described(
    z.number().min(0).max(86_400).default(300),
    'Maximum time in seconds that one program can wait for tools and requests.',
  ),
  max_processes: described(
    wholeNumber(0, 1_000_000).default(DEFAULT_LIMITS.max_processes),
    'Maximum number of processes per call.',
  ),
  max_process_depth: described(
    wholeNumber(0, 1000).default(DEFAULT_LIMITS.max_process_depth),
    'Maximum depth of processes that start processes.',
  ),
  stdout_max_bytes: bytes(
    DEFAULT_LIMITS.stdout_max_bytes,
    'Maximum number of bytes of standard output in the result of a call. The result states how many bytes were dropped.',
  ),
  stderr_max_bytes: bytes(
    DEFAULT_LIMITS.stderr_max_bytes,
    'Maximum number of bytes of standard error in the result of a call. The result states how many bytes were dropped.',
  ),
  workspace_max_bytes: bytes(64 * MiB, 'Maximum total size in bytes of the files in /app and /tmp.'),
  workspace_max_files: described(
    wholeNumber(0, 1_000_000).default(10_000),
    'Maximum number of files, folders and links in /app and /tmp. The total length of their paths is limited to 512 bytes times this number or to 64 KiB, whichever is greater.',
  ),
  env: described(
    environment.default({}),
    'Environment variables of the guest. Variables of the host are never passed.',
  ),
  home: optionalField(
    z.string().regex(/^\/home\/[a-z_][a-z0-9_-]{0,31}$/, 'must be a folder in /home, such as /home/user'),
    'Path of the workspace for programs that expect it there, such as /home/user. It is the value of HOME, programs start in it, and /app is a link to it. By default, the workspace is /app.',
  ),
  cwd: optionalField(
    z
      .string()
      .max(4096)
      .regex(
        /^(?:(?!\.{1,2}(?:\/|$))[^/\0]+(?:\/(?!$)|$))+$/,
        'must be a path relative to the workspace without ".", "..", "//" or a slash at the end',
      ),
    'Folder in the workspace in which programs start, such as data/raw. Python programs can import the modules in it. If the folder does not exist, and by default, they start in the workspace. In a session, a program starts where the previous one has ended.',
  ),
  deterministic: described(
    z.union([z.boolean(), deterministicSettings]).default(false),
    `Whether the same code and input give the same output and fuel use on every machine. An object also sets \`seed\`, the seed of random numbers (default: 0), and \`start_time\`, the start of the virtual clock (default: ${DETERMINISTIC_START}).`,
  ),
  mounts: described(
    z.array(mount).max(31).default([]),
    'Host files to copy into the guest, where they are read-only.',
  ),
  network: optionalField(
    networkPolicy,
    'The requests that programs may send. Without it, programs have no network.',
  ),
  network_only: optionalField(
    networkOnly,
    'URL patterns that restrict `network` further: a request must match one of them, too. They permit nothing themselves, so a session stores them.',
  ),
  error_guidance: described(
    z.boolean().default(true),
    'Whether results explain failures in `metadata.error_guidance`.',
  ),
  fuel_analysis: described(
    z.boolean().default(true),
    'Whether results analyse fuel use in `metadata.fuel_analysis`.',
  ),
});
/** The limits of a sandbox, with defaults filled in. */
export interface Policy extends z.infer<typeof policy> {}
/** The limits of a sandbox as a caller sets them. Limits that are left out have defaults. Unknown fields are rejected. */
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
 * The part of a policy that a session stores. Mounts and permissions for requests are never stored, because the contents of a
 * store are not trusted.
 */
export const sessionPolicy = policy
  .omit({ mounts: true, network: true })
  .refine(({ env }) => JSON.stringify(env).length <= SESSION_ENV_MAX_CHARS, {
    path: ['env'],
    message: `a session stores at most ${SESSION_ENV_MAX_CHARS} characters of environment variables`,
  });
/** The limits that a session stores: a policy without mounts and network. */
export interface SessionPolicy extends z.infer<typeof sessionPolicy> {}

/** The environment variables of programs. */
export const programEnv = ({ env, home }: Pick<Policy, 'env' | 'home'>): Policy['env'] =>
  home === undefined ? env : { HOME: home, ...env };

/** The settings of deterministic mode, or undefined when it is off. */
export function deterministicMode({ deterministic }: Policy): { seed: number; startMs: number } | undefined {
  if (deterministic === false) return undefined;
  const { seed, start_time } = deterministic === true ? deterministicSettings.parse({}) : deterministic;
  return { seed, startMs: Date.parse(start_time) };
}
