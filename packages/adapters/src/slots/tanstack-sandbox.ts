/** Sessions as sandboxes of TanStack AI: `SandboxProvider` and `SandboxHandle` of `@tanstack/ai-sandbox`. */

import type { SandboxOptions, Session, SessionStore } from '@llm-wasm-sandbox/core/internal';
import {
  memoryStore,
  openSession,
  parse,
  SandboxError,
  SHELL_RUNTIME,
  sandboxOptions,
} from '@llm-wasm-sandbox/core/internal';
import { SlotCommands, type SlotProcess } from './slot-commands.ts';
import { SlotFiles, WORKSPACE } from './slot-files.ts';

const NAME = 'llm-wasm-sandbox';
/** The name of the workspace in TanStack AI. */
const ALIAS = '/workspace';
const CAPABILITIES = {
  fs: true,
  exec: true,
  env: true,
  ports: false,
  backgroundProcesses: true,
  // A process applies its files when it ends, so setup steps must not share one that waits for input.
  writableStdin: false,
  snapshots: true,
  networkPolicy: false,
  durableFilesystem: true,
  fork: true,
};

type EnvVariables = Record<string, string>;
interface TanStackProcessOptions {
  cwd?: string;
  env?: EnvVariables;
  signal?: AbortSignal;
}

/** A sandbox of TanStack AI: its methods are those of `SandboxHandle`. */
export interface TanStackSandbox extends ReturnType<typeof handleOf> {
  /** Creates another session with the same files and variables. */
  fork(): Promise<TanStackSandbox>;
}

const refused = (what: string, reason: string) => async (): Promise<never> => {
  throw new SandboxError('invalid_argument', `${what} is not available: ${reason}.`);
};

function filesOf(files: SlotFiles) {
  return {
    read: (path: string): Promise<string> => files.readText(path),
    readBytes: (path: string): Promise<Uint8Array> => files.read(path),
    write: (path: string, data: string | Uint8Array) => files.write(path, data),
    list: async (path: string) =>
      (await files.list(path)).map(({ name, path: at, kind }) => ({
        name,
        path: at,
        type: kind === 'dir' ? ('dir' as const) : ('file' as const),
      })),
    mkdir: (path: string) => files.makeFolder(path),
    remove: (path: string) => files.remove(path),
    rename: (from: string, to: string) => files.move(from, to),
    exists: async (path: string) => (await files.stat(path)) !== undefined,
  };
}

async function* textOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const bytes of stream) yield decoder.decode(bytes, { stream: true });
  yield decoder.decode();
}

function toSpawned({ pid, stdout, stderr, input, ended, kill }: SlotProcess) {
  return {
    pid,
    stdout: textOf(stdout),
    stderr: textOf(stderr),
    stdin: {
      write: async (data: string) => input!.write(new TextEncoder().encode(data)),
      end: async () => input!.end(),
    },
    wait: async () => (await ended).exitCode,
    /** Every signal ends the process. */
    kill: async (_signal?: string | number) => kill(),
  };
}

const git = refused('git', 'there is no git. Write the files with fs.write');
const GIT = { clone: git, status: git, add: git, commit: git, push: git, pull: git, branch: git };

function handleOf(session: Session, variables: EnvVariables = {}) {
  const files = new SlotFiles(session, ALIAS);
  const commands = new SlotCommands(session, files);
  const env = { ...variables };
  const withEnv = (options: TanStackProcessOptions = {}) => ({ ...options, env: { ...env, ...options.env } });
  return {
    id: session.session_id,
    provider: NAME,
    workspaceRoot: WORKSPACE,
    capabilities: CAPABILITIES,
    fs: filesOf(files),
    git: GIT,
    process: {
      exec: async (command: string, options?: TanStackProcessOptions) => {
        const { stdout, stderr, exitCode } = await commands.run(command, withEnv(options));
        return { stdout, stderr, exitCode };
      },
      spawn: async (command: string, options?: TanStackProcessOptions) =>
        toSpawned(await commands.spawn(command, { ...withEnv(options), stdin: true })),
    },
    ports: {
      connect: refused('ports.connect', 'a sandbox has no ports') as (port: number) => Promise<never>,
    },
    env: {
      set: async (added: EnvVariables) => {
        Object.assign(env, added);
      },
    },
    /** Creates a checkpoint of the session. */
    snapshot: async (label?: string) => {
      const { name } = await session.checkpoint();
      return { id: `${session.session_id}/${name}`, ...(label !== undefined && { label }) };
    },
    /** Ends the running commands and closes the session. It stays in its store. */
    destroy: async (): Promise<void> => {
      commands.killAll();
      await session.close();
    },
  };
}

/**
 * Returns a provider for `defineSandbox` of `@tanstack/ai-sandbox`. Every sandbox is a session that the provider opens with these
 * options. Without a `store`, sessions are kept in memory as long as the provider.
 */
export function tanstackSandboxProvider(options: Omit<SandboxOptions, 'runtime' | 'session_id'> = {}) {
  const store: SessionStore = options.store ?? memoryStore();
  /** The sandboxes that this provider has opened. A session is open once. */
  const opened = new Map<string, { readonly session: Session; readonly handle: TanStackSandbox }>();

  const open = async (id: string | undefined, mustBe: 'new' | 'stored') => {
    const given = { ...options, store, runtime: SHELL_RUNTIME, ...(id !== undefined && { session_id: id }) };
    return openSession(parse(sandboxOptions, given, 'options'), options.policy ?? {}, { mustBe });
  };
  const register = (session: Session, env?: EnvVariables): TanStackSandbox => {
    const handle = handleOf(session, env);
    const registered = {
      ...handle,
      fork: async () => register(await session.fork(), env),
      destroy: async () => {
        opened.delete(handle.id);
        await handle.destroy();
      },
    };
    opened.set(handle.id, { session, handle: registered });
    return registered;
  };

  return {
    name: NAME,
    capabilities: () => CAPABILITIES,
    create: async ({ id, env }: { id?: string; env?: EnvVariables } = {}) =>
      register(await open(id, 'new'), env),
    /** Opens a sandbox again. Resolves with null if its session does not exist. */
    resume: async ({ id }: { id: string }): Promise<TanStackSandbox | null> => {
      try {
        return opened.get(id)?.handle ?? register(await open(id, 'stored'));
      } catch (cause) {
        if (cause instanceof SandboxError && cause.code === 'session_not_found') return null;
        throw cause;
      }
    },
    /** Creates a session from a checkpoint. */
    restoreSnapshot: async ({ snapshotId, env }: { snapshotId: string; env?: EnvVariables }) => {
      const [id = '', checkpoint = ''] = snapshotId.split('/');
      const found = opened.get(id)?.session;
      const session = found ?? (await open(id, 'stored'));
      try {
        return register(await session.fork(undefined, { checkpoint }), env);
      } finally {
        if (found === undefined) await session.close();
      }
    },
    /** Closes a sandbox and deletes its session. */
    destroy: async ({ id }: { id: string }): Promise<void> => {
      await opened.get(id)?.handle.destroy();
      await store.delete(id);
    },
  };
}
