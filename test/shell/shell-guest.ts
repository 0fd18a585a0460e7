/** Runs shell programs in bash and the other C programs as guests, on the real process table. */
import { MemoryAccount } from '../../packages/core/src/engine/memory-account.ts';
import { GuestStopped, UNLIMITED_RUN } from '../../packages/core/src/engine/run-context.ts';
import { readOnlyTree } from '../../packages/core/src/fs/flat-entries.ts';
import { Volume } from '../../packages/core/src/fs/volume.ts';
import { syscallError } from '../../packages/core/src/kernel/syscall-error.ts';
import { programCommands } from '../../packages/core/src/runtimes/programs/program-list.ts';
import { startCommand } from '../../packages/core/src/runtimes/programs/start-command.ts';
import { ProcessTable } from '../../packages/core/src/worker/guest-processes/process-table.ts';
import type { ShellResult } from './corpus.ts';

const MEMORY_BYTES = 2 ** 28;
const LIMITS = { memory_bytes: MEMORY_BYTES, max_processes: 10_000, max_process_depth: 100 };
const ENV = ['PATH=/usr/bin:/bin', 'HOME=/app', 'PWD=/app', 'LANG=C.UTF-8'];

const commandFiles = () =>
  programCommands().map((path) => ({
    path,
    kind: 'file' as const,
    mode: 0o755,
    mtimeMs: 0,
    data: new Uint8Array([10]),
  }));

function createVolume(files: Readonly<Record<string, string>>): Volume {
  const volume = new Volume({ maxBytes: 2 ** 28, maxFiles: 10_000 }, () => Date.now());
  volume.mount('/usr/bin', readOnlyTree(commandFiles(), 30));
  volume.mount('/bin', readOnlyTree(commandFiles(), 31));
  for (const [name, text] of Object.entries(files)) {
    const { node } = volume.open(`/app/${name}`, '/', { create: true, write: true }, 0o644);
    volume.write(node, 0, new TextEncoder().encode(text));
  }
  return volume;
}

/** The program of a path: a command, or a script of the workspace, which bash runs. */
function commandOf(volume: Volume, cwd: Parameters<Volume['lookup']>[1], path: string) {
  const node = volume.lookup(path.includes('/') ? path : `/usr/bin/${path}`, cwd, true);
  if (node.kind !== 'file' || (node.mode & 0o111) === 0) throw syscallError('EACCES');
  return node.readonly ? path.slice(path.lastIndexOf('/') + 1) : undefined;
}

export function runInGuests(
  code: string,
  files: Readonly<Record<string, string>>,
): ShellResult & { fuel: number } {
  const output: Uint8Array[] = [];
  const volume = createVolume(files);
  const program = startCommand(
    'bash',
    { argv: ['bash', '-c', code], env: ENV },
    new MemoryAccount(MEMORY_BYTES, () => 0),
  );
  const guest = program.guest!;
  guest.beginRun({
    ...UNLIMITED_RUN,
    fuelBudget: 50e9,
    deterministic: { startMs: Date.UTC(2026, 0, 1), seed: 1 },
    output: (stream, bytes) => void (stream === 1 && output.push(bytes.slice())),
  });
  guest.kernel.volume = volume;
  const table = new ProcessTable(guest, LIMITS, (_, cwd, request) => {
    const name = commandOf(volume, cwd, request.path);
    const argv = name === undefined ? ['bash', request.path, ...request.argv.slice(1)] : request.argv;
    return { isNested: false, start: (memory) => startCommand(name ?? 'bash', { ...request, argv }, memory) };
  });
  let exit_code = -1;
  try {
    exit_code = program.run(0) ?? -1;
  } catch (cause) {
    if (!(cause instanceof GuestStopped)) throw cause;
    exit_code = cause.stop.exitCode ?? -1;
  }
  table.finish(false);
  table.close();
  return { stdout: Buffer.concat(output).toString(), exit_code, fuel: guest.fuelConsumed };
}
