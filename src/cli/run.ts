/** `run`: one program, in a sandbox of its own or in a session; the exit code is the guest's. */
import { extname } from 'node:path';
import type { Command } from 'commander';
import { SandboxError } from '../errors.ts';
import { formatBytes, formatDuration, formatFuel } from '../quantities.ts';
import { DEFAULT_RUNTIME, LANGUAGES } from '../runtimes/languages.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import {
  type PolicyInput,
  policy as policySchema,
  RUNTIME_NAMES,
  type RuntimeName,
  type SandboxResult,
} from '../schema.ts';
import { onReaderGone } from './broken-pipe.ts';
import { copyOut, readInput } from './file-transfer.ts';
import {
  bytesFlag,
  countFlag,
  examples,
  fuelFlag,
  jsonOption,
  languageOption,
  listFlag,
  type MountFlag,
  mountFlag,
  pathFlag,
  secondsFlag,
  storeOption,
  UsageError,
} from './flags.ts';

const DEFAULTS = policySchema.parse({});

function languageOf(file: string): RuntimeName | undefined {
  const extension = extname(file).toLowerCase();
  return RUNTIME_NAMES.find((name) => LANGUAGES[name].extensions.includes(extension));
}

interface RunFlags {
  readonly code?: string;
  readonly language?: RuntimeName;
  readonly session?: string;
  readonly store?: string;
  readonly json?: boolean;
  readonly fuel?: number;
  readonly memory?: number;
  readonly timeout?: number;
  readonly stdin?: string;
  readonly mount: MountFlag[];
  readonly preload: string[];
  readonly packages: string[];
  readonly setup: boolean;
  readonly out?: string;
  readonly deterministic?: boolean;
  readonly seed?: number;
}

/** The program to run, and its language as far as the command line says. */
function source(file: string | undefined, flags: RunFlags): { code: string; language?: RuntimeName } {
  if ((file === undefined) === (flags.code === undefined))
    throw new UsageError('Give either a FILE (or "-") or -c CODE.');
  const language = flags.language ?? (file === undefined ? undefined : languageOf(file));
  if (language === undefined && file !== undefined && file !== '-' && flags.session === undefined) {
    const choices = RUNTIME_NAMES.map((name) => `--language ${name}`).join(' or ');
    throw new UsageError(`Cannot determine the language of ${file} from its name: add ${choices}.`);
  }
  return { code: flags.code ?? readInput(file!).toString('utf8'), ...(language && { language }) };
}

/** Only what was given: a session keeps its own limits otherwise. */
function policyOf({ fuel, memory, timeout, mount, seed, deterministic }: RunFlags): PolicyInput {
  return {
    ...(fuel !== undefined && { fuel_budget: fuel }),
    ...(memory !== undefined && { memory_bytes: memory }),
    ...(timeout !== undefined && { timeout_seconds: timeout }),
    ...(mount.length > 0 && { mounts: mount }),
    ...(deterministic && { deterministic }),
    ...(seed !== undefined && { deterministic: { seed } }),
  };
}

async function openSandbox(language: RuntimeName | undefined, flags: RunFlags): Promise<Sandbox> {
  const { session: session_id, packages } = flags;
  const policy = policyOf(flags);
  const preload = flags.preload.length > 0 && { preload: flags.preload };
  const runtime = language ?? DEFAULT_RUNTIME;
  if (session_id === undefined) {
    if (flags.store !== undefined) throw new UsageError('--store goes with --session ID.');
    const { createSandbox } = await import('../sandbox/sandbox.ts');
    return createSandbox({ runtime, policy, packages, ...preload });
  }
  const { openDesk } = await import('./session-context.ts');
  const { sessions } = openDesk(flags.store);
  const known = (await sessions.list()).find((record) => record.session_id === session_id);
  if (known === undefined) return sessions.create({ runtime, session_id, policy, packages, ...preload });
  if (language !== undefined && language !== known.runtime) {
    const advice = `Leave --language out, give it a ${known.runtime} program, or use another --session`;
    throw new SandboxError(
      'session_mismatch',
      `Session ${session_id} is in ${known.runtime}, the program in ${language}. ${advice}.`,
    );
  }
  return sessions.get(session_id, { policy, packages, ...preload });
}

async function run(file: string | undefined, flags: RunFlags): Promise<void> {
  const { code, language } = source(file, flags);
  const stdin = flags.stdin === undefined ? '' : readInput(flags.stdin);
  await using sandbox = await openSandbox(language, flags);
  const interrupt = new AbortController();
  process.once('SIGINT', () => interrupt.abort());
  let isHeard = true;
  // What a call does to a session does not depend on who reads its output.
  if (sandbox.session_id !== undefined)
    onReaderGone(() => {
      isHeard = false;
    });
  const live = flags.json
    ? {}
    : {
        on_stdout: (text: string) => isHeard && process.stdout.write(text),
        on_stderr: (text: string) => isHeard && process.stderr.write(text),
      };
  const result = await sandbox.execute(code, {
    stdin,
    signal: interrupt.signal,
    inject_setup: flags.setup,
    ...live,
  });
  // A session that could not be written must not look as if it had been.
  if (sandbox.session_id !== undefined) await sandbox.flush();
  if (flags.out !== undefined) {
    const changed = [...result.files_created, ...result.files_modified];
    await copyOut(changed, (path) => sandbox.readFile(path), flags.out);
  }
  if (flags.json) process.stdout.write(`${JSON.stringify(result)}\n`);
  else if (!result.success && process.stderr.isTTY) process.stderr.write(`${summary(result)}\n`);
  process.exitCode = result.exit_code;
}

/** Why a run failed and what it cost, in one line. */
function summary(result: SandboxResult): string {
  const { trap_message, error } = result.metadata;
  const why =
    trap_message ?? (error ? `${error.type} on line ${error.line ?? '?'}` : `exit code ${result.exit_code}`);
  return `\nllm-wasm-sandbox: ${why} (${formatFuel(result.fuel_consumed)} fuel, ${formatDuration(result.duration_ms)}, exit code ${result.exit_code})`;
}

const fallback = (value: string) => `(default ${value}, in a session what it has)`;

export function addRunCommand(program: Command): void {
  program
    .command('run')
    .description('run a program and exit with its exit code')
    .argument('[FILE]', 'program to run; "-" reads it from standard input')
    .option('-c, --code <CODE>', 'program text instead of a file')
    .addOption(
      languageOption(`language; by default from the file name, else the session's, else ${DEFAULT_RUNTIME}`),
    )
    .option('--session <ID>', 'run in this session, which is made if there is none; variables and files stay')
    .addOption(storeOption())
    .addOption(jsonOption('print the result as JSON and nothing else'))
    .option(
      '--fuel <N>',
      `instructions it may execute, e.g. 20B ${fallback(formatFuel(DEFAULTS.fuel_budget))}`,
      fuelFlag,
    )
    .option(
      '--memory <BYTES>',
      `memory it may use, e.g. 512Mi ${fallback(formatBytes(DEFAULTS.memory_bytes))}`,
      bytesFlag,
    )
    .option(
      '--timeout <SECONDS>',
      `time it may take ${fallback(`${DEFAULTS.timeout_seconds} s`)}`,
      secondsFlag,
    )
    .option('--stdin <FILE>', 'what it reads from standard input; "-" passes ours on')
    .option('--mount <HOST:GUEST>', 'read-only copy of a host path; repeatable', mountFlag, [])
    .option('--preload <NAMES>', 'modules to have loaded from the start, e.g. openpyxl,jinja2', listFlag, [])
    .option('--packages <PATH>', 'wheel, or folder of wheels or sources, to add; repeatable', pathFlag, [])
    .option('--no-setup', 'run the code exactly as written, without packages and helpers')
    .option('--out <DIR>', 'copy files it created or modified here')
    .option('--deterministic', 'same output and same fuel on any machine: virtual clock, seeded randomness')
    .option('--seed <N>', 'seed of deterministic mode, which it turns on', countFlag)
    .addHelpText(
      'after',
      examples(
        'run report.py --mount ./data:/external --out ./result',
        'run -c "x = 1" --session notes',
        'run -c "print(x)" --session notes',
      ),
    )
    .action(run);
}
