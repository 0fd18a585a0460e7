/**
 * A sandbox: a runtime, a policy and a workspace. `execute` runs a program in a fresh guest and reports the outcome.
 * Failures of the guest are data in the result; only faults of the host or the caller throw.
 */

import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Cancellation, CancelSignal } from '../concurrency/cancellation.ts';
import { linkSignals } from '../concurrency/link-signals.ts';
import { nextTurn as ownTurn } from '../concurrency/slices.ts';
import { undefinedIfAborted } from '../concurrency/until-aborted.ts';
import { SandboxError } from '../errors.ts';
import type { TreeEdit } from '../fs/flat-entries.ts';
import type { FileTree } from '../fs/immutable-file-tree.ts';
import { vendoredPackagesOf } from '../packages/import-costs.ts';
import { AUTO } from '../packages/read-user-packages.ts';
import type { GuestAssets } from '../runtimes/guest-artifacts.ts';
import { PACKAGE_RUNTIME } from '../runtimes/program-files.ts';
import type { Capabilities } from '../schema/capabilities.ts';
import {
  deterministicMode,
  fileContent,
  fileEncoding,
  type Policy,
  parse,
  programEnv,
  type RuntimeName,
  type SandboxResult,
  textArgument,
} from '../schema.ts';
import type { SessionRecord } from '../stores/store.ts';
import { type DrawPicture, requestPicture } from '../worker/pool/auxiliary-jobs.ts';
import { assetsOf, extendedAssets, type ImageExtension, readyAssets } from '../worker/pool/guest-assets.ts';
import type { JobHandle } from '../worker/pool/job-handle.ts';
import type { WorkerTurn } from '../worker/pool/pool.ts';
import type { RunOutcome, SessionInput, UnsentRunJob } from '../worker/protocol/messages.ts';
import { CallHistory } from './call-history.ts';
import {
  type Call,
  callLanguage,
  callLimits,
  type ExecuteOptions,
  parseCallOptions,
} from './call-options.ts';
import { CallPackages } from './call-packages.ts';
import { CallTools, type Resumption } from './call-tools.ts';
import { checkMemory, factsOf, imageOfRuntime, packageSourceOf, type SandboxParts } from './create-parts.ts';
import { type Execution, type StartedExecution, startExecution } from './execution-handle.ts';
import { EventLog } from './log-events.ts';
import { type FinishedCall, observerOf, outcomeOf } from './observe-run.ts';
import { importsOf, type ProgramPackages } from './packages-on-demand.ts';
import { ProcessPackages } from './process-packages.ts';
import { ResultDelivery } from './result-delivery.ts';
import { addAnalysis } from './run-analysis.ts';
import { Stdin } from './stdin.ts';
import { stoppedByHost, toResult } from './to-result.ts';
import { type CallFiles, Workspace, type WorkspaceFile } from './workspace.ts';

/** Attempts to preload the same modules. Further ones would only take time. */
const MAX_LOADS = 2;
const MAX_FAILED_LOADS = 100;
/** Workspace paths that guidance about a missing file considers. */
const MAX_PATHS_FOR_GUIDANCE = 200;

/** The image in which a program starts. */
interface ProgramImage extends ProgramPackages {
  readonly assets: GuestAssets;
}

/** What a program starts from. */
interface RunStart {
  readonly assets: GuestAssets;
  /** The interpreter that it continues; absent if it gets a fresh one. */
  readonly session?: SessionInput | undefined;
  /** The files; absent for those of the workspace. */
  readonly tree?: FileTree | undefined;
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
  /** How often modules could not be preloaded, most often because of the limits of the sandbox. */
  readonly #failedLoads = new Map<string, number>();
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
    return startExecution((started) => this.executeCall(code, options, started));
  }

  /** @internal */
  protected async executeCall(
    code: string,
    options: ExecuteOptions,
    { output, cancellation }: StartedExecution,
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
      const { network } = this.parts;
      const networkOnly = resumes === undefined ? parsed.network_only : resumes.network_only;
      const context = { executionId, policy, sessionId, cannotPause, signal, network, networkOnly };
      tools = CallTools.start(options, this.parts.tools, context, resumption);
      const packages = this.#packagesOf(parsed, () => effectOf(call));
      const call: Call = {
        program: {
          code,
          language: callLanguage(resumes?.language ?? language, this.runtime),
          file_name: resumes === undefined ? file_name : resumes.file_name,
          env: { ...programEnv(policy), ...parsed.env },
          args,
          inject_setup: resumes?.inject_setup ?? inject_setup,
        },
        stdin,
        onInputError: (cause) => {
          inputErrors.push(cause);
          cancellation.abort();
        },
        limits,
        profile: parsed.profile,
        files: parsed.files,
        onProgress: parsed.onProgress,
        signal,
        output,
        results: new ResultDelivery(output, parsed.onResult),
        tools,
        packages,
        processes: this.#processPackages(packages, parsed.inject_setup),
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
      await tools?.recorded();
    }
  }

  /** What programs can do. @internal */
  get capabilities(): Capabilities {
    const { onDemand, processes, network, tools } = this.parts;
    return {
      addsPackages: (onDemand ?? processes?.onDemand) !== undefined,
      network: network !== undefined,
      tools: tools.toolset !== undefined,
    };
  }

  /** The added packages that programs can import. @internal */
  get packageSources(): readonly string[] {
    return this.capabilities.addsPackages
      ? [AUTO]
      : (factsOf(this.parts.extension) ?? []).map(({ name }) => name);
  }

  #packagesOf(
    { onPackages, inject_setup }: Pick<ExecuteOptions, 'onPackages' | 'inject_setup'>,
    effect: () => string | undefined,
  ): CallPackages {
    const { onDemand: ofPrograms, processes } = this.parts;
    const onDemand = inject_setup ? (ofPrograms ?? processes?.onDemand) : undefined;
    return new CallPackages({ onDemand, approve: onPackages, effect });
  }

  #processPackages(call: CallPackages, inject_setup: boolean): ProcessPackages | undefined {
    if (this.parts.processes === undefined || !inject_setup) return undefined;
    const source = {
      packages: () => this.parts.processes!,
      build: (extension: ImageExtension | undefined) => this.imageWith(extension, PACKAGE_RUNTIME),
      find: (extension: ImageExtension | undefined) => this.#readyImage(extension),
    };
    return new ProcessPackages(source, call);
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
    if ((this.parts.onDemand ?? call.processes) !== undefined) call.output.keepForRepetition();
    for (;;) {
      const finished = await start();
      if (!call.packages?.mustRestart || call.signal.aborted) return finished;
      const { fuelConsumed, durationMs } = finished.outcome;
      const { fuel_budget, timeout_seconds } = call.limits;
      call.packages.restarting(Math.max(fuelConsumed / fuel_budget, durationMs / 1000 / timeout_seconds));
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
      if (call.processes === undefined) call.packages?.begin(factsOf(packages.extension));
      const job = this.start(turn, call, { assets, tree });
      const outcome = await outcomeOf(job, call);
      if (call.packages?.mustRestart) return { outcome, queueMs };
      const { changes } = outcome;
      if (changes.removed.length + changes.entries.length > 0)
        await this.changeFiles(() => this.applyFiles(outcome));
      return { outcome, queueMs, packages };
    } finally {
      turn.release();
    }
  }

  /** The image of a program and its packages, which are added first if they are missing. @internal */
  protected async imageFor(call: Call): Promise<ProgramImage> {
    const { extension, assets, loadsImports } = this.parts;
    if (!call.program.inject_setup) return { extension: undefined, assets: await assetsOf(this.runtime) };
    const { files = {} } = call;
    const { code } = call.program;
    if (call.processes !== undefined) {
      await call.processes.prepare();
      return { extension, assets };
    }
    const exists = (path: string) => path in files || this.workspace.has(path);
    const found = await call.packages?.find(code, exists);
    if (found !== undefined) return this.imageWith(found.extension);
    if (!loadsImports) return { extension, assets };
    const preload = importsOf(this.runtime, extension!.packages!, { code, exists });
    return preload.length === 0 ? { extension, assets } : this.imageWith({ ...extension!, preload });
  }

  /** The image with these packages, without the modules if they cannot be preloaded within the limits. @internal */
  protected async imageWith(
    extension: ImageExtension | undefined,
    runtime = this.runtime,
  ): Promise<ProgramImage> {
    const { policy, pool } = this.parts;
    const build = { pool, tenant: this.tenant, limits: policy, signal: undefined };
    const key = imageKey(extension);
    const failures = this.#failedLoads.get(key) ?? 0;
    try {
      const assets = failures < MAX_LOADS ? await extendedAssets(runtime, extension, build) : undefined;
      if (assets !== undefined && assets.minMemoryBytes <= policy.memory_bytes) return { extension, assets };
    } catch (cause) {
      // A damaged installation is not a problem of the modules.
      const isOfModules = cause instanceof SandboxError && cause.code !== 'image_invalid';
      if (!isOfModules || extension === undefined) throw cause;
    }
    if (this.#failedLoads.size >= MAX_FAILED_LOADS) this.#failedLoads.clear();
    this.#failedLoads.set(key, failures + 1);
    const plain = extension && { ...extension, preload: [] };
    return { extension: plain, assets: await extendedAssets(runtime, plain, build) };
  }

  /** The same for a process of Python; undefined if the image has to be built. */
  async #readyImage(extension: ImageExtension | undefined): Promise<ProgramImage | undefined> {
    const cannotLoad = (this.#failedLoads.get(imageKey(extension)) ?? 0) >= MAX_LOADS;
    const wanted = extension && cannotLoad ? { ...extension, preload: [] } : extension;
    const assets = await readyAssets(PACKAGE_RUNTIME, wanted);
    if (assets === undefined) return undefined;
    const isTooLarge = assets.minMemoryBytes > this.policy.memory_bytes && (wanted?.preload.length ?? 0) > 0;
    return isTooLarge ? this.#readyImage({ ...wanted!, preload: [] }) : { extension: wanted, assets };
  }

  /**
   * Changes the files of the workspace for a call. Returns the files that the program has to start from, if not those
   * of the workspace. @internal
   */
  protected async changeFiles(change: () => void): Promise<FileTree | undefined> {
    change();
    return undefined;
  }

  /** Applies the files that a program left. @internal */
  protected applyFiles(outcome: RunOutcome): void {
    this.workspace.apply(outcome);
  }

  /** Waits for a worker; undefined if the signal is aborted first. @internal */
  protected acquire(signal: CancelSignal | undefined, hasAffinity = false): Promise<WorkerTurn | undefined> {
    return this.parts.pool.acquire({ tenant: this.tenant, key: this.key, signal, hasAffinity });
  }

  /** Sends the program of a call to the worker. @internal */
  protected start(
    turn: WorkerTurn,
    call: Call,
    { assets, session, tree = this.workspace.snapshot() }: RunStart,
  ): JobHandle {
    const { policy, mountSet } = this.parts;
    const job: UnsentRunJob = {
      type: 'run',
      image: assets.id,
      program: call.program,
      stdin: call.stdin.bytes,
      hasMoreStdin: call.stdin.isStream,
      limits: {
        ...call.limits,
        memory_bytes: policy.memory_bytes,
        stdout_max_bytes: policy.stdout_max_bytes,
        stderr_max_bytes: policy.stderr_max_bytes,
        workspace_max_bytes: policy.workspace_max_bytes,
        workspace_max_files: policy.workspace_max_files,
        home: policy.home,
        cwd: policy.cwd,
        deterministic: deterministicMode(policy),
      },
      workspace: { id: this.workspace.id, tree },
      mountSet,
      streamOutput: call.output.start(),
      profile: call.profile,
      session,
      ...(call.tools && { tools: call.tools.job }),
      ...(call.processes && { findsImages: true as const }),
    };
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
    const plain = toResult(this.runtime, outcome, {
      queueMs,
      userPackages: userPackages?.topLevel ?? [],
      source: call.program.code,
      results: call.results.list,
    });
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
    const { limits } = call;
    const { code } = call.program;
    const { policy } = this;
    const earlier = this.#history.earlierCalls(this.sessionRecord);
    const files = () => this.workspace.paths(MAX_PATHS_FOR_GUIDANCE);
    const added = call.packages?.importable ?? userPackages?.facts ?? [];
    const facts = added.filter(({ language }) => language === this.runtime);
    const vendored = vendoredPackagesOf(this.runtime);
    const packages = facts.length === 0 ? vendored : [...facts, ...vendored];
    const addsPackages = call.packages?.addsPackages === true;
    const run = { code, policy, limits, outcome, earlier, addsPackages, files };
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
  async withRuntime(runtime: RuntimeName, changed: Partial<Policy> = {}): Promise<Sandbox> {
    this.checkOpen();
    return new Sandbox(await this.partsFor(runtime, changed), this.workspace);
  }

  /** The parts of a sandbox of any runtime that shares the files of this one. @internal */
  protected async partsFor(runtime: RuntimeName, changed: Partial<Policy> = {}): Promise<SandboxParts> {
    const parts = { ...this.parts, policy: { ...this.parts.policy, ...changed } };
    if (runtime === this.runtime) return parts;
    const image = imageOfRuntime(runtime, packageSourceOf(parts));
    const build = { pool: parts.pool, tenant: this.tenant, limits: parts.policy, signal: undefined };
    const assets = await extendedAssets(runtime, image.extension, build);
    checkMemory(parts.policy, assets);
    return { ...parts, runtime, assets, ...image };
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
    return this.writeFiles({ [name]: parsed });
  }

  /** Writes all of the files or none, as `writeFile` does. @internal */
  async writeFiles(files: CallFiles): Promise<void> {
    return this.withFiles(async () => {
      this.workspace.write(files);
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

  /** Copies all files of another sandbox into the workspace; returns their number. @internal */
  async copyFiles(source: Sandbox): Promise<number> {
    const files = await source.withFiles(
      async (found) =>
        Object.fromEntries(found.list().map(({ path }) => [path, found.contents(path).slice()])),
      'read',
    );
    await this.writeFiles(files);
    return Object.keys(files).length;
  }

  /** The files, folders and links of the workspace. Later changes do not affect them. @internal */
  async fileTree(): Promise<FileTree> {
    return this.withFiles(async (files) => files.snapshot(), 'read');
  }

  /** Changes files, folders and links. Throws `quota_exceeded` or `invalid_path`; then nothing changes. @internal */
  async editFiles(change: (tree: FileTree) => TreeEdit): Promise<void> {
    // Moving a folder with many files takes time, so edits that arrive together are made in turns of their own.
    await ownTurn(this.tenant);
    return this.withFiles(async () => {
      const edit = change(this.workspace.snapshot());
      if (edit.removed.length + edit.entries.length === 0) return;
      this.workspace.merge(edit);
      await this.workspaceChanged();
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
  checkOpen(): void {
    if (!this.isClosed) return;
    throw new SandboxError(
      'sandbox_closed',
      'The sandbox is closed. Create another one with createSandbox().',
    );
  }
}

/** Identifies an image of a runtime. */
const imageKey = (extension: ImageExtension | undefined) =>
  `${extension?.packages?.sha256} ${extension?.preload}`;

/** What a program has done that cannot be undone. */
function effectOf({ tools, stdin, results, output }: Call): string | undefined {
  if (tools !== undefined && tools.run.toolRecords.length > 0) return 'called tools';
  if (tools !== undefined && tools.run.records.length > 0) return 'sent requests';
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
