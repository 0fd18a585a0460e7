/**
 * The programs that processes can start, by path. Each has a read-only file in /usr/bin and in /bin that stands for it. A file
 * of the workspace is never a program, only a script for one: its first line names the interpreter.
 */
import type { ChildProgram, ProcessProgram } from '../../engine/child-program.ts';
import type { Guest } from '../../engine/guest.ts';
import type { MemoryAccount } from '../../engine/memory-account.ts';
import { readOnlyTree } from '../../fs/flat-entries.ts';
import type { FileNode, Node } from '../../fs/nodes.ts';
import type { BaseDirectory } from '../../fs/resolve-path.ts';
import type { Volume } from '../../fs/volume.ts';
import type { ExecRequest } from '../../kernel/processes.ts';
import { isSyscallError, syscallError } from '../../kernel/syscall-error.ts';
import { checkFileLayers, fileLayers } from '../../runtimes/programs/file-layers.ts';
import { findProgram, programProblem } from '../../runtimes/programs/program-files.ts';
import { BASH_PACKAGE, SHELL_COMMANDS } from '../../runtimes/programs/program-folders.ts';
import { programCommands, scriptsByCommand } from '../../runtimes/programs/program-list.ts';
import { startCommand } from '../../runtimes/programs/start-command.ts';
import { isSuspendable } from '../../runtimes/programs/suspendable-program.ts';
import { RUNTIMES } from '../../runtimes/registry/runtime-registry.ts';
import { LAYER_TIME_MS, type Runtime } from '../../runtimes/runtime.ts';
import type { RunJob } from '../protocol/messages.ts';
import { parseGuestReport } from '../protocol/parse-guest-report.ts';
import type { MountedLayer } from '../thread/guest-volume.ts';
import { displayFiles } from './display-files.ts';
import {
  type FoundImage,
  type ImageContext,
  inImage,
  mountLayers,
  poolOf,
  whileRunning,
} from './process-images.ts';

/** What a program needs to know about the call. */
interface ProcessContext extends ImageContext {
  readonly job: Pick<RunJob, 'limits' | 'program' | 'tools'>;
  /** Receives a result that a process displays. Fails if it cannot be shown. */
  display(message: Uint8Array): void;
}

/** A program that processes start by its name. */
interface ProcessCommand {
  readonly name: string;
  prepare(
    context: ProcessContext & { readonly cwd: BaseDirectory },
    request: ExecRequest,
    find: (request: ExecRequest) => ProcessProgram<Guest>,
  ): ProcessProgram<Guest>;
}

const FOLDERS = ['/usr/bin', '/bin'];
/** Layer numbers of the folders. Those of other runtimes begin at 16, those of mounts at 32. */
const FIRST_FOLDER_LAYER = 30;
const FIRST_FILE_LAYER = 28;
const MAX_LINE_BYTES = 256;
const MAX_INTERPRETERS = 4;
const decoder = new TextDecoder();

// ---- interpreters ----

const PAGE_BYTES = 65_536;

function startInterpreter(
  { image, others }: FoundImage,
  context: ProcessContext,
  { argv, env }: ExecRequest,
  account: MemoryAccount,
): ChildProgram<Guest> {
  const { runtime } = image;
  const { header } = image.image;
  if (!account.admits(header.pages * PAGE_BYTES)) throw syscallError('ENOMEM');
  const maxPages = Math.floor(account.freeBytes / PAGE_BYTES);
  const volume = context.volume();
  if (image !== context.loaded) mountLayers(volume, image);
  const pool = poolOf(image);
  const guest = pool.acquire(maxPages);
  const { limits, program, tools } = context.job;
  const { fuel_budget, timeout_seconds } = limits;
  const { inject_setup } = program;
  return {
    guest,
    startFuel: (header.pages * PAGE_BYTES) / 8,
    run: () => {
      const pid = guest.kernel.call.processes!.pid;
      const network = tools?.network && { network: true as const };
      const request = { argv, env, inject_setup, pid, others, fuel_budget, timeout_seconds, ...network };
      const report = parseGuestReport(
        whileRunning(volume, image, () => runtime.runCommand(guest, header.handles, request)),
      );
      image.checkDamage();
      return report?.exit_code ?? 1;
    },
    release: () => pool.release(guest),
  };
}

const interpreterCommands = (runtime: Runtime): ProcessCommand[] =>
  runtime.commands.map((name) => ({
    name,
    prepare: (context, request) =>
      inImage(runtime, context, request, (found, memory) =>
        startInterpreter(found, context, request, memory),
      ),
  }));

const programCommand = (name: string): ProcessCommand => ({
  name,
  prepare: (_, request) => {
    const problem = programProblem(name);
    if (problem !== undefined) return { exitCode: 127, message: `${name}: ${problem}\n` };
    const program = findProgram(name);
    return {
      isNested: program !== undefined && !isSuspendable(program.compiled),
      start: (memory) => startCommand(name, request, memory),
    };
  },
});

const displayCommand: ProcessCommand = {
  name: 'display',
  prepare: ({ cwd, volume, display }, { argv }) => ({
    isNested: false,
    perform: (runner) =>
      displayFiles(argv.slice(1), {
        volume: volume(),
        cwd,
        display,
        charge: (microseconds) => runner.kernel.chargeHostTime(microseconds),
      }),
  }),
};

// ---- the folders ----

const PROGRAMS: readonly ProcessCommand[] = [
  ...Object.values(RUNTIMES).flatMap(interpreterCommands),
  ...programCommands().map(programCommand),
  displayCommand,
];
const COMMANDS = PROGRAMS.some(({ name }) => name === 'sh')
  ? PROGRAMS
  : [...PROGRAMS, ...SHELL_COMMANDS.map(simpleShell)];

/** Stands in for a shell: runs a command that consists of words only, as a shell would. */
function simpleShell(name: string): ProcessCommand {
  return {
    name,
    prepare(_, request, find) {
      const { argv } = request;
      const words = argv[1] === '-c' ? plainWords(argv[2] ?? '') : undefined;
      if (words === undefined) return { exitCode: 127, message: NO_SHELL() };
      try {
        return find({ ...request, path: words[0]!, argv: words });
      } catch (cause) {
        if (!isSyscallError(cause)) throw cause;
        return { exitCode: cause.code === 'ENOENT' ? 127 : 126, message: notFound(words[0]!) };
      }
    },
  };
}

const NO_SHELL = () =>
  `sh: the command was not run, because bash is not installed: npm install ${BASH_PACKAGE}. Without it, start one program with its arguments, without pipes, redirections and variables: ${programNames()}\n`;
const notFound = (name: string) =>
  `sh: ${name.slice(0, 100)}: not found. The programs of the sandbox are ${programNames()}\n`;

/** The words of a command without any other syntax of the shell; undefined for other commands. */
function plainWords(command: string): string[] | undefined {
  const word = /[\w@%+:,./-][\w@%+:,./=-]*|'[^']*'|"[^"$`\\!]*"/.source;
  if (!new RegExp(`^\\s*(?:(?:${word})(?:\\s+|$))+$`).test(command)) return undefined;
  return [...command.matchAll(new RegExp(word, 'g'))].map(([text]) =>
    text.startsWith("'") || text.startsWith('"') ? text.slice(1, -1) : text,
  );
}

/** The files that stand for the commands. */
const commandFiles = new WeakMap<Node, ProcessCommand>();

/** The texts of the files in the folders: scripts, and the names of other commands. */
const FILE_TEXTS: readonly (readonly [name: string, text: string])[] = [
  ...COMMANDS.map(({ name }) => [name, `The program ${name} of the sandbox\n`] as const),
  ...scriptsByCommand(),
];

function folder(layer: number) {
  const entries = FILE_TEXTS.map(([path, text]) => ({
    path,
    kind: 'file' as const,
    mode: 0o755,
    mtimeMs: LAYER_TIME_MS,
    data: new TextEncoder().encode(text),
  })).sort((a, b) => (a.path < b.path ? -1 : 1));
  const tree = readOnlyTree(entries, layer);
  for (const command of COMMANDS) commandFiles.set(tree.entries.get(command.name)!, command);
  return tree;
}

const COMMAND_FOLDERS: readonly MountedLayer[] = FOLDERS.map((at, i) => ({
  at,
  tree: folder(FIRST_FOLDER_LAYER + i),
}));

/** The folders with the files of the commands and with what they read, which every file tree has. */
export const commandLayers = (): readonly MountedLayer[] => [
  ...COMMAND_FOLDERS,
  ...fileLayers(FIRST_FILE_LAYER),
];

/** Throws if a file in these folders that a guest used is damaged. */
export const checkCommandLayers = checkFileLayers;

/** Names of all commands that are not shells, sorted. */
const programNames = () =>
  FILE_TEXTS.map(([name]) => name)
    .filter((name) => !SHELL_COMMANDS.includes(name))
    .sort()
    .join(', ');

/** Finds the program of a process. */
export function resolveProgram(
  context: ProcessContext,
  volume: Volume,
  cwd: BaseDirectory,
  request: ExecRequest,
): ProcessProgram<Guest> {
  let left = MAX_INTERPRETERS;
  const find = (wanted: ExecRequest): ProcessProgram<Guest> => {
    let { path, argv } = wanted;
    while (left-- > 0) {
      const node = findFile(volume, cwd, path);
      const command = commandFiles.get(node);
      if (command !== undefined) return command.prepare({ ...context, cwd }, { ...wanted, path, argv }, find);
      const script = interpreterOf(volume, node);
      argv = [...script, path, ...argv.slice(1)];
      path = script[0]!;
    }
    throw syscallError('ELOOP');
  };
  return find(request);
}

function findFile(volume: Volume, cwd: BaseDirectory, path: string): FileNode {
  const node = volume.lookup(path.includes('/') ? path : `${FOLDERS[0]}/${path}`, cwd, true);
  if (node.kind !== 'file' || (node.mode & 0o111) === 0) throw syscallError('EACCES');
  return node;
}

/** The interpreter and its argument in the first line of a script. */
function interpreterOf(volume: Volume, node: FileNode): string[] {
  const start = new Uint8Array(MAX_LINE_BYTES);
  const [line] = decoder.decode(start.subarray(0, volume.read(node, 0, start))).split('\n');
  if (!line!.startsWith('#!')) throw syscallError('ENOEXEC');
  const [interpreter = '', ...words] = line!
    .slice('#!'.length)
    .trim()
    .split(/[ \t]+/);
  if (interpreter === '') throw syscallError('ENOEXEC');
  // The usual way to look up an interpreter by name.
  if (/^(?:\/usr)?\/bin\/env$/.test(interpreter) && words.length > 0) {
    const [name, ...args] = words[0] === '-S' && words.length > 1 ? words.slice(1) : words;
    return [`${FOLDERS[0]}/${name}`, ...args];
  }
  return words.length === 0 ? [interpreter] : [interpreter, words.join(' ')];
}
