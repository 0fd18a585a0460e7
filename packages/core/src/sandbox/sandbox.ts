/**
 * A sandbox: a runtime, a policy and a workspace. `execute` runs a program in a fresh guest and reports the outcome.
 * Failures of the guest are data in the result; only faults of the host or the caller throw.
 */
import type { TreeEdit } from '../fs/flat-entries.ts';
import type { FileTree } from '../fs/immutable-file-tree.ts';
import { type Capabilities, withPolicy } from '../schema/capabilities.ts';
import {
  fileContent,
  fileEncoding,
  type Policy,
  parse,
  type RuntimeName,
  type SandboxResult,
  textArgument,
} from '../schema.ts';
import { type DrawPicture, requestPicture } from '../worker/pool/auxiliary-jobs.ts';
import type { ExecuteOptions } from './call-options.ts';
import { CallRunner } from './call-runner.ts';
import type { Resumption } from './call-tools.ts';
import type { SandboxParts } from './create-parts.ts';
import { type Execution, type StartedExecution, startExecution } from './execution-handle.ts';
import { FreshInterpreter } from './fresh-interpreter.ts';
import type { Interpreter } from './interpreter.ts';
import { SandboxCore } from './sandbox-core.ts';
import { Workspace } from './workspace.ts';
import type { CallFiles, WorkspaceFile } from './workspace-files.ts';

/** Runs programs of one runtime under one policy and in one workspace. Created by `createSandbox`. */
export class Sandbox {
  /** Language of the guest. */
  readonly runtime: RuntimeName;
  /** Limits of every call, with defaults filled in. */
  readonly policy: Policy;
  /** @internal */
  readonly core: SandboxCore;
  readonly #workspace: Workspace;
  readonly #calls: CallRunner;
  /** @internal */
  readonly drawPicture: DrawPicture = (...args) =>
    requestPicture(this.core.parts.pool, this.core.tenant, ...args);

  /** @internal */
  constructor(core: SandboxCore, workspace: Workspace, interpreter: Interpreter) {
    this.runtime = core.parts.image.runtime;
    this.policy = core.parts.policy;
    this.core = core;
    this.#workspace = workspace;
    this.#calls = new CallRunner(core, interpreter);
  }

  /** The name of the session. Undefined if the sandbox is not a session. */
  get session_id(): string | undefined {
    return undefined;
  }

  /** Whether `close` was called. */
  get isClosed(): boolean {
    return this.core.isClosed;
  }

  /**
   * Runs a program in the workspace of this sandbox. A sandbox without a session starts a fresh interpreter for each call;
   * a session continues with the interpreter of the previous call. Calls on the same sandbox run one after another. If the
   * program fails, the result has `success: false`. Throws only if the call is invalid, the host fails, or a callback or the
   * input stream throws.
   */
  execute(code: string, options: ExecuteOptions = {}): Execution {
    return startExecution((started) => this.#calls.execute(code, options, started));
  }

  /** Continues a paused program as the call that `started` stands for. @internal */
  continueCall(
    options: ExecuteOptions,
    started: StartedExecution,
    resumption: Resumption,
  ): Promise<SandboxResult> {
    return this.#calls.execute(resumption.paused.code, options, started, resumption);
  }

  /** What programs can do. @internal */
  get capabilities(): Capabilities {
    const { images, parts } = this.core;
    const abilities = {
      addsPackages: images.onDemand !== undefined,
      network: parts.network !== undefined,
      tools: parts.tools.toolset !== undefined,
    };
    return withPolicy(abilities, this.policy);
  }

  /** The added packages that programs can import. @internal */
  get packageSources(): readonly string[] {
    return this.core.images.sources;
  }

  /**
   * A sandbox of any runtime with the same files, without a session. Calls of the two may run at the same time; if
   * both write a file, the call that ends last wins.
   * @internal
   */
  async withRuntime(runtime: RuntimeName, changed: Partial<Policy> = {}): Promise<Sandbox> {
    this.checkOpen();
    const { parts, images } = this.core;
    const policy = { ...parts.policy, ...changed };
    const image = await images.forRuntime(runtime, policy);
    return freshSandbox({ ...parts, policy, image }, this.#workspace);
  }

  /** Returns the files in the workspace, sorted by path. */
  async listFiles(): Promise<WorkspaceFile[]> {
    return this.workspace.list();
  }

  /** Returns the bytes of a file in the workspace. Throws `file_not_found` if the file does not exist. */
  async readFile(path: string): Promise<Uint8Array<ArrayBuffer>>;
  /** Returns a file in the workspace as text. Throws `file_not_found` if the file does not exist. */
  async readFile(path: string, encoding: 'utf8'): Promise<string>;
  async readFile(path: string, encoding?: 'utf8'): Promise<Uint8Array<ArrayBuffer> | string> {
    parse(fileEncoding, encoding, 'encoding');
    const name = parse(textArgument, path, 'path');
    const bytes = await this.workspace.read((files) => files.read(name));
    return encoding === 'utf8' ? new TextDecoder().decode(bytes) : bytes;
  }

  /** The bytes of a file in the workspace, which are shared and never change. @internal */
  async fileContents(path: string): Promise<Uint8Array> {
    return this.workspace.read((files) => files.contents(path));
  }

  /** The size of a file in the workspace. @internal */
  async fileSize(path: string): Promise<number> {
    return this.workspace.read((files) => files.size(path));
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
    await this.workspace.write(files);
  }

  /** Deletes a file from the workspace. Throws `file_not_found` if the file does not exist. */
  async deleteFile(path: string): Promise<void> {
    const name = parse(textArgument, path, 'path');
    return this.workspace.change((files) => files.delete(name));
  }

  /** Deletes all files, folders and links of the workspace. Returns the number of files deleted. */
  async clearFiles(): Promise<number> {
    return this.workspace.change((files) => {
      const count = files.list().length;
      files.clear();
      return count;
    });
  }

  /** Copies all files of another sandbox into the workspace; returns their number. @internal */
  async copyFiles(source: Sandbox): Promise<number> {
    const files = await source.workspace.read((found) =>
      Object.fromEntries(found.list().map(({ path }) => [path, found.contents(path).slice()])),
    );
    await this.writeFiles(files);
    return Object.keys(files).length;
  }

  /** The files, folders and links of the workspace. Later changes do not affect them. @internal */
  async fileTree(): Promise<FileTree> {
    return this.workspace.tree();
  }

  /** Changes files, folders and links. Throws `quota_exceeded` or `invalid_path`; then nothing changes. @internal */
  async editFiles(change: (tree: FileTree) => TreeEdit): Promise<void> {
    return this.workspace.edit(change);
  }

  /** The workspace, while the sandbox is open. @internal */
  get workspace(): Workspace {
    this.checkOpen();
    return this.#workspace;
  }

  /**
   * Closes the sandbox and cancels its calls. The files are discarded unless the sandbox is a session. Other methods then
   * throw `sandbox_closed`.
   */
  async close(): Promise<void> {
    this.core.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** @internal */
  checkOpen(): void {
    this.core.checkOpen();
  }
}

/** A sandbox without a session, in a workspace of its own unless one is given. @internal */
export function freshSandbox(parts: SandboxParts, shared?: Workspace): Sandbox {
  const core = new SandboxCore(parts, shared?.files);
  const workspace = shared ?? new Workspace(core.files, core.tenant);
  return new Sandbox(core, workspace, new FreshInterpreter(core, workspace));
}
