/** The options of `createSandbox` and of `execute`. */
import { z } from 'zod';
import type { DisplayResult } from './display-result.ts';
import { languageName, programName, runtimeName, sessionId } from './names.ts';
import { defaultPolicy, fuelBudget, policy, timeoutSeconds } from './policy.ts';

const moduleName = z
  .string()
  .max(200)
  .regex(/^[A-Za-z_@][\w@/-]*(\.[\w-]+)*$/, 'must be the name of a module or package');
/** Receives structured events. A pino logger works, as does any object with these two methods. */
export interface EventLogger {
  /** Receives an event: its fields, including `event`, and its name. */
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
/** When a session is saved: before a call returns (`answer`), or afterwards (`background`). */
export type Commit = 'answer' | 'background';

export const isolationMode = z.enum(['thread', 'process']);
/** Where guests run: in threads of this process, or in threads of a separate process that Node.js restricts. */
export type Isolation = 'thread' | 'process';

export const optimizationMode = z.enum(['idle', 'demand']);
/** When V8 optimises the interpreters: before calls need it, while no call runs (`idle`), or while calls run (`demand`). */
export type Optimization = 'idle' | 'demand';

export const sessionStore = z.custom<object>(
  (value) => typeof value === 'object' && value !== null && 'acquire' in value,
  'must be a store, such as memoryStore() or diskStore(folder)',
);

const onApproval = z
  .custom<(request: never) => unknown>((value) => typeof value === 'function', 'must be a function')
  .optional()
  .describe(
    'Decides whether to approve calls to tools that need approval. Without it, or if it returns undefined, the program pauses if it can.',
  );
const onPending = z
  .enum(['wait', 'pause'])
  .optional()
  .describe(
    'wait, the default: the host runs the tools. pause: it runs none; every call stays unanswered, and the program pauses when it has nothing else to do. Requires a session.',
  );
const tools = z
  .custom<object>((value) => typeof value === 'object' && value !== null, 'must be an object with tools')
  .optional();

export const sandboxOptions = z.strictObject({
  runtime: runtimeName,
  policy: policy.default(defaultPolicy).describe('Limits of every call.'),
  session_id: sessionId.optional().describe('Name of the session to open or create; by default a new UUID.'),
  auto_persist_globals: z
    .boolean()
    .optional()
    .describe('Whether variables persist between calls; by default only with a session_id or a store.'),
  store: sessionStore
    .optional()
    .describe('Where sessions are stored; by default in the memory of this process.'),
  commit: commitMode
    .default('background')
    .describe('When a session is saved: before a call returns (answer), or afterwards (background).'),
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
    .max(1000)
    .default([])
    .describe(
      'Packages that programs can import: names of packages that the command "packages add" has added; wheels, which may contain WebAssembly libraries; folders of wheels; and folders of Python sources.',
    ),
  logger: eventLogger.optional().describe('Receives structured events, such as execution.complete.'),
  tools: tools.describe('Functions that programs can call: a record of tools and namespaces.'),
  onApproval,
  onPending,
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
      'Tenant for fair scheduling: the pool treats sandboxes with the same tenant as one. By default, each sandbox is its own tenant.',
    ),
});

/** Arguments of methods that take a path, a session id or the contents of a file. */
export const textArgument = z.string();
/** A custom check, because the type of `z.instanceof` would exclude bytes in shared memory. */
const bytes = z.custom<Uint8Array>((value) => value instanceof Uint8Array);
export const fileContent = z.union([z.string(), bytes], 'must be a string or bytes');
export const fileEncoding = z.literal('utf8', 'must be "utf8", or be left out to read bytes').optional();
const callback = <T>() =>
  z.custom<(chunk: T) => void>((value) => typeof value === 'function', 'must be a function');

const stream = z.custom<AsyncIterable<string | Uint8Array>>(
  (value) => typeof (value as Partial<AsyncIterable<unknown>> | null)?.[Symbol.asyncIterator] === 'function',
  'must be a string, bytes or a stream',
);

export const executeOptions = z.strictObject({
  language: languageName
    .optional()
    .describe(
      'Language of the program; by default that of the runtime. A JavaScript sandbox also runs `typescript`.',
    ),
  file_name: programName
    .optional()
    .describe(
      'File name of the program in stack traces, `__file__` and `import.meta.url`, by default main.py, main.js or main.ts. In a session, it applies to the first call only; the program of a later call N is always call-N.py, call-N.js or call-N.ts.',
    ),
  stdin: z
    .union([fileContent, stream], 'must be a string, bytes or a stream')
    .optional()
    .describe('Standard input of the program. A stream is read when the program reads.'),
  args: z
    .array(z.string())
    .max(1000)
    .default([])
    .describe('Arguments of the program, in sys.argv or process.argv.'),
  signal: z.instanceof(AbortSignal).optional().describe('Cancels the call.'),
  timeout_seconds: timeoutSeconds.optional().describe('Overrides the policy for this call.'),
  fuel_budget: fuelBudget.optional().describe('Overrides the policy for this call.'),
  inject_setup: z
    .boolean()
    .default(true)
    .describe(
      'Whether packages and helpers are available; without them, the program has only the language and its standard library.',
    ),
  profile: z
    .boolean()
    .default(false)
    .describe('Sample the fuel use finely and record complete stacks in metadata.fuel_profile.'),
  onStdout: callback<string>().optional().describe('Receives standard output while the program runs.'),
  onStderr: callback<string>().optional().describe('Receives standard error while the program runs.'),
  onOutput: z
    .custom<(stream: 'stdout' | 'stderr', bytes: Uint8Array) => void | Promise<void>>(
      (value) => typeof value === 'function',
      'must be a function',
    )
    .optional()
    .describe(
      'Receives all output as bytes, including output beyond the limits of the result. If it returns a promise, the program waits for it, and so does the call, unless a promise takes longer than `timeout_seconds` to settle.',
    ),
  onResult: callback<DisplayResult>()
    .optional()
    .describe('Receives everything that the program displays, while it runs; charts when it has ended.'),
  onProgress: callback<{ fuel_consumed: number; fuel_budget: number }>()
    .optional()
    .describe('Called about ten times a second with the fuel that the run has used so far.'),
  tools: tools.describe('Functions that the program can call, instead of those of the sandbox.'),
  onApproval,
  onPending,
  files: z
    .record(z.string(), fileContent)
    .optional()
    .describe('Files to write into the workspace before the run.'),
});
