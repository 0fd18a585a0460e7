/** A sandbox with the interface of `Sandbox` of `@e2b/code-interpreter`, in this process instead of a virtual machine. */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import {
  E2bExecution,
  type E2bResult,
  type ExecutionError,
  executionError,
  OutputMessage,
  toE2bResult,
} from '../../e2b/e2b-execution.ts';
import { HOME } from '../../e2b/file-paths.ts';
import { languageOf } from '../../e2b/language-of.ts';
import { SandboxError } from '../../errors.ts';
import { cellProgram } from '../../http/notebook-code.ts';
import { requestedPackages } from '../../packages/added-packages.ts';
import { AUTO } from '../../packages/read-user-packages.ts';
import { type PolicyInput, parse, policy } from '../../schema.ts';
import { type Context, Contexts } from './contexts.ts';
import { clientPath, Filesystem } from './filesystem.ts';
import { refuse, unsupported } from './unsupported.ts';

/** Time after which a sandbox is killed, as in E2B. */
const DEFAULT_LIFETIME_MS = 300_000;
/** The longest delay of a timer. */
const MAX_LIFETIME_MS = 2_147_483_647;

const lifetimeMs = z.number().int().min(1).max(MAX_LIFETIME_MS);
/** Options for the connection to E2B have no effect. */
const ignored = {
  apiKey: z.string().optional(),
  domain: z.string().optional(),
  debug: z.boolean().optional(),
  requestTimeoutMs: z.number().optional(),
  secure: z.boolean().optional(),
};
const createOptions = z.strictObject({
  ...ignored,
  timeoutMs: lifetimeMs.default(DEFAULT_LIFETIME_MS),
  metadata: z.record(z.string(), z.string()).optional(),
  envs: z.record(z.string(), z.string()).optional(),
  allowInternetAccess: z.literal(false, 'must be false: programs have no network').optional(),
  packages: z.union([z.array(z.string()), z.literal(AUTO)]).optional(),
  policy: policy.omit({ home: true, cwd: true }).optional(),
});

/** Options of `Sandbox.create`. Options for the connection to E2B, such as `apiKey`, are accepted and have no effect. */
export interface SandboxOpts {
  apiKey?: string;
  domain?: string;
  debug?: boolean;
  requestTimeoutMs?: number;
  secure?: boolean;
  /** Time in milliseconds after which the sandbox is killed. Default: 300,000. */
  timeoutMs?: number;
  /** Texts of the application about the sandbox. `getInfo()` returns them. */
  metadata?: Record<string, string>;
  /** Environment variables of all programs. */
  envs?: Record<string, string>;
  /** Programs have no network, so only `false` is accepted. */
  allowInternetAccess?: false;
  /**
   * Packages that Python programs can import, also those that bash starts, as for `createSandbox`. Default: all that were added with `packages add`. Not an
   * option of E2B.
   */
  packages?: string[] | 'auto';
  /** Limits of every program. Not an option of E2B. */
  policy?: Omit<PolicyInput, 'home' | 'cwd'>;
}

const isFunction = z.custom<(value: never) => unknown>(
  (value) => typeof value === 'function',
  'must be a function',
);
const runOptions = z.strictObject({
  onStdout: isFunction.optional(),
  onStderr: isFunction.optional(),
  onResult: isFunction.optional(),
  onError: isFunction.optional(),
  envs: z.record(z.string(), z.never('set environment variables with Sandbox.create({ envs })')).optional(),
  timeoutMs: lifetimeMs.optional(),
  requestTimeoutMs: z.number().optional(),
  language: z.string().optional(),
  context: z.object({ id: z.string() }).optional(),
});

/** Options of `runCode`. */
export interface RunCodeOpts {
  /** Receives standard output while the program is running. */
  onStdout?: (output: OutputMessage) => unknown;
  /** Receives standard error while the program is running. */
  onStderr?: (output: OutputMessage) => unknown;
  /** Receives each result when the program has ended. */
  onResult?: (data: E2bResult) => unknown;
  /** Receives the error if the program failed. */
  onError?: (error: ExecutionError) => unknown;
  /** Only an empty object is accepted. Set environment variables with `Sandbox.create`. */
  envs?: Record<string, never>;
  /** Maximum time of the program in milliseconds. Default: that of the policy. */
  timeoutMs?: number;
  /** Has no effect. */
  requestTimeoutMs?: number;
  /** Language of the program. Default: Python. */
  language?: string;
  /** Context in which the program runs. Default: the default context of the language. */
  context?: Context;
}

const now = () => (performance.timeOrigin + performance.now()) * 1e6;

/** A sandbox for Python, JavaScript and TypeScript with the interface of E2B. */
export class E2bSandbox {
  /** Identifies the sandbox in this process. */
  readonly sandboxId: string = randomUUID();
  /** The files of all contexts. */
  readonly files: Filesystem;
  /** Not available: every function rejects. */
  readonly commands: Readonly<Record<string, () => Promise<never>>> = refuse('commands');
  /** Not available: every function rejects. */
  readonly pty: Readonly<Record<string, () => Promise<never>>> = refuse('pty');

  readonly #contexts: Contexts;
  readonly #metadata: Readonly<Record<string, string>>;
  readonly #startedAt = new Date();
  #endAt = new Date();
  #timer: NodeJS.Timeout | undefined;
  #isKilled = false;

  private constructor(contexts: Contexts, metadata: Readonly<Record<string, string>>) {
    this.#contexts = contexts;
    this.#metadata = metadata;
    this.files = new Filesystem(contexts);
  }

  /** Creates a sandbox. There are no templates: set limits with `policy`. */
  static create(opts?: SandboxOpts): Promise<E2bSandbox>;
  static async create(opts: SandboxOpts | string = {}): Promise<E2bSandbox> {
    if (typeof opts === 'string')
      throw new SandboxError('invalid_argument', 'Templates are not available. Call Sandbox.create(opts).');
    const given = parse(createOptions, opts, 'options');
    const { timeoutMs, metadata = {}, envs = {}, packages = requestedPackages() } = given;
    const env = { ...envs, ...opts.policy?.env };
    const contexts = new Contexts({ ...opts.policy, env, home: HOME }, packages);
    await contexts.open(languageOf(undefined));
    const sandbox = new E2bSandbox(contexts, metadata);
    sandbox.#killAfter(timeoutMs);
    return sandbox;
  }

  /** Not available. */
  static connect(_sandboxId: string, _opts?: object): Promise<never> {
    return Promise.reject(unsupported('connect'));
  }

  /** Runs a program. Variables persist between programs of a context. */
  async runCode(code: string, opts: RunCodeOpts = {}): Promise<E2bExecution> {
    const { timeoutMs, language, context } = parse(runOptions, opts, 'options');
    if (context !== undefined && language !== undefined)
      throw new SandboxError('invalid_argument', 'Pass either language or context, not both.');
    const { onStdout, onStderr, onResult, onError } = opts;
    const name = languageOf(language ?? this.#contexts.list().find(({ id }) => id === context?.id)?.language);
    const target = context === undefined ? { language: name } : { id: context.id };
    const { result, count, session } = await this.#contexts.run(target, (session) =>
      session.execute(cellProgram(code, session.runtime), {
        language: name,
        ...(timeoutMs !== undefined && { timeout_seconds: timeoutMs / 1000 }),
        ...(onStdout && { onStdout: (text) => void onStdout(new OutputMessage(text, now(), false)) }),
        ...(onStderr && { onStderr: (text) => void onStderr(new OutputMessage(text, now(), true)) }),
      }),
    );
    const readFile = (path: string) => session.readFile(path);
    const results = await Promise.all(result.results.map((one) => toE2bResult(one, readFile)));
    const list = (text: string) => (text === '' ? [] : [text]);
    const logs = { stdout: list(result.stdout), stderr: list(result.stderr) };
    const error = executionError(result);
    for (const one of results) await onResult?.(one);
    if (error !== undefined) await onError?.(error);
    return new E2bExecution(results, logs, error, count);
  }

  /**
   * Opens a context: an interpreter with its own variables, and the files of the sandbox. It starts in the folder `cwd`, which is
   * created if it does not exist.
   */
  createCodeContext({ language, cwd }: { language?: string; cwd?: string; requestTimeoutMs?: number } = {}) {
    return this.#contexts.create(languageOf(language), clientPath(cwd ?? ''));
  }

  /** Closes a context. */
  removeCodeContext(context: Context | string): Promise<void> {
    return this.#contexts.remove(typeof context === 'string' ? context : context.id);
  }

  /** Returns the open contexts. */
  async listCodeContexts(): Promise<Context[]> {
    return this.#contexts.list();
  }

  /** Gives a context a new interpreter. Files are kept. */
  restartCodeContext(context: Context | string): Promise<void> {
    return this.#contexts.restart(typeof context === 'string' ? context : context.id);
  }

  /** Returns whether the sandbox is running. */
  async isRunning(_opts?: object): Promise<boolean> {
    return !this.#isKilled;
  }

  /** Sets the time in milliseconds, from now, after which the sandbox is killed. */
  async setTimeout(timeoutMs: number, _opts?: object): Promise<void> {
    this.#killAfter(parse(lifetimeMs, timeoutMs, 'timeoutMs'));
  }

  #killAfter(timeoutMs: number): void {
    clearTimeout(this.#timer);
    if (this.#isKilled) return;
    this.#endAt = new Date(Date.now() + timeoutMs);
    this.#timer = globalThis.setTimeout(() => void this.kill(), timeoutMs).unref();
  }

  /** Returns information about the sandbox. */
  async getInfo(_opts?: object) {
    return {
      sandboxId: this.sandboxId,
      metadata: this.#metadata,
      startedAt: this.#startedAt,
      endAt: this.#endAt,
      state: this.#isKilled ? ('killed' as const) : ('running' as const),
    };
  }

  /** Cancels running programs and discards the sandbox. Returns whether the sandbox was running. */
  async kill(_opts?: object): Promise<boolean> {
    clearTimeout(this.#timer);
    if (this.#isKilled) return false;
    this.#isKilled = true;
    await this.#contexts.close();
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  /** Not available. */
  pause(_opts?: object): Promise<never> {
    return Promise.reject(unsupported('pause'));
  }

  /** Not available. */
  createSnapshot(_opts?: object): Promise<never> {
    return Promise.reject(unsupported('createSnapshot'));
  }

  /** Not available. */
  fork(_opts?: object): Promise<never> {
    return Promise.reject(unsupported('fork'));
  }

  /** Not available. */
  getHost(_port: number): never {
    throw unsupported('getHost');
  }

  /** Not available. */
  getMcpUrl(): never {
    throw unsupported('getMcpUrl');
  }

  /** Not available. */
  uploadUrl(_path?: string, _opts?: object): Promise<never> {
    return Promise.reject(unsupported('uploadUrl'));
  }

  /** Not available. */
  downloadUrl(_path: string, _opts?: object): Promise<never> {
    return Promise.reject(unsupported('downloadUrl'));
  }
}
