/**
 * The processes of one call. The program of the call is the first; the others are guests in the same thread, with its file tree
 * and what is left of its fuel, time and memory. One guest runs at a time. A C program that has to wait leaves its stack, and
 * others run. Other programs wait inside of a system call, in which others run. All processes have ended when the call ends.
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
import { MemoryCopy } from '../../engine/memory-copy.ts';
import { type GuestStop, GuestStopped } from '../../engine/run-context.ts';
import type { BaseDirectory } from '../../fs/resolve-path.ts';
import { type CallEnvironment, NO_CALL } from '../../kernel/call-environment.ts';
import { DescriptorTable } from '../../kernel/descriptors.ts';
import {
  hasRoomForWrites,
  isYieldDue,
  MAX_PIPE_BYTES,
  type PipeBuffer,
  shortenPipe,
} from '../../kernel/pipe.ts';
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
import { BYTES_PER_FUEL, dropIdleGuests } from '../../runtimes/programs/suspendable-program.ts';
import type { GuestToolCalls } from '../thread/guest-tool-calls.ts';

/** Processes that have not ended. */
const MAX_ALIVE = 4096;
/** Guests of processes that wait; the memory of others is only a copy. */
const MAX_WAITING_GUESTS = 16;
/** Processes that run inside system calls of each other: all of them share the stack of the thread. */
const MAX_NESTED = 16;
/** Fuel for starting a process, besides what its program copies. */
const START_FUEL = 1_000_000;
/** Fuel for looking at a process when another one is to run. */
const LOOK_FUEL = 10;
/** Numbers of processes differ from call to call of a session. */
const PIDS_PER_CALL = 1001;
const MAX_PIDS = 4000 * PIDS_PER_CALL;
const FIRST_PID = 42;

const DEADLOCK =
  'sandbox: all processes wait for each other. A process of python3 or node cannot wait for a process that waits for it: write all input and close it before you read the output.\n';
const FULL_PIPE =
  'sandbox: a pipe holds at most 16 MiB if its reader, or its writer, is python3 or node and the other one has to wait for it. Use a file for more data.\n';
const NO_MEMORY =
  'sandbox: there is not enough memory for another process; all processes of a call share its memory limit.\n';

/** How many processes a call may start, and how deeply they may start each other. */
export interface ProcessLimits {
  readonly max_processes: number;
  readonly max_process_depth: number;
}

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

type Nested = boolean | 'independent';

interface RunOptions {
  /** Whether programs run that cannot leave their stack. `independent`: if they read nothing that a process on the stack writes. */
  readonly nested?: Nested;
  readonly untilMs?: number;
  readonly eachOnce?: boolean;
}

/** What a process waits for. */
interface Wait {
  isReady(): boolean;
  /** The pipe in which it waits for room. */
  readonly fullPipe?: PipeBuffer | undefined;
  /** When it stops waiting, on the monotonic clock. */
  readonly untilMs: number;
}

interface Process {
  readonly pid: number;
  readonly parent: Process | undefined;
  readonly depth: number;
  /** Its directories and descriptors: those of its kernel while it runs. */
  user: DirectoryUser;
  umask: number;
  /** `running`: its frames are on the stack of the thread. `waiting`: it has left its stack. */
  state: 'pending' | 'running' | 'waiting' | 'ended';
  /** The program that it starts next. */
  next: ProcessProgram<Guest> | undefined;
  /** The program that it continues: it has been forked, or waits. */
  program: ChildProgram<Guest> | undefined;
  /** The last copy of its memory. Later copies share what has not changed. */
  copy: MemoryCopy | undefined;
  /** Set while it runs. */
  guest: Guest | undefined;
  /** Whether the program that runs can leave its stack to wait. */
  canLeave: boolean;
  /** Whether its program is a C program, which often goes on after a failure. */
  isSilent: boolean;
  wait: Wait | undefined;
  /** A signal that it has not received. */
  signal: number;
  /** When it has run last, in the order of runs. */
  turn: number;
  readonly timeoutMs: number;
  /** When its own time limit ends. Undefined: it has not run. */
  endsMs: number | undefined;
  status: number;
  /** It was stopped because its parent stopped waiting. To its parent, it runs until it is killed. */
  overdue: 'no' | 'hidden' | 'seen';
  /** How often its parent has asked whether it has ended. */
  questions: number;
}

const NEW_PROCESS = {
  next: undefined,
  program: undefined,
  copy: undefined,
  guest: undefined,
  canLeave: false,
  isSilent: false,
  wait: undefined,
  signal: 0,
  timeoutMs: 0,
  endsMs: undefined,
  status: 0,
  overdue: 'no',
  questions: 0,
} as const;

/** Whether a process would wait inside of the system call in which it is started. */
const isNested = ({ next, program }: Process) =>
  program === undefined
    ? next !== undefined && 'isNested' in next && next.isNested
    : program.suspension === undefined;

const has = (fds: DescriptorTable, pipe: PipeBuffer, end: 'read' | 'write') =>
  fds.slots.some((file) => file?.kind === 'pipe' && file.pipe === pipe && file.end === end);

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
  #turns = 0;
  #isOver = false;
  #isReclaiming = false;
  #isTelling = false;
  readonly #memory: MemoryAccount;

  constructor(
    top: Guest,
    readonly limits: ProcessLimits & { readonly memory_bytes: number },
    readonly resolve: ResolveProgram<Guest>,
    /** What the program of the call is provided with. Its processes have no results, and of its tools only requests. */
    readonly call: CallEnvironment<GuestToolCalls> = NO_CALL,
  ) {
    const { kernel } = top;
    this.#top = {
      ...NEW_PROCESS,
      pid: FIRST_PID,
      parent: undefined,
      depth: 0,
      user: kernel,
      umask: kernel.umask,
      state: 'running',
      guest: top,
      isSilent: top.linkage.goesOn === true,
      turn: 0,
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
    this.#memory = new MemoryAccount(limits.memory_bytes, () => kernel.pipeAccount.bytes);
    this.#memory.reclaim = (bytes) => this.#reclaim(bytes);
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
    this.#runOthers(this.#top, () => this.#processes.every(({ state }) => state === 'ended'));
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
    this.#top.copy = undefined;
    dropIdleGuests(this.#memory);
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
      capacityOf: (pipe) => table.#capacityOf(process, pipe),
      waitFor: (isReady, timeoutMs) => table.#waitFor(process, isReady, timeoutMs),
      get canLeave() {
        return process.canLeave;
      },
      runSuspendable: (isReady) => table.#runOthers(process, isReady, { nested: false }),
      sleep: (milliseconds) => table.#sleep(process, milliseconds),
      deadlock: () => table.#deadlock(process),
      get directoryUsers() {
        return [table.#top, ...table.#processes]
          .filter(({ state }) => state !== 'ended')
          .map(({ user }) => user);
      },
    };
  }

  /** The guest that runs, or in whose system call others run. */
  get #runner(): Guest {
    return this.#stack.findLast(({ guest }) => guest !== undefined)!.guest!;
  }

  /** Whether the running process has reached a limit of the call. No other process starts then. */
  get #isLimited(): boolean {
    return this.#runner.limitReached !== undefined;
  }

  #others(process: Process): Process[] {
    return [this.#top, ...this.#processes].filter((other) => other !== process && other.state !== 'ended');
  }

  // ---- creating ----

  /** Checks the limits. */
  #admit(parent: Process): void {
    if (parent.guest!.limitReached !== undefined) throw syscallError('EAGAIN');
    const { max_processes, max_process_depth } = this.limits;
    if (parent.depth >= max_process_depth)
      this.#refuse(parent, `processes start each other more than ${max_process_depth} levels deep`);
    if (this.#started >= max_processes)
      this.#refuse(parent, `a call starts at most ${max_processes} processes`);
    const alive = () => this.#processes.reduce((sum, { state }) => sum + (state === 'ended' ? 0 : 1), 0);
    if (alive() < MAX_ALIVE) return;
    this.#runOthers(parent, () => alive() < MAX_ALIVE, { nested: false });
    if (alive() >= MAX_ALIVE) this.#refuse(parent, `${MAX_ALIVE} processes are alive`);
  }

  /** A limit of ours stops a process from doing what it asks for. C programs often go on after that, with wrong results. */
  #refuse({ isSilent }: Process, message: string, code: 'EAGAIN' | 'ENOMEM' | 'EDEADLK' = 'EAGAIN'): never {
    if (isSilent) return this.#top.guest!.stop({ reason: 'process_limit', message });
    throw syscallError(code);
  }

  #add(parent: Process, fields: Partial<Process> & Pick<Process, 'user'>): number {
    const { kernel } = this.#top.guest!;
    this.#started++;
    let at = kernel.calls * PIDS_PER_CALL + this.#started;
    while (this.#processes.some(({ pid }) => pid === FIRST_PID + (at % MAX_PIDS))) at++;
    const pid = FIRST_PID + (at % MAX_PIDS);
    this.#processes.push({
      ...NEW_PROCESS,
      pid,
      parent,
      depth: parent.depth + 1,
      umask: parent.guest!.kernel.umask,
      state: 'pending',
      turn: ++this.#turns,
      ...fields,
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
    if ('isNested' in next && next.isNested && this.#stack.length >= MAX_NESTED)
      return this.#refuse(
        parent,
        `more than ${MAX_NESTED} processes of python3 and node wait for each other`,
      );
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
    const { program, copy } = this.#withMemory(parent, () => create(this.#memory, parent.copy));
    parent.copy?.release();
    parent.copy = copy;
    guest.charge(START_FUEL + copy.byteLength / BYTES_PER_FUEL);
    const user = { cwd: guest.kernel.cwd, fds: guest.kernel.fds.copy(false) };
    return this.#add(parent, { user, program, copy: copy.share(), isSilent: true });
  }

  /** Does what needs memory. If there is not enough, other processes run first, which may end. */
  #withMemory<T>(process: Process, take: () => T): T {
    for (let isLast = false; ; isLast = true) {
      try {
        return take();
      } catch (cause) {
        // RangeError: the host has no address space for another memory.
        const isRefused = (isSyscallError(cause) && cause.code === 'ENOMEM') || cause instanceof RangeError;
        if (!isRefused) throw cause;
        if (isLast) return this.#refuse(process, NO_MEMORY.trim(), 'ENOMEM');
      }
      this.#runOthers(process, () => false, { nested: false, untilMs: 0, eachOnce: true });
    }
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

  /** Whether a process can run now. */
  #canRun(process: Process, nowMs: number, nested: Nested): boolean {
    const { state, wait, signal, endsMs } = process;
    if (state === 'pending')
      return (
        !isNested(process) ||
        (nested !== false &&
          this.#stack.length < MAX_NESTED &&
          (nested === true || this.#isIndependent(process)))
      );
    if (state !== 'waiting') return false;
    return signal !== 0 || wait!.isReady() || nowMs >= Math.min(wait!.untilMs, endsMs!);
  }

  #isIndependent({ user }: Process): boolean {
    const writes = (pipe: PipeBuffer) => this.#stack.some((other) => has(other.user.fds, pipe, 'write'));
    return user.fds.slots.every((file) => file?.kind !== 'pipe' || file.end !== 'read' || !writes(file.pipe));
  }

  /** Of the processes that can run, the one that has waited longest. */
  #nextToRun(guest: Guest, nested: Nested): Process | undefined {
    guest.charge(LOOK_FUEL * this.#processes.length);
    const nowMs = guest.monotonic();
    let next: Process | undefined;
    for (const process of this.#processes)
      if ((next === undefined || process.turn < next.turn) && this.#canRun(process, nowMs, nested))
        next = process;
    return next;
  }

  /**
   * Runs other processes until `isReady`, until a time, or until none can run. With `eachOnce`, each that can run does so even if
   * the time is over. Without `nested`, only those run that can leave their stack. Returns whether it is ready.
   */
  #runOthers(
    caller: Process,
    isReady: () => boolean,
    { nested = true, untilMs = Number.POSITIVE_INFINITY, eachOnce = false }: RunOptions = {},
  ): boolean {
    const guest = caller.guest!;
    const tried = new Set<Process>();
    while (!isReady() && !this.#isLimited) {
      const isOver = guest.monotonic() >= untilMs;
      const next = isOver && !eachOnce ? undefined : this.#nextToRun(guest, nested);
      if (isOver && (next === undefined || tried.has(next))) break;
      if (next === undefined) {
        if (!(nested === true && this.#extendPipes()) && !this.#pause(guest, untilMs)) break;
        continue;
      }
      tried.add(next);
      this.#run(next, eachOnce ? Number.POSITIVE_INFINITY : untilMs, nested);
    }
    return isReady();
  }

  /**
   * Lets processes that wait for room write more than a pipe holds if a reader of it waits inside of a system call, and so cannot read
   * before they have ended. Returns whether there are such processes.
   */
  #extendPipes(): boolean {
    const full = this.#processes.flatMap(({ wait }) => wait?.fullPipe ?? []);
    const stuck = full.filter((pipe) => this.#stack.some(({ user }) => has(user.fds, pipe, 'read')));
    for (const pipe of stuck) pipe.isElastic = true;
    return stuck.some(hasRoomForWrites);
  }

  /** Waits until a process can run again because of a time. Returns false if there is no such time. */
  #pause(guest: Guest, untilMs: number): boolean {
    const times = this.#processes.map(({ state, wait, endsMs }) =>
      state === 'waiting' ? Math.min(wait!.untilMs, endsMs!) : Number.POSITIVE_INFINITY,
    );
    const endMs = times.reduce((least, time) => Math.min(least, time), untilMs);
    if (endMs === Number.POSITIVE_INFINITY) return false;
    guest.pause(Math.max(0, endMs - guest.monotonic()));
    return true;
  }

  /** A process waits: it leaves its stack, or others run here. Returns false if it waits in vain. */
  #waitFor(process: Process, isReady: () => boolean, timeoutMs: number, fullPipe?: PipeBuffer): boolean {
    const guest = process.guest!;
    if (isReady()) return true;
    if (this.#isLimited) throw syscallError('EINTR');
    const untilMs = guest.monotonic() + timeoutMs;
    if (!process.canLeave) return this.#runOthers(process, isReady, { untilMs });
    process.wait = { isReady, untilMs, fullPipe };
    throw syscallError('EINPROGRESS');
  }

  /** Waits while others run. */
  #sleep(process: Process, milliseconds: number): void {
    const guest = process.guest!;
    const untilMs = guest.monotonic() + milliseconds;
    const nested = process.canLeave || 'independent';
    if (this.#processes.length > 0)
      this.#runOthers(process, () => false, { nested, untilMs, eachOnce: true });
    const leftMs = untilMs - guest.monotonic();
    if (leftMs > 0) guest.pause(leftMs);
  }

  #deadlock(process: Process): never {
    if (this.#isLimited) throw syscallError('EINTR');
    if (!process.isSilent) this.#tell(process, process.guest!, DEADLOCK);
    return this.#refuse(process, DEADLOCK.trim(), 'EDEADLK');
  }

  /**
   * Runs a process until it ends or waits. After `patienceEndsMs`, it is stopped. Without `nested`, it also stops before a program
   * that cannot leave its stack.
   */
  #run(process: Process, patienceEndsMs: number, nested: Nested): void {
    const runner = this.#runner;
    process.endsMs ??=
      process.timeoutMs > 0 ? runner.monotonic() + process.timeoutMs : Number.POSITIVE_INFINITY;
    if (process.state === 'waiting' && runner.monotonic() >= process.endsMs) this.#end(process, SIGNAL.ALRM);
    if (process.state === 'ended') return;
    process.state = 'running';
    process.turn = ++this.#turns;
    this.#stack.push(process);
    let status: number | undefined = SIGNAL.KILL;
    try {
      do status = this.#runProgram(process, runner, patienceEndsMs);
      while (status !== undefined && runner.limitReached === undefined && this.#goesOn(process, nested));
    } finally {
      this.#stack.pop();
      if (status === undefined) process.state = 'waiting';
      else if (process.next !== undefined && runner.limitReached === undefined) process.state = 'pending';
      else this.#end(process, status);
    }
  }

  /** Whether a process runs another program now, because exec has replaced the one before. */
  #goesOn(process: Process, nested: Nested): boolean {
    return process.next !== undefined && (nested !== false || !isNested(process));
  }

  /** Runs the program of a process. Returns its status, or undefined if it waits. */
  #runProgram(process: Process, runner: Guest, patienceEndsMs: number): number | undefined {
    const program = process.program ?? this.#nextProgram(process, runner);
    if (typeof program === 'number') return program;
    const endsMs = process.endsMs!;
    const patienceMs = Math.min(patienceEndsMs, endsMs) - runner.monotonic();
    const stop = this.#runGuest(process, program, runner, patienceMs);
    // The call ends, whatever the processes are that wait for each other.
    const { stopped } = this.#top.guest!;
    if (stopped !== undefined) return runner.stop(stopped);
    if (stop === undefined) return undefined;
    if (stop.reason === 'internal') return runner.stop(stop);
    if (stop.reason === 'replaced') this.#closeForExec(process, runner);
    if (stop.reason !== 'overdue') return statusOf(stop);
    if (endsMs <= patienceEndsMs) return SIGNAL.ALRM;
    process.overdue = 'hidden';
    return SIGNAL.KILL;
  }

  /** Starts the next program of a process. Returns a status if there is nothing to run. */
  #nextProgram(process: Process, runner: Guest): ChildProgram<Guest> | number {
    const found = process.next!;
    process.next = undefined;
    const next = 'perform' in found ? found.perform(runner, process.user.fds) : found;
    if ('message' in next) {
      this.#tell(process, runner, next.message);
      return next.exitCode << 8;
    }
    return this.#start(process, next, runner) ?? SIGNAL.KILL;
  }

  /** Runs the guest of a program as a child of the running guest. Returns undefined if it waits. */
  #runGuest(
    process: Process,
    program: ChildProgram<Guest>,
    runner: Guest,
    patienceMs: number,
  ): GuestStop | undefined {
    const guest = program.guest ?? this.#enter(process, program, runner);
    const { kernel } = guest;
    const { signal } = process;
    const requests = program.suspension === undefined ? this.call.tools?.forChild(guest) : undefined;
    Object.assign(process, { program, guest, signal: 0, wait: undefined });
    process.canLeave = program.suspension !== undefined;
    process.isSilent = guest.linkage.goesOn === true;
    let stop: GuestStop | undefined = { reason: 'internal', message: '' };
    try {
      runner.beginChild(guest, patienceMs);
      this.#connect(process, guest, requests);
      stop = stopOf(program, signal);
      return stop;
    } finally {
      process.user = { cwd: kernel.cwd, fds: kernel.fds };
      process.umask = kernel.umask;
      process.guest = undefined;
      guest.fork = undefined;
      kernel.endCall();
      requests?.close();
      kernel.fds = new DescriptorTable();
      if (stop !== undefined) process.program = undefined;
      try {
        runner.endChild(guest);
      } finally {
        if (stop !== undefined) this.#release(process, program);
      }
    }
  }

  #release(process: Process, program: ChildProgram<Guest>): void {
    program.guest?.memoryLimit.countIn(undefined);
    program.release();
    process.copy?.release();
    process.copy = undefined;
  }

  // ---- memory ----

  /** Gives the program of a process a guest again. */
  #enter(process: Process, program: ChildProgram<Guest>, runner: Guest): Guest {
    const copy = process.copy!;
    if (this.#waitingWithGuests().length >= MAX_WAITING_GUESTS) this.#leave(this.#waitingWithGuests()[0]!);
    const guest = this.#withMemory({ ...process, isSilent: true, guest: runner }, () =>
      program.suspension!.enter(copy),
    );
    guest.memoryLimit.countIn(this.#memory);
    runner.charge(copy.byteLength / BYTES_PER_FUEL);
    return guest;
  }

  /** The processes that wait and have a guest; the one that has run longest ago first. */
  #waitingWithGuests(): Process[] {
    return this.#processes
      .filter(({ state, program }) => state === 'waiting' && program?.guest !== undefined)
      .sort((a, b) => a.turn - b.turn);
  }

  /** Replaces the guest of a process that waits by a copy of its memory. */
  #leave(process: Process): void {
    const { memory, memoryLimit } = process.program!.guest!;
    memoryLimit.countIn(undefined);
    const copy = MemoryCopy.of(memory, this.#memory, process.copy);
    process.copy?.release();
    process.copy = copy;
    process.program!.suspension!.leave();
    this.#runner.charge(copy.byteLength / BYTES_PER_FUEL);
  }

  /** Frees memory: copies take less than guests. */
  #reclaim(bytes: number): void {
    if (this.#isReclaiming) return;
    this.#isReclaiming = true;
    try {
      for (const process of this.#waitingWithGuests()) {
        if (this.#memory.freeBytes >= bytes) return;
        this.#leave(process);
      }
    } finally {
      this.#isReclaiming = false;
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
      program.guest!.memoryLimit.countIn(this.#memory);
      runner.charge(START_FUEL + program.startFuel);
      return program;
    } catch (cause) {
      // RangeError: the host has no address space for another memory.
      if (!(isSyscallError(cause) || cause instanceof RangeError))
        return runner.stop({ reason: 'internal', message: String(cause) });
      if (process.parent!.isSilent) return this.#refuse(process.parent!, NO_MEMORY.trim());
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
    if (process.program !== undefined) this.#release(process, process.program);
    Object.assign(process, {
      program: undefined,
      next: undefined,
      wait: undefined,
      guest: undefined,
      status,
    });
    process.state = 'ended';
    kernel.closeAll(process.user.fds);
    // Its children have no parent that waits for them.
    this.#processes = this.#processes.filter(
      (other) => other.state !== 'ended' || other.parent!.state !== 'ended',
    );
  }

  #forget(process: Process): void {
    this.#processes = this.#processes.filter((other) => other !== process);
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

  /** Waits for bytes in a pipe. Returns true if the reader is at the end of its input, because the program of the call has ended. */
  #fill(reader: Process, pipe: PipeBuffer): boolean {
    const writes = ({ user }: Process) => has(user.fds, pipe, 'write');
    const isAtEnd = () =>
      this.#isOver &&
      this.#others(reader)
        .filter(writes)
        .every((other) => other === this.#top);
    const isReady = () => pipe.length > 0 || pipe.writers === 0 || isAtEnd();
    // Between its own ends, a process waits for nobody.
    if (pipe.length === 0 && !this.#others(reader).some(writes)) return false;
    if (!this.#waitFor(reader, isReady, Number.POSITIVE_INFINITY)) return this.#deadlock(reader);
    return pipe.length === 0 && pipe.writers > 0;
  }

  /** Up to how many bytes a process may write to a pipe. Waits for room if others read it. */
  #capacityOf(writer: Process, pipe: PipeBuffer): number {
    const { capacity } = pipe;
    const hasRoom = () => pipe.readers === 0 || hasRoomForWrites(pipe);
    if (isYieldDue(pipe)) this.#yield(writer);
    if (pipe.isElastic && hasRoom()) return MAX_PIPE_BYTES;
    if (hasRoom() || !this.#others(writer).some(({ user }) => has(user.fds, pipe, 'read'))) return capacity;
    if (writer.canLeave && !pipe.isElastic) this.#waitFor(writer, hasRoom, Number.POSITIVE_INFINITY, pipe);
    else if (this.#runOthers(writer, hasRoom, { nested: false })) return capacity;
    // Its reader may be a process that would have to wait here. The pipe grows, so that the writer ends first.
    if (pipe.length < MAX_PIPE_BYTES || this.#runOthers(writer, hasRoom)) return MAX_PIPE_BYTES;
    // A reader gets what is in the pipe, and then an error.
    pipe.isCutOff = true;
    if (this.#isLimited) throw syscallError('EINTR');
    if (!writer.isSilent) this.#tell(writer, writer.guest!, FULL_PIPE);
    return this.#refuse(writer, FULL_PIPE.trim(), 'EDEADLK');
  }

  /** Lets others run. A process that can leave its stack repeats its call then. */
  #yield(process: Process): void {
    if (this.#isLimited) return;
    if (!process.canLeave)
      return void this.#runOthers(process, () => false, { nested: false, untilMs: 0, eachOnce: true });
    process.wait = { isReady: () => true, untilMs: 0 };
    throw syscallError('EINPROGRESS');
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
    const ended = () => children.find(({ state }) => state === 'ended');
    const isEnded = () => ended() !== undefined;
    if (noHang) this.#poll(parent, children[0]!, pid, isEnded);
    else if (
      !this.#waitFor(parent, isEnded, timeoutMs ?? Number.POSITIVE_INFINITY) &&
      timeoutMs === undefined
    )
      return this.#deadlock(parent);
    const child = ended();
    if (child === undefined) return undefined;
    if (child.overdue !== 'no' && timeoutMs !== undefined) return undefined;
    if (child.overdue === 'hidden' && noHang) {
      child.overdue = 'seen';
      return undefined;
    }
    this.#forget(child);
    return { pid: child.pid, status: child.status };
  }

  /** A process that is asked for again and again has to run. Two questions may precede a signal: Popen.kill asks one itself. */
  #poll(parent: Process, child: Process, pid: number, isEnded: () => boolean): void {
    if (isEnded() || ++child.questions <= 2 || pid === -1) return;
    if (!parent.canLeave) return void this.#runOthers(parent, isEnded, { untilMs: 0, eachOnce: true });
    child.questions = 1;
    this.#yield(parent);
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
    if (target.state === 'pending' || (target.state === 'waiting' && signal === SIGNAL.KILL))
      this.#end(target, signal);
    else if (target.state === 'waiting') target.signal = signal;
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

/** Runs a program and returns how it stopped; undefined if it waits. */
function stopOf(program: ChildProgram<Guest>, signal: number): GuestStop | undefined {
  const guest = program.guest!;
  try {
    const exitCode = program.run(signal);
    const reason = guest.limitReached;
    if (exitCode === undefined && reason === undefined) return undefined;
    return reason === undefined
      ? { reason: 'exit', message: '', exitCode: exitCode! }
      : { reason, message: reason };
  } catch (cause) {
    if (cause instanceof GuestStopped) return cause.stop;
    // The report of the runtime cannot be read.
    if (isSyscallError(cause)) return { reason: 'unreachable', message: '' };
    return { reason: 'internal', message: String(cause) };
  }
}
