#!/usr/bin/env node
/**
 * The command line: a thin face of the library. Guest output goes to the matching stream as it comes, the exit code is
 * the guest's, and everything this program itself has to say goes to standard error.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { SandboxError } from './errors.ts';
import { addServerCommands } from './mcp/command.ts';
import type { Sandbox } from './sandbox.ts';
import {
  type PolicyInput,
  policy as policySchema,
  RUNTIME_NAMES,
  type RuntimeName,
  type SandboxResult,
} from './schema.ts';

const DEFAULTS = policySchema.parse({});
const EXTENSIONS: Record<string, RuntimeName> = {
  '.py': 'python',
  '.js': 'javascript',
  '.mjs': 'javascript',
};
const SUFFIXES: Record<string, number> = {
  '': 1,
  K: 1e3,
  M: 1e6,
  G: 1e9,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
};

/** Usage errors end with the code that shells and getopt use for them. */
const EXIT_USAGE = 2;
/** A fault of this program or its installation: not a code a guest run usually ends with. */
const EXIT_FAULT = 70;

interface RunFlags {
  code?: string;
  language?: RuntimeName;
  json?: boolean;
  fuel: number;
  memory: number;
  timeout: number;
  stdin?: string;
  mount: { host_path: string; guest_path: string }[];
  preload: string[];
  packages: string[];
  setup: boolean;
  out?: string;
  deterministic?: boolean;
  seed?: number;
}

function quantity(text: string): number {
  const match = /^(\d[\d_]*(?:\.\d+)?(?:e\d+)?)(|K|M|G|Ki|Mi|Gi)$/.exec(text);
  if (match === null)
    throw new InvalidArgumentError('Use a number such as 20000000000, 20_000_000_000, 20G or 512Mi.');
  return Math.round(Number(match[1]!.replaceAll('_', '')) * SUFFIXES[match[2]!]!);
}

function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new InvalidArgumentError('Use a number of seconds above 0.');
  return value;
}

function mountFlag(text: string, previous: RunFlags['mount']): RunFlags['mount'] {
  const colon = text.lastIndexOf(':/');
  if (colon <= 0) throw new InvalidArgumentError('Use HOST:GUEST, for example ./data:/external.');
  return [...previous, { host_path: text.slice(0, colon), guest_path: text.slice(colon + 1) }];
}

const listFlag = (text: string, previous: string[]) => [...previous, ...text.split(',').filter(Boolean)];
const pathFlag = (text: string, previous: string[]) => [...previous, text];

class UsageError extends Error {}

/** The program to run and its language, from what was given on the command line. */
function source(file: string | undefined, flags: RunFlags): { code: string; runtime: RuntimeName } {
  if ((file === undefined) === (flags.code === undefined))
    throw new UsageError('Give either a FILE (or "-") or -c CODE.');
  if (file === undefined) return { code: flags.code!, runtime: flags.language ?? 'python' };
  const runtime = flags.language ?? EXTENSIONS[extname(file).toLowerCase()];
  if (runtime === undefined && file !== '-') {
    throw new UsageError(
      `Cannot tell the language of ${file} from its name: add --language python or --language javascript.`,
    );
  }
  return { code: readInput(file), runtime: runtime ?? 'python' };
}

function readInput(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (cause) {
    throw new UsageError(`Cannot read ${file}: ${(cause as Error).message}`);
  }
}

async function run(file: string | undefined, flags: RunFlags): Promise<void> {
  const { code, runtime } = source(file, flags);
  const stdin = flags.stdin === undefined ? '' : readInput(flags.stdin);
  const policy: PolicyInput = {
    fuel_budget: flags.fuel,
    memory_bytes: flags.memory,
    timeout_seconds: flags.timeout,
    mounts: flags.mount,
    deterministic: flags.seed === undefined ? (flags.deterministic ?? false) : { seed: flags.seed },
  };
  const { createSandbox } = await import('./sandbox.ts');
  await using sandbox = await createSandbox({
    runtime,
    policy,
    preload: flags.preload,
    packages: flags.packages,
  });
  const interrupt = new AbortController();
  process.once('SIGINT', () => interrupt.abort());
  const live = flags.json
    ? {}
    : {
        on_stdout: (text: string) => process.stdout.write(text),
        on_stderr: (text: string) => process.stderr.write(text),
      };
  const result = await sandbox.execute(code, {
    stdin,
    signal: interrupt.signal,
    inject_setup: flags.setup,
    ...live,
  });
  if (flags.out !== undefined)
    await copyOut(sandbox, [...result.files_created, ...result.files_modified], flags.out);
  if (flags.json) process.stdout.write(`${JSON.stringify(result)}\n`);
  else if (!result.success && process.stderr.isTTY) process.stderr.write(`${summary(result)}\n`);
  process.exitCode = result.exit_code;
}

/** Why a run failed and what it cost, in one line. */
function summary(result: SandboxResult): string {
  const { trap_message, error } = result.metadata;
  const why =
    trap_message ?? (error ? `${error.type} on line ${error.line ?? '?'}` : `exit code ${result.exit_code}`);
  const fuel = `${(result.fuel_consumed / 1e6).toFixed(1)} M fuel`;
  return `\nllm-wasm-sandbox: ${why} (${fuel}, ${Math.round(result.duration_ms)} ms, exit code ${result.exit_code})`;
}

async function copyOut(sandbox: Sandbox, paths: readonly string[], folder: string): Promise<void> {
  for (const path of paths) {
    // A guest names its files as it likes; on Windows these characters would lead elsewhere.
    if (process.platform === 'win32' && /[\\:]/.test(path)) continue;
    const target = join(folder, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, await sandbox.readFile(path));
  }
}

const CHECKS: readonly { name: string; check: () => Promise<string> }[] = [
  {
    name: 'Node.js',
    check: async () => {
      const [major, minor] = process.versions.node.split('.').map(Number) as [number, number];
      if (major < 20 || (major === 20 && minor < 19))
        throw new Error(`is ${process.version}; install 20.19 or newer`);
      return process.version;
    },
  },
  ...RUNTIME_NAMES.map((runtime) => ({
    name: `${runtime} guest`,
    check: async () => {
      const { loadAssets } = await import('./runtimes/assets.ts');
      const { image, missing } = await loadAssets(runtime);
      const without = missing.map(({ name, version, reason }) => `${name} ${version} ${reason}`);
      if (missing.length > 0)
        throw new Error(`incomplete: ${without.join('; ')}. Mend that and run "npm run build"`);
      return `module, layers and image are whole (image ${(image.length / 2 ** 20).toFixed(1)} MiB)`;
    },
  })),
  ...RUNTIME_NAMES.map((runtime) => ({
    name: `${runtime} run`,
    check: async () => {
      const { createSandbox } = await import('./sandbox.ts');
      await using sandbox = await createSandbox({ runtime });
      const result = await sandbox.execute('6 * 7');
      if (result.metadata.result !== 42)
        throw new Error(`6 * 7 gave ${JSON.stringify(result)}; run "npm run build"`);
      return `6 * 7 = 42 in ${result.duration_ms.toFixed(1)} ms, ${result.fuel_consumed} fuel`;
    },
  })),
];

async function doctor(): Promise<void> {
  for (const { name, check } of CHECKS) {
    try {
      console.log(`ok    ${name}: ${await check()}`);
    } catch (cause) {
      console.log(`FAIL  ${name}: ${(cause as Error).message}`);
      process.exitCode = 1;
    }
  }
  console.log(
    process.exitCode === 1 ? 'Something is missing: see the lines with FAIL.' : 'Everything works.',
  );
}

const millions = (fuel: number) => `${(fuel / 1e6).toFixed(1)} M`;

async function packages(flags: { json?: boolean; language?: RuntimeName }): Promise<void> {
  const { listPackages } = await import('./runtimes/listing.ts');
  const listed = listPackages(flags.language);
  if (flags.json) {
    process.stdout.write(`${JSON.stringify(listed, null, 2)}\n`);
    return;
  }
  const rows = listed.map((one) => [
    one.name,
    one.version,
    one.import_names.join(', '),
    one.available ? `${millions(one.fuel_first_import)}${one.heavy ? ' heavy' : ''}` : 'MISSING',
    one.available ? one.use : `${one.problem}; mend that and run "npm run build"`,
  ]);
  const head = ['PACKAGE', 'VERSION', 'IMPORT', 'FIRST IMPORT', 'USE'];
  const widths = head.map((title, i) =>
    Math.max(...[head, ...rows].map((row) => row[i]!.length), title.length),
  );
  for (const row of [head, ...rows])
    console.log(
      row
        .map((cell, i) => cell.padEnd(widths[i]!))
        .join('  ')
        .trimEnd(),
    );
}

function version(): string {
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version;
}

const program = new Command('llm-wasm-sandbox')
  .description('Run LLM-written Python and JavaScript in a sealed, metered WebAssembly guest.')
  .version(version())
  .showHelpAfterError('(add --help for usage)')
  .configureOutput({ writeErr: (text) => process.stderr.write(text) });

program
  .command('run')
  .description('run a program and exit with its exit code')
  .argument('[FILE]', 'program to run; "-" reads it from standard input')
  .option('-c, --code <CODE>', 'program text instead of a file')
  .addOption(
    new Option('-l, --language <NAME>', 'language; by default from the file name, else python').choices(
      RUNTIME_NAMES,
    ),
  )
  .option('--json', 'print the result as JSON and nothing else')
  .option('--fuel <N>', 'instructions it may execute, e.g. 20G', quantity, DEFAULTS.fuel_budget)
  .option('--memory <BYTES>', 'memory it may use, e.g. 512Mi', quantity, DEFAULTS.memory_bytes)
  .option('--timeout <SECONDS>', 'time it may take', positive, DEFAULTS.timeout_seconds)
  .option('--stdin <FILE>', 'what it reads from standard input; "-" passes ours on')
  .option('--mount <HOST:GUEST>', 'read-only copy of a host path; repeatable', mountFlag, [])
  .option('--preload <NAMES>', 'modules to have loaded from the start, e.g. openpyxl,jinja2', listFlag, [])
  .option('--packages <PATH>', 'wheel, or folder of wheels or sources, to add; repeatable', pathFlag, [])
  .option('--no-setup', 'run the code exactly as written, without packages and helpers')
  .option('--out <DIR>', 'copy files it created or modified here')
  .option('--deterministic', 'same output and same fuel on any machine: virtual clock, seeded randomness')
  .option('--seed <N>', 'seed of deterministic mode, which it turns on', quantity)
  .action(run);

program
  .command('packages')
  .description('list what programs can import and what that costs in fuel')
  .option('--json', 'print it as JSON')
  .addOption(new Option('-l, --language <NAME>', 'only of this language').choices(RUNTIME_NAMES))
  .action(packages);

program.command('doctor').description('check the installation and say what to do').action(doctor);

addServerCommands(program, { version: version(), quantity, readText: (path) => readFileSync(path, 'utf8') });

// A reader that stops early, such as head, is no fault.
process.stdout.on('error', (cause: NodeJS.ErrnoException) => {
  if (cause.code !== 'EPIPE') throw cause;
  process.exit(0);
});

try {
  // A client that starts us without a command and talks to our standard input speaks MCP.
  const isPiped = process.argv.length === 2 && !process.stdin.isTTY;
  await program.parseAsync(isPiped ? [...process.argv, 'mcp'] : process.argv);
} catch (cause) {
  const isUsage =
    cause instanceof UsageError || (cause instanceof SandboxError && cause.code === 'invalid_argument');
  process.stderr.write(`llm-wasm-sandbox: ${cause instanceof Error ? cause.message : String(cause)}\n`);
  process.exitCode = isUsage ? EXIT_USAGE : EXIT_FAULT;
}
