/** A session as `experimental_sandbox` of the AI SDK 7: the type `Experimental_SandboxSession` of `ai`. */

import { SandboxError, type Session } from '@llm-wasm-sandbox/core/internal';
import { type CommandOptions, SlotCommands, type SlotProcess } from './slot-commands.ts';
import { SlotFiles, WORKSPACE } from './slot-files.ts';

interface PathOptions {
  path: string;
  abortSignal?: AbortSignal;
}
interface ProcessOptions {
  command: string;
  workingDirectory?: string;
  env?: Record<string, string>;
  abortSignal?: AbortSignal;
}

/** A process that `spawn` of the AI SDK's sandbox returns. */
export interface AiSdkProcess {
  readonly pid: number;
  readonly stdout: ReadableStream<Uint8Array>;
  readonly stderr: ReadableStream<Uint8Array>;
  wait(): Promise<{ exitCode: number }>;
  kill(): Promise<void>;
}

/** A process with a standard input. */
export interface AiSdkWritableProcess extends AiSdkProcess {
  readonly stdin: WritableStream<Uint8Array>;
}

/** The sandbox of the AI SDK: its methods are those of `Experimental_SandboxSession`. */
export type AiSdkSandbox = ReturnType<typeof aiSdkSandbox>;

const TYPES = { file: 'file', dir: 'directory', symlink: 'symlink' } as const;

const DESCRIPTION = `A sandbox with bash and its usual commands, python3 and node. All files are in ${WORKSPACE}, the working directory. Each command starts in a new shell. There are no ports and no terminals.`;

const commandOptions = ({ workingDirectory, env, abortSignal }: ProcessOptions): CommandOptions => ({
  cwd: workingDirectory,
  env,
  signal: abortSignal,
});

/** Resolves with null if there is no such file or folder. */
async function orNull<T>(read: Promise<T>): Promise<T | null> {
  try {
    return await read;
  } catch (cause) {
    if (cause instanceof SandboxError && cause.code === 'file_not_found') return null;
    throw cause;
  }
}

/** The lines from `first` to `last`, which count from 1, with the ends of lines that the text has. */
function lineRange(text: string, first = 1, last = Number.POSITIVE_INFINITY): string {
  const lines = text.split('\n');
  const end = last < lines.length ? '\n' : '';
  return lines.slice(Math.max(0, first - 1), last).join('\n') + end;
}

/**
 * Returns a session as the sandbox of the AI SDK 7, for `experimental_sandbox` of `generateText`, `streamText` and agents. The
 * session belongs to the caller, who closes it.
 */
export function aiSdkSandbox(session: Session) {
  const files = new SlotFiles(session);
  const commands = new SlotCommands(session, files);

  async function spawn(options: ProcessOptions & { stdin: true }): Promise<AiSdkWritableProcess>;
  async function spawn(options: ProcessOptions & { stdin?: false }): Promise<AiSdkProcess>;
  async function spawn(
    options: ProcessOptions & { stdin?: boolean },
  ): Promise<AiSdkProcess | AiSdkWritableProcess>;
  async function spawn(options: ProcessOptions & { stdin?: boolean }): Promise<AiSdkProcess> {
    const { stdin = false } = options;
    return toProcess(await commands.spawn(options.command, { ...commandOptions(options), stdin }));
  }

  return {
    /** Text for the instructions of an agent. */
    description: DESCRIPTION,
    readFile: async ({ path }: PathOptions) => {
      const bytes = await orNull(files.read(path));
      return bytes && new Blob([bytes]).stream();
    },
    readBinaryFile: ({ path }: PathOptions): Promise<Uint8Array | null> => orNull(files.read(path)),
    readTextFile: async (
      options: PathOptions & { encoding?: string; startLine?: number; endLine?: number },
    ) => {
      const bytes = await orNull(files.read(options.path));
      const decoder = new TextDecoder(options.encoding);
      return bytes && lineRange(decoder.decode(bytes), options.startLine, options.endLine);
    },
    writeFile: async ({ path, content }: PathOptions & { content: ReadableStream<Uint8Array> }) =>
      files.write(path, await readAll(content, session.policy.workspace_max_bytes)),
    writeBinaryFile: ({ path, content }: PathOptions & { content: Uint8Array }) => files.write(path, content),
    writeTextFile: async ({
      path,
      content,
      encoding,
    }: PathOptions & { content: string; encoding?: string }) => {
      if (!/^utf-?8$/i.test(encoding ?? 'utf-8'))
        throw new SandboxError('invalid_argument', 'encoding: only utf-8 is written. Use writeBinaryFile.');
      await files.write(path, content);
    },
    stat: async ({ path }: PathOptions) => {
      const found = await files.stat(path);
      if (found === undefined || found.kind === 'symlink') return null;
      return { type: found.kind === 'dir' ? ('directory' as const) : ('file' as const), size: found.size };
    },
    listDirectory: async ({ path }: PathOptions) => {
      const entries = await orNull(files.list(path));
      return entries?.map(({ name, kind }) => ({ name, type: TYPES[kind] })) ?? null;
    },
    deleteFile: async ({ path }: PathOptions) => {
      const found = await orNull(files.lstat(path));
      if (found === null) return false;
      if (found.kind === 'dir') throw new SandboxError('invalid_path', `${path} is a folder.`);
      await files.remove(path);
      return true;
    },
    spawn,
    run: async (options: ProcessOptions) => {
      const { exitCode, stdout, stderr } = await commands.run(options.command, commandOptions(options));
      return { exitCode, stdout, stderr };
    },
  };
}

function toProcess({ pid, stdout, stderr, input, ended, kill }: SlotProcess): AiSdkProcess {
  const wait = async () => ({ exitCode: (await ended).exitCode });
  const process = { pid, stdout, stderr, wait, kill: async () => kill() };
  if (input === undefined) return process;
  const stdin = new WritableStream<Uint8Array>({
    write: (bytes) => input.write(bytes),
    close: () => input.end(),
    abort: () => input.end(),
  });
  return Object.assign(process, { stdin });
}

/** The bytes of a stream. Throws `quota_exceeded` for more than `maxBytes`. */
async function readAll(content: ReadableStream<Uint8Array>, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of content) {
    size += chunk.length;
    if (size > maxBytes)
      throw new SandboxError('quota_exceeded', `The file is larger than the workspace: ${maxBytes} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
