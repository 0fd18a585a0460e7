/** `run`: runs one program, in a sandbox of its own or in a session, and exits with the exit code of the guest. */

import type { Sandbox } from '@llm-wasm-sandbox/core/internal';
import {
  DEFAULT_LIMITS,
  DEFAULT_RUNTIME,
  formatBytes,
  isolationMode,
  isSession,
  LANGUAGE_NAMES,
  type LanguageName,
  mentionsTools,
  type SandboxResult,
} from '@llm-wasm-sandbox/core/internal';
import { Option } from 'commander';
import { approvalAtTerminal } from '../ask-approval.ts';
import { onBrokenPipe } from '../broken-pipe.ts';
import type { CommandDetails } from '../command.ts';
import { printNote, printWarning } from '../diagnostics.ts';
import { UsageError } from '../exit-codes.ts';
import { interruptSignal } from '../exit-when-written.ts';
import { GuestOutput } from '../guest-output.ts';
import { copyWorkspaceFiles, readLocalFile, writeLocalFile } from '../local-files.ts';
import { type LocalProgram, readFiles, readProgram } from '../local-program.ts';
import { openGateway } from '../open-gateway.ts';
import { profileText, toSpeedscope } from '../profile-report.ts';
import { reportRun } from '../report-run.ts';
import {
  GUIDANCE_OPTIONS,
  HIDDEN_OPTION,
  jsonOption,
  languageOption,
  options,
  storeOptions,
} from '../shared-options.ts';
import { resultFiles } from '../show-displayed-results.ts';
import {
  openSandbox,
  programContentOptions,
  programLimitOptions,
  type SandboxFlags,
} from './open-sandbox.ts';

interface RunFlags extends SandboxFlags {
  readonly code?: string;
  readonly language?: LanguageName;
  readonly json?: boolean;
  readonly stdin?: string;
  readonly file?: string[];
  readonly guidance?: boolean;
  readonly verbose?: boolean;
  readonly setup: boolean;
  readonly out?: string;
  readonly hidden?: boolean;
  readonly results?: string;
  readonly profile?: boolean;
  readonly profileOut?: string;
  readonly toolsConfig?: string;
}

interface CommandLine {
  readonly program: LocalProgram;
  /** Arguments of the program. */
  readonly args: readonly string[];
}

/** With `-c`, all operands are arguments of the program; otherwise the first one names it. */
function readCommandLine(operands: readonly string[], flags: RunFlags): CommandLine {
  const { code, language, session } = flags;
  if (code !== undefined) return { program: { code, language, files: {} }, args: operands };
  const [path, ...args] = operands;
  if (path === undefined)
    throw new UsageError('Specify a FILE or a folder ("-" for standard input), or -c CODE.');
  const program = readProgram(path, language);
  if (program.language === undefined && path !== '-' && session === undefined) {
    const choices = LANGUAGE_NAMES.map((name) => `--language ${name}`).join(' or ');
    throw new UsageError(`Cannot determine the language of ${path} from its name: add ${choices}.`);
  }
  return { program, args };
}

let isReadingInput = false;

/** Standard input of this process, which is read when the program asks for input. */
async function* standardInput(): AsyncGenerator<Uint8Array> {
  isReadingInput = true;
  for await (const chunk of process.stdin) yield chunk;
}

/** Standard input of the program. */
function inputFor({ stdin }: RunFlags, isProgramFromStdin: boolean) {
  if (stdin !== undefined && stdin !== '-') return readLocalFile(stdin);
  if (!isProgramFromStdin) return standardInput();
  if (stdin === '-') throw new UsageError('The program and its input cannot both come from standard input.');
  return '';
}

async function run(operands: readonly (string | undefined)[], flags: RunFlags): Promise<void> {
  const given = operands.filter((operand) => operand !== undefined);
  const { program, args } = readCommandLine(given, flags);
  const { code, fileName, language } = program;
  const files = { ...program.files, ...readFiles(flags.file ?? []) };
  if (flags.verbose) for (const path of Object.keys(files)) printNote(`copies ${path} to /app/${path}.`);
  const stdin = inputFor(flags, flags.code === undefined && given[0] === '-');
  await using sandbox = await openSandbox(language, flags);
  const interrupted = interruptSignal();
  await using gateway = await openGateway(flags.toolsConfig);
  // A slow MCP server does not delay a program that calls no tools.
  const hasOtherCode = isSession(sandbox) || Object.keys(files).length > 0 || flags.mount !== undefined;
  const tools = hasOtherCode || mentionsTools(code) ? await gateway?.toolset() : undefined;
  const output = new GuestOutput(flags.maxOutput ?? Number.POSITIVE_INFINITY);
  // The call must leave the session in the same state whether or not its output is read to the end.
  if (sandbox.session_id !== undefined) onBrokenPipe(() => output.discard());
  const result = await sandbox.execute(code, {
    ...(language && { language }),
    ...(fileName !== undefined && { file_name: fileName }),
    stdin,
    args: [...args],
    signal: interrupted,
    inject_setup: flags.setup,
    profile: flags.profile === true || flags.profileOut !== undefined,
    ...(Object.keys(files).length > 0 && { files }),
    ...(tools && { tools }),
    ...((tools || flags.askNet) && { onApproval: approvalAtTerminal(canPause(sandbox)) }),
    ...(!flags.json && { onOutput: (stream, bytes) => output.write(stream, bytes) }),
  });
  await output.finish();
  // A read that is still waiting would keep the process alive.
  if (isReadingInput) process.stdin.destroy();
  // A failed save must be reported: flush() throws it.
  if (isSession(sandbox)) await sandbox.flush();
  if (flags.out !== undefined) {
    const changed = [...result.files_created, ...result.files_modified];
    if (result.metadata.files_truncated)
      printWarning(`too many changed files; files not copied: ${result.metadata.files_omitted}.`);
    const read = (path: string) => sandbox.readFile(path);
    const { note } = await copyWorkspaceFiles(changed, read, flags.out, flags);
    if (note !== undefined) printNote(note);
  }
  if (flags.results !== undefined) {
    const shown = await resultFiles(result.results, (path) => sandbox.readFile(path));
    await copyWorkspaceFiles([...shown.keys()], async (name) => shown.get(name)!, flags.results);
  }
  reportProfile(result, code, flags);
  reportRun(result, sandbox, output.dropped, flags);
}

/** Only the interpreter of a session can be stored. */
const canPause = (sandbox: Sandbox) => isSession(sandbox) && sandbox.session.auto_persist_globals;

/** Prints the profile to standard error and writes it to a file, as the flags request. */
function reportProfile({ metadata }: SandboxResult, code: string, { profile, profileOut }: RunFlags): void {
  const { fuel_profile } = metadata;
  if (fuel_profile === undefined) {
    if (profile || profileOut !== undefined) printNote('the run was too short for a profile.');
    return;
  }
  if (profile) process.stderr.write(profileText(fuel_profile, code));
  if (profileOut === undefined) return;
  writeLocalFile(profileOut, Buffer.from(JSON.stringify(toSpeedscope(fuel_profile, 'llm-wasm-sandbox'))));
}

export default {
  arguments: {
    '[FILE]':
      'Program to run: a file, with the modules it imports from its folder; a folder; or "-" for standard input',
    '[ARGS...]': 'Arguments of the program; write -- before arguments that start with a dash',
  },
  options: [
    ...options({ '-c, --code <CODE>': 'Run CODE instead of a file' }),
    languageOption(
      `Language of the program; inferred from the file name or the session, else ${DEFAULT_RUNTIME}`,
    ),
    ...options({
      '--session <ID>': 'Run in session ID and keep its variables and files; create it if needed',
    }),
    ...storeOptions(),
    jsonOption("Print the result as JSON instead of the program's output"),
    ...programLimitOptions(),
    ...options({
      '--stdin <FILE>': 'File to use as standard input (default: standard input of this command)',
      '--file <PATH>': 'Copy a local file into /app before the program starts; repeatable',
      '--verbose': 'List the modules and other files that are copied into /app',
      '--max-output <BYTES>': `Maximum size of standard output and of standard error, each (default: no limit; with --json, the session's limits, else ${formatBytes(DEFAULT_LIMITS.stdout_max_bytes)} and ${formatBytes(DEFAULT_LIMITS.stderr_max_bytes)})`,
      ...GUIDANCE_OPTIONS,
    }),
    ...programContentOptions(),
    ...options({
      '--no-setup': 'Run the code exactly as written, without packages and helpers',
      '--profile': 'Print the program with the share of the fuel that each line used',
      '--profile-out <FILE>': 'Write a profile with complete stacks to FILE, for speedscope',
      '--tools-config <FILE>':
        'Let the program call tools of the MCP servers in this JSON file; see docs/TOOLS.md',
      '--out <DIR>': 'Copy the files in /app that the program created or modified to DIR',
      ...HIDDEN_OPTION,
      '--results <DIR>': 'Write what the program displays, such as images and tables, to files in DIR',
      '--deterministic':
        'Make output and fuel consumption identical on every machine: virtual clock, seeded random numbers',
      '--seed <N>': 'Seed for the random numbers; implies --deterministic',
    }),
    new Option(
      '--isolation <MODE>',
      'Where the program runs: in a thread of this process ("thread", the default) or in a separate, restricted process ("process")',
    ).choices(isolationMode.options),
  ],
  examples: [
    'run main.py -- --verbose input.csv',
    'run report.py --mount ./data:/external --out ./result',
    'run -c "x = 1" --session notes',
    'run -c "print(x)" --session notes',
  ],
  action: run,
} satisfies CommandDetails<RunFlags>;
