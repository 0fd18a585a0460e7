/**
 * Sessions as sandboxes of the OpenAI Agents SDK: `SandboxClient` and `SandboxSession` of `@openai/agents/sandbox`. The classes
 * of the framework are passed in, so that this module does not depend on it.
 */

import type { SandboxOptions, Session } from '@llm-wasm-sandbox/core/internal';
import { createSandbox, readImageHeader, SandboxError, SHELL_RUNTIME } from '@llm-wasm-sandbox/core/internal';
import * as z from 'zod';
import { SlotCommands } from './slot-commands.ts';
import { SlotFiles, WORKSPACE } from './slot-files.ts';

/** The workspace in the SDK's own manifests. */
const SDK_ROOT = '/workspace';
const BYTES_PER_TOKEN = 4;
/** What `persistWorkspace` returns. */
const savedWorkspace = z.object({ session_id: z.string(), checkpoint: z.string() });
const TYPES = { file: 'file', dir: 'dir', symlink: 'other' } as const;

/** The parts of `@openai/agents` that the client uses. */
export interface OpenAiAgentsParts<M> {
  /** The class `Manifest` of `@openai/agents/sandbox`. */
  readonly Manifest: new (
    init?: never,
  ) => M;
  /** The function `applyDiff` of `@openai/agents`. */
  readonly applyDiff: (input: string, diff: string, mode?: 'default' | 'create') => string;
}

interface ManifestFields {
  readonly entries: Readonly<Record<string, { readonly type: string }>>;
  resolveEnvironment(): Promise<Record<string, string>>;
}
interface FileEntry {
  readonly type: string;
  readonly content?: string | Uint8Array;
  readonly children?: Readonly<Record<string, FileEntry>>;
}

/** The state of a sandbox of the OpenAI Agents SDK. */
export interface OpenAiSandboxState<M> {
  manifest: M;
  environment?: Record<string, string>;
  session_id: string;
  [key: string]: unknown;
}

interface ExecArgs {
  cmd: string;
  workdir?: string;
  tty?: boolean;
  runAs?: string;
  maxOutputTokens?: number;
}
interface PathArgs {
  path: string;
  runAs?: string;
}
interface DiffOperation {
  path: string;
  diff: string;
  moveTo?: string;
}

function unsupported(what: string): SandboxError {
  return new SandboxError('invalid_argument', `${what} is not available in this sandbox.`);
}

function checkUser({ runAs }: { runAs?: string }): void {
  if (runAs !== undefined) throw unsupported('runAs: another user');
}

/** The beginning and the end of a text that is too long. */
function shorten(text: string, maxTokens: number | undefined): string {
  const max = (maxTokens ?? Number.POSITIVE_INFINITY) * BYTES_PER_TOKEN;
  if (text.length <= max) return text;
  const half = Math.floor(max / 2);
  return `${text.slice(0, half)}\n… ${text.length - 2 * half} characters omitted …\n${text.slice(text.length - half)}`;
}

/** A sandbox of the OpenAI Agents SDK: its methods are those of `SandboxSession`. */
export class OpenAiSandboxSession<M> {
  readonly #session: Session;
  readonly #files: SlotFiles;
  readonly #commands: SlotCommands;
  readonly #applyDiff: OpenAiAgentsParts<M>['applyDiff'];

  /** @internal */
  constructor(
    session: Session,
    parts: OpenAiAgentsParts<M>,
    public state: OpenAiSandboxState<M>,
  ) {
    this.#session = session;
    this.#files = new SlotFiles(session, SDK_ROOT);
    this.#commands = new SlotCommands(session, this.#files);
    this.#applyDiff = parts.applyDiff;
  }

  /** The session with the files. Its checkpoints, undo and forks work as usual. */
  get session(): Session {
    return this.#session;
  }

  /** Runs a command to its end. There are no terminals, so `tty` is refused. */
  async exec(args: ExecArgs) {
    checkUser(args);
    if (args.tty === true) throw unsupported('tty: a terminal');
    const startedAt = performance.now();
    const { environment } = this.state;
    const result = await this.#commands.run(args.cmd, { cwd: args.workdir, env: environment });
    const [stdout, stderr] = [result.stdout, result.stderr].map((one) => shorten(one, args.maxOutputTokens));
    const wallTimeSeconds = (performance.now() - startedAt) / 1000;
    return {
      output: stdout! + stderr!,
      stdout: stdout!,
      stderr: stderr!,
      wallTimeSeconds,
      exitCode: result.exitCode,
    };
  }

  /** Runs a command and returns its end and its output as text for a model. */
  async execCommand(args: ExecArgs): Promise<string> {
    const { output, exitCode, wallTimeSeconds } = await this.exec(args);
    const time = `Wall time: ${wallTimeSeconds.toFixed(4)} seconds`;
    return `${time}\nProcess exited with code ${exitCode}\nOutput:\n${output}`;
  }

  /** Always false: there are no terminals. */
  supportsPty(): boolean {
    return false;
  }

  /** Returns the bytes of a file, at most `maxBytes`. */
  async readFile(args: PathArgs & { maxBytes?: number }): Promise<Uint8Array> {
    checkUser(args);
    return (await this.#files.read(args.path)).subarray(0, args.maxBytes);
  }

  /** Returns the entries of a folder. */
  async listDir(args: PathArgs) {
    checkUser(args);
    const entries = await this.#files.list(args.path);
    return entries.map(({ name, path, kind }) => ({ name, path, type: TYPES[kind] }));
  }

  async pathExists(path: string): Promise<boolean> {
    return (await this.#files.stat(path)) !== undefined;
  }

  async directoryExists(path: string): Promise<boolean> {
    return (await this.#files.stat(path))?.kind === 'dir';
  }

  /** Returns an image file: PNG, JPEG, GIF or WebP. */
  async viewImage(args: PathArgs): Promise<{
    type: 'image';
    image: { data: ReturnType<typeof Uint8Array.of>; mediaType: `image/${'png' | 'jpeg' | 'gif' | 'webp'}` };
  }> {
    checkUser(args);
    const data = await this.#files.read(args.path);
    const mediaType = readImageHeader(data)?.mime;
    if (mediaType === undefined)
      throw new SandboxError(
        'invalid_argument',
        `${args.path} is not a supported image: PNG, JPEG, GIF or WebP.`,
      );
    return { type: 'image', image: { data, mediaType } };
  }

  /** Returns an editor that applies diffs to the files. */
  createEditor(runAs?: string) {
    if (runAs !== undefined) throw unsupported('runAs: another user');
    const files = this.#files;
    const apply = this.#applyDiff;
    return {
      createFile: async ({ path, diff }: DiffOperation) => files.write(path, apply('', diff, 'create')),
      updateFile: async ({ path, diff, moveTo }: DiffOperation) => {
        await files.write(path, apply(await files.readText(path), diff));
        if (moveTo !== undefined) await files.move(path, moveTo);
      },
      deleteFile: ({ path }: { path: string }) => files.remove(path),
    };
  }

  /** Writes an entry of a manifest: a file, or a folder with its contents. Other entries are refused. */
  async materializeEntry({
    path,
    entry,
    runAs,
  }: {
    path: string;
    entry: unknown;
    runAs?: string;
  }): Promise<void> {
    if (runAs !== undefined) throw unsupported('runAs: another user');
    const { type, content = '', children = {} } = entry as FileEntry;
    if (type === 'file') return this.#files.write(path, content);
    if (type !== 'dir') throw unsupported(`${path}: an entry of the type ${type}`);
    await this.#files.makeFolder(path);
    for (const [name, child] of Object.entries(children))
      await this.materializeEntry({ path: `${path}/${name}`, entry: child });
  }

  /** Writes the entries of a manifest. */
  async applyManifest(manifest: ManifestFields): Promise<void> {
    for (const [path, entry] of Object.entries(manifest.entries))
      await this.materializeEntry({ path, entry });
  }

  /** Creates a checkpoint of the session and returns its name as data for `hydrateWorkspace`. */
  async persistWorkspace(): Promise<Uint8Array> {
    const { name } = await this.#session.checkpoint();
    return new TextEncoder().encode(JSON.stringify({ session_id: this.state.session_id, checkpoint: name }));
  }

  /** Restores a checkpoint that `persistWorkspace` of the same session created. Throws `checkpoint_not_found`. */
  async hydrateWorkspace(data: string | ArrayBuffer | Uint8Array): Promise<void> {
    const { session_id, checkpoint } = readCheckpoint(data);
    if (session_id !== this.state.session_id)
      throw new SandboxError(
        'invalid_argument',
        'The data belongs to another session. Resume that session with the client, and restore its workspace there.',
      );
    await this.#session.rollback(checkpoint);
  }

  /** Rejects: a sandbox has no ports. */
  async resolveExposedPort(port: number): Promise<never> {
    throw unsupported(`Port ${port}: a sandbox has no ports, and a port`);
  }

  async running(): Promise<boolean> {
    return true;
  }

  /** Ends the running commands and closes the session. A session in a store can be resumed. */
  async close(): Promise<void> {
    this.#commands.killAll();
    await this.#session.close();
  }
}

function readCheckpoint(data: string | ArrayBuffer | Uint8Array): z.output<typeof savedWorkspace> {
  const text = typeof data === 'string' ? data : new TextDecoder().decode(data);
  try {
    return savedWorkspace.parse(JSON.parse(text));
  } catch {
    throw new SandboxError('invalid_argument', 'The data is not from persistWorkspace() of this sandbox.');
  }
}

/**
 * Returns a client for `sandbox.client` of `run` of the OpenAI Agents SDK. Every sandbox is a session that the client opens with
 * these options. With a `store`, other processes can resume it.
 */
export function openAiSandboxClient<M>(
  parts: OpenAiAgentsParts<M>,
  options: Omit<SandboxOptions, 'runtime' | 'session_id'> = {},
) {
  const open = async (given: object | undefined, session_id?: string) => {
    const session = await createSandbox({
      ...options,
      runtime: SHELL_RUNTIME,
      auto_persist_globals: true,
      ...(session_id !== undefined && { session_id }),
    });
    // The description for the model names the root of the manifest.
    const manifest = new parts.Manifest({ ...given, root: WORKSPACE } as never);
    return new OpenAiSandboxSession(session, parts, { manifest, session_id: session.session_id });
  };
  return {
    backendId: 'llm_wasm_sandbox',
    supportsDefaultOptions: true,
    /** Opens a new session with the files of the manifest. */
    create: async (args: { manifest?: unknown } | M = {}): Promise<OpenAiSandboxSession<M>> => {
      const given = args instanceof parts.Manifest ? args : (args as { manifest?: object }).manifest;
      const sandbox = await open(given as object | undefined);
      const manifest = sandbox.state.manifest as M & ManifestFields;
      sandbox.state.environment = await manifest.resolveEnvironment();
      await sandbox.applyManifest(manifest);
      return sandbox;
    },
    serializeSessionState: async ({
      session_id,
    }: OpenAiSandboxState<M>): Promise<Record<string, unknown>> => ({
      session_id,
    }),
    deserializeSessionState: async (state: Record<string, unknown>): Promise<OpenAiSandboxState<M>> => ({
      manifest: new parts.Manifest({ ...(state['manifest'] as object), root: WORKSPACE } as never),
      session_id: String(state['session_id']),
    }),
    /** Whether the session still exists after it was closed. */
    canPersistOwnedSessionState: () => options.store !== undefined,
    /** Opens a session again. */
    resume: async (state: OpenAiSandboxState<M>): Promise<OpenAiSandboxSession<M>> => {
      const sandbox = await open(state.manifest as object, state.session_id);
      if (state.environment !== undefined) sandbox.state.environment = state.environment;
      return sandbox;
    },
  };
}
