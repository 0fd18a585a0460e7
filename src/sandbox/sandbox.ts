/**
 * A sandbox: a runtime, a policy and a workspace. `execute` runs a program in a fresh guest and reports the outcome.
 * Failures of the guest are data in the result; only faults of the host or the caller throw.
 */

import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Cancellation, CancelSignal } from '../concurrency/cancellation.ts';
import { linkSignals } from '../concurrency/link-signals.ts';
import { undefinedIfAborted } from '../concurrency/until-aborted.ts';
import { SandboxError } from '../errors.ts';
import type { FileTree } from '../fs/immutable-file-tree.ts';
import { vendoredPackagesOf } from '../packages/import-costs.ts';
import type { GuestAssets } from '../runtimes/guest-artifacts.ts';
import {
  deterministicMode,
  fileContent,
  fileEncoding,
  type Policy,
  parse,
  type RuntimeName,
  type SandboxResult,
  textArgument,
} from '../schema.ts';
import type { SessionRecord } from '../stores/store.ts';
import { type DrawPicture, requestPicture } from '../worker/auxiliary-jobs.ts';
import { assetsOf, extendedAssets, type ImageExtension } from '../worker/guest-assets.ts';
import type { JobHandle } from '../worker/job-handle.ts';
import type { WorkerTurn } from '../worker/pool.ts';
import type { SessionInput } from '../worker/protocol.ts';
import { buildRunJob } from './build-run-job.ts';
import { CallHistory } from './call-history.ts';
import {
  type Call,
  callLanguage,
  callLimits,
  type ExecuteOptions,
  parseCallOptions,
  type RunnableCall,
} from './call-options.ts';
import { CallPackages } from './call-packages.ts';
import { CallTools, type Resumption } from './call-tools.ts';
import { checkMemory, type SandboxParts } from './create-parts.ts';
import { type Execution, startExecution } from './execution-handle.ts';
import { EventLog } from './log-events.ts';
import { type FinishedCall, observerOf, outcomeOf } from './observe-run.ts';
import type { OutputDelivery } from './output-delivery.ts';
import type { ProgramPackages } from './packages-on-demand.ts';
import { ResultDelivery } from './result-delivery.ts';
import { addAnalysis } from './run-analysis.ts';
import { Stdin } from './stdin.ts';
import { stoppedByHost, toResult } from './to-result.ts';
import { Workspace, type WorkspaceFile } from './workspace.ts';

/** Workspace paths that guidance about a missing file considers. */
const MAX_PATHS_FOR_GUIDANCE = 200;

/** The image in which a program starts. */
interface ProgramImage extends ProgramPackages {
  readonly assets: GuestAssets;
}

/** Runs programs of one runtime under one policy and in one workspace. Created by `createSandbox`. */
export class Sandbox {
  /** Language of the guest. */
  readonly runtime: RuntimeName;
  /** Limits of every call, with defaults filled in. */
  readonly policy: Policy;

  /** @internal */
  protected parts: SandboxParts;
  /** @internal */
  protected readonly workspace: Workspace;
  /** Calls with the same key run one after another. @internal */
  protected readonly key = randomUUID();
  /** @internal */
  protected readonly tenant: string;
  /** @internal */
  protected readonly events: EventLog;
  /** @internal */
  readonly drawPicture: DrawPicture = (...args) => requestPicture(this.parts.pool, this.tenant, ...args);
  /** The calls that have not returned, which `close` cancels. @internal */
  protected readonly calls = new Set<Cancellation>();
  #isClosed = false;
  readonly #history = new CallHistory();

  /** @internal */
  constructor(parts: SandboxParts, workspace: Workspace = emptyWorkspace(parts.policy)) {
    this.parts = parts;
    this.runtime = parts.runtime;
    this.policy = parts.policy;
    this.tenant = parts.tenant ?? this.key;
    this.workspace = workspace;
    this.events = new EventLog(parts.logger, parts.runtime);
  }

  /** The name of the session. Undefined if the sandbox is not a session. */
  get session_id(): string | undefined {
    return undefined;
  }

  /** Whether `close` was called. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /**
   * Runs a program in the workspace of this sandbox. A sandbox without a session starts a fresh interpreter for each call;
   * a session continues with the interpreter of the previous call. Calls on the same sandbox run one after another. If the
   * program fails, the result has `success: false`. Throws only if the call is invalid, the host fails, or a callback or the
   * input stream throws.
   */
  execute(code: string, options: ExecuteOptions = {}): Execution {
    return startExecution((output, cancellation) => this.executeCall(code, options, output, cancellation));
  }

  /** @internal */
  protected async executeCall(
    code: string,
    options: ExecuteOptions,
    output: OutputDelivery,
    cancellation: Cancellation,
    resumption?: Resumption,
  ): Promise<SandboxResult> {
    let unlink: (() => void) | undefined;
    let stdin: Stdin | undefined;
    let tools: CallTools | undefined;
    try {
      this.checkOpen();
      this.calls.add(cancellation);
      const parsed = parseCallOptions(code, options);
      const { signal: cancelled, args, language, file_name, inject_setup } = parsed;
      const resumes = resumption?.paused;
      const limits = callLimits(parsed, this.policy, resumes);
      output.subscribe(parsed);
      const inputErrors: unknown[] = [];
      if (cancelled !== undefined) unlink = linkSignals(cancellation, cancelled);
      const { signal } = cancellation;
      stdin = new Stdin(parsed.stdin);
      const executionId = resumes?.execution_id ?? randomUUID();
      const { policy, session_id: sessionId, cannotPause } = this;
      const context = { executionId, policy, sessionId, cannotPause, signal };
      tools = CallTools.start(options, this.parts.tools, context, resumption);
      const call: Call = {
        code,
        language: callLanguage(resumes?.language ?? language, this.runtime),
        fileName: resumes === undefined ? file_name : resumes.file_name,
        stdin,
        args,
        onInputError: (cause) => {
          inputErrors.push(cause);
          cancellation.abort();
        },
        limits,
        injectSetup: resumes?.inject_setup ?? inject_setup,
        profile: parsed.profile,
        files: parsed.files,
        onProgress: parsed.onProgress,
        signal,
        output,
        results: new ResultDelivery(output, parsed.onResult),
        tools,
        packages: this.#packagesOf(parsed, () => effectOf(call)),
        resumption,
      };
      this.events.start(executionId, code, limits);
      const finished = await this.run(call);
      this.checkOpen();
      if (inputErrors.length > 0) throw inputErrors[0];
      const undeliveredBytes = await output.end(signal, limits.timeout_seconds * 1000);
      return this.#report(executionId, call, finished, undeliveredBytes);
    } catch (cause) {
      output.abandon();
      throw cause;
    } finally {
      tools?.finish();
      stdin?.close();
      unlink?.();
      this.calls.delete(cancellation);
    }
  }

  #packagesOf(
    { onPackages, inject_setup }: Pick<ExecuteOptions, 'onPackages' | 'inject_setup'>,
    effect: () => string | undefined,
  ): CallPackages {
    const { runtime } = this;
    const onDemand = inject_setup ? this.parts.onDemand : undefined;
    return new CallPackages({ runtime, onDemand, approve: onPackages, effect });
  }

  /** Why a program cannot pause until its tool calls are answered; undefined if it can. @internal */
  protected get cannotPause(): string | undefined {
    return 'it has no session in which it could be stored';
  }

  /** Runs a call when its turn comes and applies its changes. @internal */
  protected run(call: Call): Promise<FinishedCall> {
    return this.untilComplete(call, () => this.runIn(call, undefined));
  }

  /** Starts a program, again from the beginning if it needs packages that can be added. @internal */
  protected async untilComplete(call: Call, start: () => Promise<FinishedCall>): Promise<FinishedCall> {
    if (this.parts.onDemand !== undefined) call.output.keepForRepetition();
    for (;;) {
      const finished = await start();
      if (!call.packages?.mustRestart || call.signal.aborted) return finished;
      const { fuelConsumed, durationMs } = finished.outcome;
      const { fuel_budget, timeout_seconds } = call.limits;
      call.packages.restart(Math.max(fuelConsumed / fuel_budget, durationMs / 1000 / timeout_seconds));
      call.output.repeat();
      call.results.clear();
    }
  }

  /**
   * The same with the given files; by default the program starts from the files of the workspace at that time.
   * @internal
   */
  protected async runIn(call: Call, files: FileTree | undefined): Promise<FinishedCall> {
    const image = await undefinedIfAborted(this.imageFor(call), call.signal);
    if (image === undefined) return { outcome: stoppedByHost('cancelled', 0), queueMs: 0 };
    const { assets, ...packages } = image;
    const queuedAt = performance.now();
    const turn = await this.acquire(call.signal);
    const queueMs = performance.now() - queuedAt;
    if (turn === undefined) return { outcome: stoppedByHost('cancelled', 0), queueMs };
    try {
      let tree = files;
      if (call.files !== undefined) {
        tree = await this.changeFiles(() => this.workspace.write(call.files!));
        // Writing many files blocks the event loop, and so does sending them to a worker. Other work can run in between.
        await nextTurn();
      }
      call.packages?.begin(packages.extension);
      const job = this.start(turn, assets, call, undefined, tree);
      const outcome = await outcomeOf(job, call);
      if (call.packages?.mustRestart) return { outcome, queueMs };
      const { changes } = outcome;
      if (changes.removed.length + changes.entries.length > 0)
        await this.changeFiles(() => this.workspace.apply(outcome));
      return { outcome, queueMs, packages };
    } finally {
      turn.release();
    }
  }

  /** The image of a program and its packages, which are added first if they are missing. @internal */
  protected async imageFor(call: Call): Promise<ProgramImage> {
    const { extension, assets } = this.parts;
    if (!call.injectSetup) return { extension: undefined, assets: await assetsOf(this.runtime) };
    const { code, files = {} } = call;
    const found = await call.packages?.find(code, (path) => path in files || this.workspace.has(path));
    return found === undefined ? { extension, assets } : this.imageWith(found.extension);
  }

  /** The image with these packages, without the modules if they cannot be preloaded within the limits. @internal */
  protected async imageWith(extension: ImageExtension | undefined): Promise<ProgramImage> {
    const { policy, pool, runtime } = this.parts;
    const build = { pool, tenant: this.tenant, limits: policy, signal: undefined };
    try {
      const assets = await extendedAssets(runtime, extension, build);
      if (assets.minMemoryBytes <= policy.memory_bytes) return { extension, assets };
    } catch (cause) {
      // A damaged installation is not a problem of the modules.
      const isOfModules = cause instanceof SandboxError && cause.code !== 'image_invalid';
      if (!isOfModules || extension === undefined) throw cause;
    }
    const plain = extension && { ...extension, preload: [] };
    return { extension: plain, assets: await extendedAssets(runtime, plain, build) };
  }

  /**
   * Changes the files of the workspace for a call. Returns the files that the program has to start from, if not those
   * of the workspace. @internal
   */
  protected async changeFiles(change: () => void): Promise<FileTree | undefined> {
    change();
    return undefined;
  }

  /** Waits for a worker; undefined if the signal is aborted first. @internal */
  protected acquire(signal: CancelSignal | undefined, hasAffinity = false): Promise<WorkerTurn | undefined> {
    return this.parts.pool.acquire({ tenant: this.tenant, key: this.key, signal, hasAffinity });
  }

  /** Sends the program of a call to the worker. `session` says which interpreter it continues. @internal */
  protected start(
    turn: WorkerTurn,
    assets: GuestAssets,
    call: RunnableCall,
    session: SessionInput | undefined,
    tree: FileTree = this.workspace.snapshot(),
  ): JobHandle {
    const { policy, mountSet } = this.parts;
    const context = { policy, mountSet, workspace: { id: this.workspace.id, tree } };
    const job = buildRunJob(assets.id, context, call, call.output.start(), session);
    const limitMs = call.limits.timeout_seconds * 1000 + (job.tools?.maxWaitMs ?? 0);
    return turn.run(job, assets, { limitMs, signal: call.signal, observer: observerOf(call) });
  }

  #report(
    executionId: string,
    call: Call,
    { outcome, queueMs, paused, packages: used }: FinishedCall,
    undeliveredBytes: number,
  ): SandboxResult {
    const { extension } = used ?? this.parts;
    const userPackages = extension?.grown ?? extension?.packages;
    const topLevel = userPackages?.topLevel ?? [];
    const plain = toResult(this.runtime, outcome, queueMs, topLevel, call.code, call.results.list);
    if (this.session_id !== undefined) plain.metadata.session_id = this.session_id;
    if (undeliveredBytes > 0) plain.metadata.output_undelivered_bytes = undeliveredBytes;
    const { additions = [] } = call.packages ?? {};
    if (additions.length > 0) plain.metadata.packages_added = [...additions];
    Object.assign(plain.metadata, call.tools?.finish());
    if (outcome.isPaused) plain.metadata.state = 'paused';
    if (paused !== undefined) {
      plain.metadata.execution_id = paused.execution_id;
      plain.metadata.pending = paused.pending;
    }
    const { code, limits } = call;
    const { policy } = this;
    const earlier = this.#history.earlierCalls(this.sessionRecord);
    const files = () => this.workspace.paths(MAX_PATHS_FOR_GUIDANCE);
    const facts = userPackages?.facts.filter(({ language }) => language === this.runtime) ?? [];
    const vendored = vendoredPackagesOf(this.runtime);
    const packages = facts.length === 0 ? vendored : [...facts, ...vendored];
    const run = { code, policy, limits, outcome, earlier, files };
    const { result, unclassified } = addAnalysis(plain, run, packages);
    this.#history.add(code, plain.metadata.imports, packages);
    this.events.complete(executionId, result, unclassified);
    return result;
  }

  /** @internal */
  protected get sessionRecord(): SessionRecord | undefined {
    return undefined;
  }

  /**
   * A sandbox of any runtime with the same files, without a session. Calls of the two may run at the same time; if
   * both write a file, the call that ends last wins.
   * @internal
   */
  async withRuntime(runtime: RuntimeName): Promise<Sandbox> {
    this.checkOpen();
    return new Sandbox(await this.partsFor(runtime), this.workspace);
  }

  /** The parts of a sandbox of any runtime that shares the files of this one. @internal */
  protected async partsFor(runtime: RuntimeName): Promise<SandboxParts> {
    if (runtime === this.runtime) return this.parts;
    const assets = await assetsOf(runtime);
    checkMemory(this.policy, assets);
    return { ...this.parts, runtime, assets, extension: undefined, onDemand: undefined };
  }

  /** Returns the files in the workspace, sorted by path. */
  async listFiles(): Promise<WorkspaceFile[]> {
    return this.withFiles(async (files) => files.list(), 'read');
  }

  /** Returns the bytes of a file in the workspace. Throws `file_not_found` if the file does not exist. */
  async readFile(path: string): Promise<Uint8Array<ArrayBuffer>>;
  /** Returns a file in the workspace as text. Throws `file_not_found` if the file does not exist. */
  async readFile(path: string, encoding: 'utf8'): Promise<string>;
  async readFile(path: string, encoding?: 'utf8'): Promise<Uint8Array<ArrayBuffer> | string> {
    parse(fileEncoding, encoding, 'encoding');
    const name = parse(textArgument, path, 'path');
    const bytes = await this.withFiles(async (files) => files.read(name), 'read');
    return encoding === 'utf8' ? new TextDecoder().decode(bytes) : bytes;
  }

  /** The bytes of a file in the workspace, which are shared and never change. @internal */
  async fileContents(path: string): Promise<Uint8Array> {
    return this.withFiles(async (files) => files.contents(path), 'read');
  }

  /** The size of a file in the workspace. @internal */
  async fileSize(path: string): Promise<number> {
    return this.withFiles(async (files) => files.size(path), 'read');
  }

  /**
   * Writes or replaces a file in the workspace and creates missing folders. Throws `quota_exceeded` if a limit is exceeded.
   */
  async writeFile(path: string, content: string | Uint8Array): Promise<void> {
    const name = parse(textArgument, path, 'path');
    const parsed = parse(fileContent, content, 'content');
    return this.withFiles(async () => {
      this.workspace.write({ [name]: parsed });
      await this.workspaceChanged();
    }, 'write');
  }

  /** Deletes a file from the workspace. Throws `file_not_found` if the file does not exist. */
  async deleteFile(path: string): Promise<void> {
    const name = parse(textArgument, path, 'path');
    return this.withFiles(async () => {
      this.workspace.delete(name);
      await this.workspaceChanged();
    }, 'write');
  }

  /** Deletes all files, folders and links of the workspace. Returns the number of files deleted. */
  async clearFiles(): Promise<number> {
    return this.withFiles(async () => {
      const count = this.workspace.list().length;
      this.workspace.clear();
      await this.workspaceChanged();
      return count;
    }, 'write');
  }

  /** Runs host code that uses the workspace, and passes it the files to read. @internal */
  protected async withFiles<T>(
    work: (files: Workspace) => Promise<T>,
    _access: 'read' | 'write',
  ): Promise<T> {
    this.checkOpen();
    return work(this.workspace);
  }

  /** Called after the host changed the workspace. @internal */
  protected async workspaceChanged(): Promise<void> {}

  /**
   * Closes the sandbox and cancels its calls. The files are discarded unless the sandbox is a session. Other methods then
   * throw `sandbox_closed`.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const call of this.calls) call.abort();
    this.parts.pool.forgetWorkspace(this.workspace.id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** @internal */
  protected checkOpen(): void {
    if (!this.isClosed) return;
    throw new SandboxError(
      'sandbox_closed',
      'The sandbox is closed. Create another one with createSandbox().',
    );
  }
}

/** What a program has done that cannot be undone. */
function effectOf({ tools, stdin, results, output }: Call): string | undefined {
  if (tools !== undefined && tools.run.records.length > 0) return 'called tools';
  if (stdin.wasRead) return 'read its input';
  if (results.wasDelivered) return 'displayed results';
  return output.canRepeat ? undefined : 'printed a long output';
}

function emptyWorkspace(policy: Policy): Workspace {
  const startMs = deterministicMode(policy)?.startMs;
  return new Workspace(startMs === undefined ? Date.now : () => startMs, {
    maxBytes: policy.workspace_max_bytes,
    maxFiles: policy.workspace_max_files,
  });
}
