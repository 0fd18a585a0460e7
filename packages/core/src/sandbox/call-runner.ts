/** One call of a sandbox, from the options of `execute` to its result. The interpreter runs the program. */
import { randomUUID } from 'node:crypto';
import type { EarlierCalls } from '../analysis/input.ts';
import { type CancelSignal, linkSignals } from '../concurrency/cancellation.ts';
import { vendoredPackagesOf } from '../packages/import-costs.ts';
import { type ImportFacts, type PackageFacts, programEnv, type SandboxResult } from '../schema.ts';
import {
  type Call,
  callLanguage,
  callLimits,
  type ExecuteOptions,
  parseCallOptions,
} from './call-options.ts';
import { CallPackages } from './call-packages.ts';
import { CallTools, type Resumption } from './call-tools.ts';
import type { StartedExecution } from './execution-handle.ts';
import type { FinishedCall, Interpreter } from './interpreter.ts';
import { ResultDelivery } from './result-delivery.ts';
import { addAnalysis } from './run-analysis.ts';
import type { SandboxCore } from './sandbox-core.ts';
import { extensionOf } from './sandbox-image.ts';
import { Stdin } from './stdin.ts';
import { toResult } from './to-result.ts';

/** Workspace paths that guidance about a missing file considers. */
const MAX_PATHS_FOR_GUIDANCE = 200;

const SOURCES_MAX = 16;
const SOURCE_MAX = 32_768;

/** What was passed to `execute` or `resume`. */
interface GivenCall {
  readonly code: string;
  readonly options: ExecuteOptions;
  readonly started: StartedExecution;
  readonly resumption: Resumption | undefined;
}

interface OpenedCall {
  readonly executionId: string;
  readonly call: Call;
  /** The errors of its input stream, which end it. */
  readonly inputErrors: readonly unknown[];
}

interface ToolsContext {
  readonly executionId: string;
  readonly signal: CancelSignal;
  readonly parsed: ReturnType<typeof parseCallOptions>;
  readonly resumption: Resumption | undefined;
}

/** What a sandbox remembers of its calls for the analysis of later ones. Bounded in number and size. */
class CallHistory {
  readonly #sources: string[] = [];
  readonly #heavyImports = new Map<string, number>();

  /** Earlier calls. `record` is the stored record of the session, which also covers calls before this object was created. */
  earlierCalls(
    record: { auto_persist_globals: boolean; imports: readonly string[] } | undefined,
  ): EarlierCalls {
    const recorded = (record?.imports ?? []).map((name) => [name, 1] as const);
    return {
      persistent: record?.auto_persist_globals ?? false,
      sources: [...this.#sources],
      heavyImports: new Map([...recorded, ...this.#heavyImports]),
    };
  }

  /** Adds a call, after it was analysed. */
  add(code: string, imports: readonly ImportFacts[], packages: readonly PackageFacts[]): void {
    this.#sources.push(code.slice(0, SOURCE_MAX));
    if (this.#sources.length > SOURCES_MAX) this.#sources.shift();
    for (const { name, cached } of imports) {
      const found = packages.find(({ heavy, import_names }) => heavy && import_names.includes(name));
      if (found === undefined || cached) continue;
      this.#heavyImports.set(found.name, (this.#heavyImports.get(found.name) ?? 0) + 1);
    }
  }
}

export class CallRunner {
  readonly #history = new CallHistory();

  constructor(
    readonly core: SandboxCore,
    readonly interpreter: Interpreter,
  ) {}

  async execute(
    code: string,
    options: ExecuteOptions,
    started: StartedExecution,
    resumption?: Resumption,
  ): Promise<SandboxResult> {
    const { core } = this;
    const { output, cancellation } = started;
    const closers: (() => unknown)[] = [];
    try {
      core.checkOpen();
      core.calls.add(cancellation);
      const opened = this.#open({ code, options, started, resumption }, closers);
      const { executionId, call, inputErrors } = opened;
      core.events.start(executionId, code, call.limits);
      const finished = await this.interpreter.run(call);
      core.checkOpen();
      if (inputErrors.length > 0) throw inputErrors[0];
      const undeliveredBytes = await output.end(call.signal, call.limits.timeout_seconds * 1000);
      return this.#report(executionId, call, finished, undeliveredBytes);
    } catch (cause) {
      output.abandon();
      throw cause;
    } finally {
      core.calls.delete(cancellation);
      await Promise.all(closers.map((close) => close()));
    }
  }

  /** Checks the options and opens what the call uses. `closers` get what closes it. */
  #open({ code, options, started, resumption }: GivenCall, closers: (() => unknown)[]): OpenedCall {
    const { images, parts } = this.core;
    const { output, cancellation } = started;
    const { signal } = cancellation;
    const { policy } = parts;
    const parsed = parseCallOptions(code, options);
    const { args, file_name, inject_setup } = parsed;
    const resumes = resumption?.paused;
    const limits = callLimits(parsed, policy, resumes);
    output.subscribe(parsed);
    if (parsed.signal !== undefined) closers.push(linkSignals(cancellation, parsed.signal));
    const stdin = new Stdin(parsed.stdin);
    closers.push(() => stdin.close());
    const inputErrors: unknown[] = [];
    const executionId = resumes?.execution_id ?? randomUUID();
    const tools = this.#startTools(options, { executionId, signal, parsed, resumption });
    closers.push(() => {
      tools?.finish();
      return tools?.recorded();
    });
    const packages = new CallPackages({
      images,
      isSetUp: inject_setup,
      approve: parsed.onPackages,
      effect: () => effectOf(call),
    });
    const call: Call = {
      program: {
        code,
        language: callLanguage(resumes?.language ?? parsed.language, images.current.runtime),
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
      resumption,
    };
    return { executionId, call, inputErrors };
  }

  #startTools(
    options: ExecuteOptions,
    { executionId, signal, parsed, resumption }: ToolsContext,
  ): CallTools | undefined {
    const { policy, network, tools } = this.core.parts;
    const { cannotPause, record } = this.interpreter;
    const networkOnly = resumption === undefined ? parsed.network_only : resumption.paused.network_only;
    const sessionId = record?.session_id;
    const context = { executionId, policy, sessionId, cannotPause, signal, network, networkOnly };
    return CallTools.start(options, tools, context, resumption);
  }

  #report(
    executionId: string,
    call: Call,
    { outcome, queueMs, paused, packages: used }: FinishedCall,
    undeliveredBytes: number,
  ): SandboxResult {
    const { core, interpreter } = this;
    const { record } = interpreter;
    const { current } = core.images;
    const { runtime } = current;
    const { packages: userPackages } = used ?? extensionOf(current);
    const plain = toResult(runtime, outcome, {
      queueMs,
      userPackages: userPackages?.topLevel ?? [],
      source: call.program.code,
      results: call.results.list,
    });
    if (record !== undefined) plain.metadata.session_id = record.session_id;
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
    const { policy } = core.parts;
    const earlier = this.#history.earlierCalls(record);
    const files = () => core.files.paths(MAX_PATHS_FOR_GUIDANCE);
    const added = call.packages?.importable ?? userPackages?.facts ?? [];
    const facts = added.filter(({ language }) => language === runtime);
    const vendored = vendoredPackagesOf(runtime);
    const packages = facts.length === 0 ? vendored : [...facts, ...vendored];
    const addsPackages = call.packages?.addsPackages === true;
    const run = { code, policy, limits, outcome, earlier, addsPackages, files };
    const { result, unclassified } = addAnalysis(plain, run, packages);
    this.#history.add(code, plain.metadata.imports, packages);
    core.events.complete(executionId, result, unclassified);
    return result;
  }
}

/** What a program has done that cannot be undone. */
function effectOf({ tools, stdin, results, output }: Call): string | undefined {
  if (tools !== undefined && tools.run.toolRecords.length > 0) return 'called tools';
  if (tools !== undefined && tools.run.records.length > 0) return 'sent requests';
  if (stdin.wasRead) return 'read its input';
  if (results.wasDelivered) return 'displayed results';
  return output.canRepeat ? undefined : 'printed a long output';
}
