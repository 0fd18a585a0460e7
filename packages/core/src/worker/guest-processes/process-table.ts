/**
 * The processes of one call. The program of the call is the first; the others are guests in the same thread, with its file tree
 * and what is left of its fuel, time and memory. One guest runs at a time: a child runs to its end inside a system call of
 * another process. All processes have ended when the call ends, however it ends.
 */
import type {
  ChildProgram,
  ForkedProgram,
  ProcessProgram,
  ResolvedProgram,
  ResolveProgram,
} from '../../engine/child-program.ts';
import type { Guest } from '../../engine/guest.ts';
import { MemoryAccount } from '../../engine/memory-account.ts';
import { type GuestStop, GuestStopped } from '../../engine/run-context.ts';
import type { BaseDirectory } from '../../fs/resolve-path.ts';
import { type CallEnvironment, NO_CALL } from '../../kernel/call-environment.ts';
import { DescriptorTable } from '../../kernel/descriptors.ts';
import { type PipeBuffer, shortenPipe } from '../../kernel/pipe.ts';
import {
  type DirectoryUser,
  type EndedProcess,
  type ExecRequest,
  MAX_ARGUMENT_BYTES,
  MAX_ARGUMENTS,
  MAX_ENDED_CHILDREN,
  MAX_SIGNAL,
  type Processes,
  SIGNAL,
  type SpawnRequest,
} from '../../kernel/processes.ts';
import { isSyscallError, syscallError } from '../../kernel/syscall-error.ts';
import type { GuestToolCalls } from '../thread/guest-tool-calls.ts';

const MAX_DEPTH = 8;
const MAX_PROCESSES = 1000;
/** Guests that exist at a time, processes that have not started, and processes that run inside system calls of each other. */
const MAX_LIVE = 16;
/** Fuel for starting a process, besides what its program copies. */
const START_FUEL = 1_000_000;
/** Numbers of processes differ from call to call of a session. */
const PIDS_PER_CALL = MAX_PROCESSES + 1;
const MAX_PID_BLOCKS = 4000;
const FIRST_PID = 42;

const DEADLOCK =
  'sandbox: the process was to wait for a process that waits for it. A process runs to its end before the one that started it continues: write all input and close it before you read the output.\n';
const FULL_PIPE =
  'sandbox: a pipe holds at most 16 MiB, and its reader cannot run before its writer ends. Use a file for more data.\n';
const NO_MEMORY =
  'sandbox: there is not enough memory for another process; all processes of a call share its memory limit.\n';

/** Signals that do not end a process by default. The kernel has no job control. */
const IGNORED: readonly number[] = [
  0,
  SIGNAL.CHLD,
  SIGNAL.CONT,
  SIGNAL.STOP,
  SIGNAL.TSTP,
  SIGNAL.URG,
  SIGNAL.WINCH,
];

const encoder = new TextEncoder();

interface Process {
  readonly pid: number;
  readonly parent: Process | undefined;
  readonly depth: number;
  /** Its directories and descriptors: those of its kernel, once it has one. */
  user: DirectoryUser;
  umask: number;
  state: 'pending' | 'running' | 'ended';
  /** What it runs next: a program to start, or one that was forked. */
  next: ProcessProgram<Guest> | ChildProgram<Guest> | undefined;
  guest: Guest | undefined;
  timeoutMs: number;
  status: number;
  /** It was stopped because its parent stopped waiting. To its parent, it runs until it is killed. */
  overdue: 'no' | 'hidden' | 'seen';
  /** How often its parent has asked whether it has ended. */
  questions: number;
}

/** A process that has a guest, because it runs or was forked. */
const isLive = ({ state, guest }: Process) => state !== 'ended' && guest !== undefined;

const has = (fds: DescriptorTable, pipe: PipeBuffer, end: 'read' | 'write') =>
  fds.slots.some((file) => file?.kind === 'pipe' && file.pipe === pipe && file.end === end);

/** The pipes that a process can read. */
function pipesReadBy({ user }: Process): Set<PipeBuffer> {
  const pipes = new Set<PipeBuffer>();
  for (const file of user.fds.slots) if (file?.kind === 'pipe' && file.end === 'read') pipes.add(file.pipe);
  return pipes;
}

function checkTexts(texts: readonly string[]): void {
  let bytes = 0;
  for (const text of texts) bytes += Buffer.byteLength(text) + 1;
  if (texts.length > MAX_ARGUMENTS || bytes > MAX_ARGUMENT_BYTES) throw syscallError('E2BIG');
  if (texts.some((text) => text.includes('\0'))) throw syscallError('EINVAL');
}

const SIGNAL_OF: Partial<Record<GuestStop['reason'], number>> = {
  memory_limit: SIGNAL.KILL,
  stack_overflow: SIGNAL.SEGV,
  unreachable: SIGNAL.ABRT,
  denied_call: SIGNAL.ILL,
};

function statusOf({ reason, exitCode, signal }: GuestStop): number {
  if (reason === 'exit') return ((exitCode ?? 0) & 0xff) << 8;
  return signal ?? SIGNAL_OF[reason] ?? SIGNAL.KILL;
}

export class ProcessTable {
  readonly #top: Process;
  /** The children that their parents have not waited for, in the order of their numbers. */
  #processes: Process[] = [];
  /** The running process last; the others wait for it. */
  readonly #stack: Process[];
  #started = 0;
  #isOver = false;
  #isTelling = false;
  readonly #memory: MemoryAccount;

  constructor(
    top: Guest,
    memoryBytes: number,
    readonly resolve: ResolveProgram<Guest>,
    /** What the program of the call is provided with. Its processes have no results, and of its tools only requests. */
    readonly call: CallEnvironment<GuestToolCalls> = NO_CALL,
  ) {
    const { kernel } = top;
    this.#top = {
      pid: FIRST_PID,
      parent: undefined,
      depth: 0,
      user: kernel,
      umask: kernel.umask,
      state: 'running',
      next: undefined,
      guest: top,
      timeoutMs: 0,
      status: 0,
      overdue: 'no',
      questions: 0,
    };
    this.#stack = [this.#top];
    this.#processes = kernel.endedChildren.map(({ pid, status }) => ({
      ...this.#top,
      pid,
      status,
      parent: this.#top,
      depth: 1,
      user: { cwd: '/', fds: new DescriptorTable() },
      state: 'ended',
      guest: undefined,
    }));
    this.#memory = new MemoryAccount(memoryBytes, () => kernel.pipeAccount.bytes);
    top.memoryLimit.countIn(this.#memory);
    kernel.pipeAccount.freeBytes = () => this.#memory.freeBytes;
    kernel.beginCall({ ...call, processes: this.#callsOf(this.#top) });
    top.fork = (create) => this.#fork(this.#top, create);
  }

  /** The largest sum of the memory that all processes and pipes took at a time. */
  get peakBytes(): number {
    return this.#memory.peakBytes;
  }

  /** How many processes the call has started. */
  get started(): number {
    return this.#started;
  }

  /** Runs what has not run when the program of the call has returned. `keeps`: its interpreter and its descriptors live on. */
  finish(keeps: boolean): void {
    if (this.#started === 0) return;
    const guest = this.#top.guest!;
    const { kernel, limitReached } = guest;
    this.#isOver = true;
    if (!keeps) kernel.closeAll(kernel.fds);
    // A program that has returned after a limit has left nothing half done, and nothing more runs.
    if (limitReached !== undefined) return;
    for (const process of [...this.#processes]) this.#runPending(process);
    const reason = guest.limitReached;
    if (reason !== undefined) guest.stop({ reason, message: reason });
  }

  /** Ends everything that is left, without running it. */
  close(): void {
    const { kernel } = this.#top.guest!;
    for (const process of this.#processes) if (process.state !== 'ended') this.#end(process, SIGNAL.HUP);
    kernel.endedChildren = this.#processes
      .filter(({ parent }) => parent === this.#top)
      .map(({ pid, status }) => ({ pid, status }))
      .slice(-MAX_ENDED_CHILDREN);
    this.#processes = [];
    kernel.endCall();
    kernel.pipeAccount.freeBytes = undefined;
    this.#top.guest!.memoryLimit.countIn(undefined);
    this.#top.guest!.fork = undefined;
    // Between calls, a pipe holds no more than one that a process uses alone.
    for (const file of kernel.fds.slots)
      if (file?.kind === 'pipe') shortenPipe(file.pipe, kernel.pipeAccount);
  }

  #callsOf(process: Process): Processes {
    const table = this;
    return {
      pid: process.pid,
      parentPid: process.parent?.pid ?? 1,
      spawn: (request) => table.#spawn(process, request),
      exec: (request) => table.#exec(process, request),
      wait: (pid, options) => table.#wait(process, pid, options),
      kill: (pid, signal) => table.#kill(process, pid, signal),
      die: (signal) => table.#die(process, signal),
      fill: (pipe) => table.#fill(process, pipe),
      isShared: (pipe) => table.#others(process).some(({ user }) => has(user.fds, pipe, 'read')),
      onFull: (pipe) => table.#onFull(process, pipe),
      runFor: (pipes, timeoutMs) => table.#runWriter(pipes, timeoutMs),
      isWaitedFor: (pipes) =>
        table.#others(process).some(({ user }) => pipes.some((pipe) => has(user.fds, pipe, 'write'))),
      runReady: () => {
        if (table.#processes.length > 0) table.#runReady();
      },
      get directoryUsers() {
        return [table.#top, ...table.#processes]
          .filter(({ state }) => state !== 'ended')
          .map(({ user }) => user);
      },
    };
  }

  get #running(): Process {
    return this.#stack.at(-1)!;
  }

  /** Whether the running process has reached a limit of the call. No other process starts then. */
  get #isLimited(): boolean {
    return this.#running.guest!.limitReached !== undefined;
  }

  /** Whether a process can start inside the running one: all of them share the stack of the thread. */
  get #mayStart(): boolean {
    return !this.#isLimited && this.#stack.length < MAX_LIVE;
  }

  #others(process: Process): Process[] {
    return [this.#top, ...this.#processes].filter((other) => other !== process && other.state !== 'ended');
  }

  // ---- creating ----

  /** Checks the limits and makes room for a process. */
  #admit(parent: Process): void {
    const { limitReached } = parent.guest!;
    if (limitReached !== undefined || parent.depth >= MAX_DEPTH) throw syscallError('EAGAIN');
    if (this.#started >= MAX_PROCESSES) throw syscallError('EAGAIN');
    const pending = () => this.#processes.filter(({ state }) => state === 'pending');
    if (pending().length >= MAX_LIVE) this.#runReady();
    if (pending().length >= MAX_LIVE) throw syscallError('EAGAIN');
  }

  #add(parent: Process, fields: Pick<Process, 'user' | 'next' | 'timeoutMs' | 'guest'>): number {
    const { kernel } = this.#top.guest!;
    this.#started++;
    const pid = FIRST_PID + (kernel.calls % MAX_PID_BLOCKS) * PIDS_PER_CALL + this.#started;
    this.#processes.push({
      ...fields,
      pid,
      parent,
      depth: parent.depth + 1,
      umask: parent.guest!.kernel.umask,
      state: 'pending',
      status: 0,
      overdue: 'no',
      questions: 0,
    });
    return pid;
  }

  #spawn(parent: Process, request: SpawnRequest): number {
    const { kernel } = parent.guest!;
    const { argv, env, cwd, fds, inheritsAll, timeoutMs } = request;
    checkTexts([...argv, ...env]);
    kernel.chargeHostTime(20 + (argv.length + env.length) / 10);
    this.#admit(parent);
    const directory = cwd === undefined ? kernel.cwd : this.#directory(parent, cwd);
    const next = this.resolve(kernel.volume, directory, request);
    const table = inheritsAll ? kernel.fds.copy(true) : new DescriptorTable();
    try {
      for (const { child, parent: from } of fds) kernel.setDescriptor(table, child, from);
    } catch (cause) {
      kernel.closeAll(table);
      throw cause;
    }
    return this.#add(parent, {
      user: { cwd: directory, fds: table },
      next,
      timeoutMs: timeoutMs ?? 0,
      guest: undefined,
    });
  }

  #directory({ guest }: Process, path: string): BaseDirectory {
    const { kernel } = guest!;
    const before = kernel.cwd;
    try {
      kernel.chdir(path);
      return kernel.cwd;
    } finally {
      kernel.cwd = before;
    }
  }

  /** Creates a copy of a process. `create` copies its guest. */
  #fork(parent: Process, create: ForkedProgram<Guest>): number {
    this.#admit(parent);
    const guest = parent.guest!;
    const { kernel } = guest;
    const live = () => [this.#top, ...this.#processes].filter(isLive).length;
    if (live() >= MAX_LIVE) this.#runReady();
    if (live() >= MAX_LIVE) throw syscallError('EAGAIN');
    const program = create(this.#memory);
    program.guest.memoryLimit.countIn(this.#memory);
    guest.charge(START_FUEL + program.startFuel);
    const user = { cwd: kernel.cwd, fds: kernel.fds.copy(false) };
    return this.#add(parent, { user, next: program, timeoutMs: 0, guest: program.guest });
  }

  /** Continues with another program. The program of the call runs it as a child and then exits. */
  #exec(process: Process, request: ExecRequest): never {
    const guest = process.guest!;
    const { kernel } = guest;
    checkTexts([...request.argv, ...request.env]);
    kernel.chargeHostTime(20);
    if (guest.limitReached !== undefined) throw syscallError('EAGAIN');
    if (process !== this.#top) {
      process.next = this.resolve(kernel.volume, kernel.cwd, request);
      return guest.stop({ reason: 'replaced', message: 'replaced by another program' });
    }
    const pid = this.#spawn(process, { ...request, inheritsAll: true, fds: [] });
    const { status } = this.#wait(process, pid, {})!;
    return guest.exit((status & 0x7f) === 0 ? status >> 8 : 128 + (status & 0x7f));
  }

  // ---- running ----

  /** Runs a process to its end, after those that can write to the pipes it reads. */
  #runPending(process: Process, timeoutMs = Number.POSITIVE_INFINITY, started = new Set<Process>()): void {
    if (process.state !== 'pending' || started.has(process)) return;
    started.add(process);
    for (const pipe of pipesReadBy(process))
      for (const writer of this.#processes)
        if (writer !== process && has(writer.user.fds, pipe, 'write'))
          this.#runPending(writer, timeoutMs, started);
    if (process.state === 'pending' && this.#mayStart) this.#run(process, timeoutMs);
  }

  #run(process: Process, timeoutMs: number): void {
    const runner = this.#running.guest!;
    process.state = 'running';
    this.#stack.push(process);
    const startedMs = runner.monotonic();
    let status: number = SIGNAL.KILL;
    try {
      while (process.next !== undefined && runner.limitReached === undefined)
        status = this.#runProgram(process, runner, timeoutMs, runner.monotonic() - startedMs);
    } finally {
      this.#stack.pop();
      this.#end(process, status);
    }
    this.#runOrphans(process);
  }

  /** Runs the program that a process is to run next, and returns its status. The time of earlier programs counts. */
  #runProgram(process: Process, runner: Guest, timeoutMs: number, usedMs: number): number {
    const found = process.next!;
    process.next = undefined;
    const next = 'perform' in found ? found.perform(runner, process.user.fds) : found;
    if ('message' in next) {
      this.#tell(process, runner, next.message);
      return next.exitCode << 8;
    }
    const program = 'guest' in next ? next : this.#start(process, next, runner);
    if (program === undefined) return SIGNAL.KILL;
    const limitMs = process.timeoutMs > 0 ? process.timeoutMs : Number.POSITIVE_INFINITY;
    const stop = this.#runGuest(process, program, runner, Math.min(timeoutMs, limitMs) - usedMs);
    // The call ends, whatever the processes are that wait for each other.
    const { stopped } = this.#top.guest!;
    if (stopped !== undefined) return runner.stop(stopped);
    if (stop.reason === 'internal') return runner.stop(stop);
    if (stop.reason === 'replaced') this.#closeForExec(process, runner);
    if (stop.reason !== 'overdue') return statusOf(stop);
    if (limitMs <= timeoutMs) return SIGNAL.ALRM;
    process.overdue = 'hidden';
    return SIGNAL.KILL;
  }

  /** Runs the guest of a program as a child of the running guest. */
  #runGuest(process: Process, program: ChildProgram<Guest>, runner: Guest, timeoutMs: number): GuestStop {
    const { guest } = program;
    const { kernel } = guest;
    const requests = this.call.tools?.forChild(guest);
    process.guest = guest;
    try {
      runner.beginChild(guest, timeoutMs);
      this.#connect(process, guest, requests);
      return stopOf(program);
    } finally {
      process.user = { cwd: kernel.cwd, fds: kernel.fds };
      process.umask = kernel.umask;
      process.guest = undefined;
      guest.fork = undefined;
      kernel.endCall();
      requests?.close();
      kernel.fds = new DescriptorTable();
      try {
        runner.endChild(guest);
      } finally {
        release(program);
      }
    }
  }

  #closeForExec({ user }: Process, { kernel }: Guest): void {
    const kept = user.fds.copy(true);
    kernel.closeAll(user.fds);
    user.fds = kept;
  }

  /** Creates the guest of a process; undefined if there is no memory for it. */
  #start(process: Process, found: ResolvedProgram<Guest>, runner: Guest): ChildProgram<Guest> | undefined {
    try {
      const program = found.start(this.#memory);
      program.guest.memoryLimit.countIn(this.#memory);
      runner.charge(START_FUEL + program.startFuel);
      return program;
    } catch (cause) {
      // RangeError: the host has no address space for another memory.
      if (!(isSyscallError(cause) || cause instanceof RangeError))
        runner.stop({ reason: 'internal', message: String(cause) });
      this.#tell(process, runner, NO_MEMORY);
      return undefined;
    }
  }

  #connect(process: Process, guest: Guest, tools: GuestToolCalls | undefined): void {
    const { kernel } = guest;
    const { volume, pipeAccount } = this.#top.guest!.kernel;
    const { user, umask } = process;
    kernel.beginCall(
      { ...this.call, tools, hasResults: false, processes: this.#callsOf(process) },
      { cwd: user.cwd, fds: user.fds, umask, volume, pipeAccount },
    );
    guest.fork = (create) => this.#fork(process, create);
    process.user = kernel;
  }

  /** Records the end of a process and closes its descriptors. */
  #end(process: Process, status: number): void {
    const { kernel } = this.#top.guest!;
    if (process.state === 'ended') return;
    const { next } = process;
    if (next !== undefined && 'guest' in next) release(next);
    process.next = undefined;
    process.guest = undefined;
    process.state = 'ended';
    process.status = status;
    kernel.closeAll(process.user.fds);
  }

  /** The children of a process that has ended run; nobody waits for them. */
  #runOrphans(parent: Process): void {
    for (const process of [...this.#processes]) {
      if (process.parent !== parent) continue;
      this.#runPending(process);
      if (process.state === 'pending') this.#end(process, SIGNAL.HUP);
      this.#forget(process);
    }
  }

  #forget(process: Process): void {
    this.#processes = this.#processes.filter((other) => other !== process);
  }

  /** Runs the processes that wait for no input of a process that cannot run. */
  #runReady(): void {
    for (const process of [...this.#processes])
      if (process.state === 'pending' && this.#isReady(process)) this.#runPending(process);
  }

  #isReady(process: Process): boolean {
    const busy = [this.#top, ...this.#processes].filter(({ state }) => state === 'running');
    return [...pipesReadBy(process)].every(
      (pipe) => pipe.writers === 0 || busy.every(({ user }) => !has(user.fds, pipe, 'write')),
    );
  }

  /** Writes to the standard error of a process. What has no room in a pipe is lost: a full pipe would be reported again. */
  #tell({ user }: Process, { kernel }: Guest, text: string): void {
    if (this.#isTelling) return;
    const before = kernel.fds;
    kernel.fds = user.fds;
    this.#isTelling = true;
    try {
      kernel.write(2, encoder.encode(text));
    } catch (cause) {
      if (!isSyscallError(cause)) throw cause;
    } finally {
      this.#isTelling = false;
      kernel.fds = before;
    }
  }

  // ---- pipes ----

  /** Runs a process that has not started and can write to one of the pipes. */
  #runWriter(pipes: readonly PipeBuffer[], timeoutMs: number): boolean {
    const writer = this.#processes.find(
      ({ state, user }) => state === 'pending' && pipes.some((pipe) => has(user.fds, pipe, 'write')),
    );
    if (writer === undefined || !this.#mayStart) return false;
    this.#runPending(writer, timeoutMs);
    return true;
  }

  /** Returns true if the reader is at the end of its input, because the program of the call has ended. */
  #fill(reader: Process, pipe: PipeBuffer): boolean {
    while (pipe.length === 0 && pipe.writers > 0 && this.#runWriter([pipe], Number.POSITIVE_INFINITY));
    if (pipe.length > 0 || pipe.writers === 0) return false;
    if (this.#isLimited) throw syscallError('EINTR');
    const waiting = this.#others(reader).filter(({ user }) => has(user.fds, pipe, 'write'));
    if (waiting.length === 0) return false;
    if (this.#isOver && waiting.every((process) => process === this.#top)) return true;
    this.#tell(reader, reader.guest!, DEADLOCK);
    throw syscallError('EDEADLK');
  }

  #onFull(writer: Process, pipe: PipeBuffer): never {
    const readers = this.#others(writer).filter(({ user }) => has(user.fds, pipe, 'read'));
    // A reader gets what is in the pipe, and then an error.
    pipe.isCutOff = true;
    if (readers.some(({ state }) => state === 'running')) throw syscallError('EPIPE');
    this.#tell(writer, writer.guest!, FULL_PIPE);
    throw syscallError('EDEADLK');
  }

  // ---- waiting and signals ----

  #wait(
    parent: Process,
    pid: number,
    { noHang = false, timeoutMs }: { noHang?: boolean; timeoutMs?: number | undefined },
  ): EndedProcess | undefined {
    parent.guest!.kernel.chargeHostTime(2);
    const children = this.#processes.filter(
      (each) => each.parent === parent && (pid === -1 || each.pid === pid),
    );
    if (children.length === 0) throw syscallError('ECHILD');
    const ended = children.find(({ state }) => state === 'ended');
    const child = ended ?? children[0]!;
    if (child.state === 'pending' && (!noHang || this.#isPolled(child, pid)))
      this.#runPending(child, noHang ? undefined : timeoutMs);
    if (child.state !== 'ended' && !noHang) throw syscallError(this.#isLimited ? 'EINTR' : 'EAGAIN');
    if (child.state !== 'ended') return undefined;
    if (child.overdue !== 'no' && timeoutMs !== undefined) return undefined;
    if (child.overdue === 'hidden' && noHang) {
      child.overdue = 'seen';
      return undefined;
    }
    this.#forget(child);
    return { pid: child.pid, status: child.status };
  }

  /** A process that is asked for again and again has to run. Two questions may precede a signal: Popen.kill asks one itself. */
  #isPolled(child: Process, pid: number): boolean {
    child.questions++;
    return child.questions > 2 && pid !== -1 && this.#isReady(child);
  }

  #kill(sender: Process, pid: number, signal: number): void {
    if (!Number.isInteger(signal) || signal < 0 || signal > MAX_SIGNAL) throw syscallError('EINVAL');
    if (pid === sender.pid) {
      if (!IGNORED.includes(signal)) this.#die(sender, signal);
      return;
    }
    const target = this.#processes.find((process) => process.pid === pid);
    if (target === undefined) throw syscallError(pid === this.#top.pid ? 'EPERM' : 'ESRCH');
    if (IGNORED.includes(signal)) return;
    if (target.state === 'running') throw syscallError('EPERM');
    if (target.state === 'pending') this.#end(target, signal);
    else if (target.overdue !== 'no') {
      target.overdue = 'no';
      target.status = signal;
    }
  }

  #die(process: Process, signal: number): never {
    const guest = process.guest!;
    if (process === this.#top) return guest.exit(128 + signal);
    return guest.stop({ reason: 'signal', message: `signal ${signal}`, signal });
  }
}

/** Gives the memory of a program back to the call. */
function release(program: ChildProgram<Guest>): void {
  program.guest.memoryLimit.countIn(undefined);
  program.release();
}

/** Runs a program and returns how it stopped. */
function stopOf(program: ChildProgram<Guest>): GuestStop {
  const { guest } = program;
  try {
    const exitCode = program.run();
    const reason = guest.limitReached;
    return reason === undefined ? { reason: 'exit', message: '', exitCode } : { reason, message: reason };
  } catch (cause) {
    if (cause instanceof GuestStopped) return cause.stop;
    // The report of the runtime cannot be read.
    if (isSyscallError(cause)) return { reason: 'unreachable', message: '' };
    return { reason: 'internal', message: String(cause) };
  }
}
