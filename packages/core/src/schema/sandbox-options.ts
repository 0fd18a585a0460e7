/** The options of `createSandbox` and of `execute`. */
import * as z from 'zod';
import type { DisplayResult } from './display-result.ts';
import { described, optionalField } from './fields.ts';
import { languageName, programName, sessionId } from './names.ts';
import { networkOnly } from './network-policy.ts';
import { defaultPolicy, environment, fuelBudget, policy, timeoutSeconds } from './policy.ts';
import { LANGUAGE_RUNTIMES } from './runtime-names.ts';

const moduleName = z
  .string()
  .max(200)
  .regex(/^[A-Za-z_@][\w@/-]*(\.[\w-]+)*$/, 'must be the name of a module or package');
/** Receives structured events. Any object with these two methods works, such as a pino logger. */
export interface EventLogger {
  /** Receives the fields of an event, including `event`, and the name of the event as the message. */
  info(fields: object, message: string): void;
  /** Receives an event that needs attention, such as a limit that was reached. */
  warn(fields: object, message: string): void;
}

const eventLogger = z.custom<EventLogger>((value) => {
  const logger = value as Partial<EventLogger> | null;
  return (
    typeof logger === 'object' && typeof logger?.info === 'function' && typeof logger.warn === 'function'
  );
}, 'must have the methods info and warn, like a pino logger');

export const commitMode = z.enum(['answer', 'background']);
/** When a call is saved: before the call returns (`answer`), or afterwards (`background`). */
export type Commit = 'answer' | 'background';

export const isolationMode = z.enum(['thread', 'process']);
/** Where guests run: in threads of this process (`thread`), or in threads of a restricted separate process (`process`). */
export type Isolation = 'thread' | 'process';

export const optimizationMode = z.enum(['idle', 'demand']);
/**
 * When V8 optimises the interpreters: in advance, while no call is running (`idle`), or while calls are running
 * (`demand`).
 */
export type Optimization = 'idle' | 'demand';

const callback = <T>() =>
  z.custom<(chunk: T) => void>((value) => typeof value === 'function', 'must be a function');

export const sessionStore = z.custom<object>(
  (value) => typeof value === 'object' && value !== null && 'acquire' in value,
  'must be a store, such as memoryStore() or diskStore(folder)',
);

const onApproval = optionalField(
  z.custom<(request: never) => unknown>((value) => typeof value === 'function', 'must be a function'),
  'Decides whether to approve calls to tools that need approval. Without a decision, the program pauses if it can; otherwise the call is denied.',
);
const onPending = optionalField(
  z.enum(['wait', 'pause']),
  '`wait` (the default): the host runs the tools. `pause`: every call stays unanswered, and the program pauses when it has nothing else to do. `pause` requires a session.',
);
const tools = z
  .custom<object>((value) => typeof value === 'object' && value !== null, 'must be an object with tools')
  .optional();

export const sandboxOptions = z.strictObject({
  runtime: described(
    languageName.transform((name) => LANGUAGE_RUNTIMES[name]),
    'Language of the programs. The runtime of `typescript` is `javascript`.',
  ),
  policy: described(
    policy.default(defaultPolicy),
    'Limits of every call. Limits that are left out have defaults or, in a stored session, their stored values.',
  ),
  session_id: optionalField(
    sessionId,
    'Name of the session to open or create: 1 to 64 letters, digits, "_" or "-", not starting with "-". Default for sessions: a new UUID.',
  ),
  auto_persist_globals: optionalField(
    z.boolean(),
    'Whether variables persist between calls. Default: true with `session_id` or `store`, otherwise false.',
  ),
  store: optionalField(sessionStore, 'Store of the session. Default: a store in the memory of this process.'),
  commit: described(
    commitMode.default('background'),
    'When the changes of a call in a session are saved: before the call returns (`answer`), or afterwards (`background`).',
  ),
  preload: optionalField(
    z.array(moduleName).max(64),
    'Modules to preload into every run. An image that contains them is built once and cached. The limits of the policy apply to the build. Default: the added packages in `packages` that a program imports; a session keeps those of its first call. With an empty list, none.',
  ),
  signal: optionalField(
    z.instanceof(AbortSignal),
    'Cancels the build of the image for `preload` and `packages`. It has no effect on the finished sandbox.',
  ),
  packages: described(
    z.union([z.literal('auto'), z.array(z.string().min(1)).max(1000)]).default([]),
    "Packages that programs can import: names of packages that were added with the command `packages add`, and paths of wheels, folders of wheels or folders of Python sources. Wheels can contain WebAssembly libraries. With 'auto', packages are added when a program imports them or runs `pip install`, if the digests of their wheels are known. For bash and JavaScript, they are the packages of the `python3` that a program starts.",
  ),
  trust_new_packages: described(
    z.boolean().default(false),
    'Whether `auto` also adds wheels whose digests are unknown.',
  ),
  onPackageStep: optionalField(
    callback<string>(),
    'Receives the steps of adding packages, as text for a progress line.',
  ),
  logger: eventLogger.optional().describe('Receives structured events, such as `execution.complete`.'),
  tools: tools.describe('Tools that programs can call: a record of tools and namespaces.'),
  onApproval,
  onPending,
  pool: optionalField(
    z.custom<object>(),
    'Pool of worker threads, from createPool(). Default: a pool that all sandboxes of the process share.',
  ),
  tenant: optionalField(
    z.string().min(1).max(200),
    'Tenant of the sandbox. The pool divides its workers fairly between tenants. Default: the sandbox is a tenant of its own.',
  ),
});

/** Arguments of methods that take a path, a session id or the contents of a file. */
export const textArgument = z.string();
/** A custom check, because the type of `z.instanceof` would exclude bytes in shared memory. */
const bytes = z.custom<Uint8Array>((value) => value instanceof Uint8Array);
export const fileContent = z.union([z.string(), bytes], 'must be a string or bytes');
export const fileEncoding = z.literal('utf8', 'must be "utf8", or be left out to read bytes').optional();

const stream = z.custom<AsyncIterable<string | Uint8Array>>(
  (value) => typeof (value as Partial<AsyncIterable<unknown>> | null)?.[Symbol.asyncIterator] === 'function',
  'must be a string, bytes or a stream',
);

export const executeOptions = z.strictObject({
  language: optionalField(
    languageName,
    'Language of the program. A JavaScript sandbox also runs `typescript`. Default: the runtime of the sandbox.',
  ),
  file_name: optionalField(
    programName.nullable(),
    'File name of the program in stack traces, `__file__`, `$0` and `import.meta.url`. The program can read this file in the workspace; it is not a result unless the program changes it. If another file has the name, the program gets a free one. null: the program is not a file, like a notebook cell or a command line. In a session, a name applies to the first call only; the program of a later call N is always call-N.py, call-N.js, call-N.ts or call-N.sh. Default: main.py, main.js, main.ts or main.sh.',
  ),
  stdin: optionalField(
    z.union([fileContent, stream], 'must be a string, bytes or a stream'),
    'Standard input of the program. A stream is read only when the program reads.',
  ),
  args: described(
    z.array(z.string()).max(1000).readonly().default([]),
    'Arguments of the program, in `sys.argv` or `process.argv`.',
  ),
  env: optionalField(
    environment,
    'Environment variables of this call, in addition to those of the policy or instead of them. In a session, later calls find the values of the policy again; variables that the policy does not have stay set.',
  ),
  signal: optionalField(
    z.instanceof(AbortSignal),
    'Cancels the call. Its result then has the trap reason `cancelled`.',
  ),
  timeout_seconds: optionalField(
    timeoutSeconds,
    'Maximum wall-clock time for this call in seconds. Default: that of the policy.',
  ),
  fuel_budget: optionalField(
    fuelBudget,
    'Maximum number of WebAssembly instructions for this call. Default: that of the policy.',
  ),
  network_only: optionalField(
    networkOnly,
    'URL patterns that restrict the requests of this call further than the policy: a request must match one of them, too.',
  ),
  inject_setup: described(
    z.boolean().default(true),
    'Whether packages and helpers are available. Without them, the program has only the language and its standard library.',
  ),
  profile: described(
    z.boolean().default(false),
    'Whether to sample fuel use more often and to record complete stacks in `metadata.fuel_profile`.',
  ),
  onStdout: optionalField(
    callback<string>(),
    'Receives standard output as text while the program is running, up to `stdout_max_bytes`.',
  ),
  onStderr: optionalField(
    callback<string>(),
    'Receives standard error as text while the program is running, up to `stderr_max_bytes`.',
  ),
  onOutput: optionalField(
    z.custom<(stream: 'stdout' | 'stderr', bytes: Uint8Array) => void | Promise<void>>(
      (value) => typeof value === 'function',
      'must be a function',
    ),
    'Receives all output as bytes, including output beyond the limits of the result. If the function returns a promise, the program and the call wait for it. The call waits no longer than `timeout_seconds` for one promise. Cannot be combined with `onStdout` or `onStderr`.',
  ),
  onResult: optionalField(
    callback<DisplayResult>(),
    'Receives each result that the program displays. Charts are delivered when the program has ended, other results while it is running.',
  ),
  onProgress: optionalField(
    callback<{ fuel_consumed: number; fuel_budget: number }>(),
    'Receives the fuel that the run has used so far, about ten times per second.',
  ),
  onPackages: optionalField(
    z.custom<
      (
        packages: readonly { name: string; version?: string | undefined; bytes?: number | undefined }[],
      ) => boolean | { reason: string } | Promise<boolean | { reason: string }>
    >((value) => typeof value === 'function', 'must be a function'),
    "Decides whether packages are added for the program, with `packages: 'auto'`. A `reason` says why they are not. Without it, known packages are added. `bytes` is the size of the wheel, if it is known.",
  ),
  tools: tools.describe('Tools that the program can call, instead of those of the sandbox.'),
  onApproval,
  onPending,
  files: optionalField(
    z.record(z.string(), fileContent),
    'Files to write into the workspace before the run: contents by path.',
  ),
});
