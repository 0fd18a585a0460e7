/**
 * Worker threads in a process of their own, which Node's permission model restricts (permissions.ts). The process starts
 * with the first thread and is ended with the last one. If it dies, all of its threads have ended, and the next thread
 * starts another process.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { serialize } from 'node:v8';
import { MinuteAllowance } from '../../concurrency/minute-allowance.ts';
import { SandboxError } from '../../errors.ts';
import { installedFile } from '../../host/install-folder.ts';
import type { GuestAssets } from '../../runtimes/artifacts/guest-artifacts.ts';
import type { ThreadEvents, WorkerHost, WorkerThread } from '../pool/worker-host.ts';
import type { FromWorker, ToWorker, UnsentJob } from '../protocol/messages.ts';
import { ChannelError, decodeUntrusted, frame, MessageFrames } from './isolation-channel.ts';
import { JobLimits, MAX_IDLE_MESSAGE_BYTES } from './isolation-limits.ts';
import {
  type FromIsolated,
  fromPortableExtension,
  isNewImageOf,
  type PortableExtension,
  parseFromIsolated,
  type ToIsolated,
  toPortableImage,
} from './isolation-protocol.ts';
import { type PermissionFlags, permissionFlags } from './permissions.ts';

/** Images that a process holds for threads that have not loaded them yet. */
const MAX_IMAGES = 8;
/** Messages that belong to no job: reports of each thread every 25 ms, and what was sent before a job was cancelled. */
const MAX_UNAWAITED_PER_SECOND = 10_000;
/** Time that a thread gets to end before its process is killed. */
const TERMINATE_MS = 5_000;

export type LaunchIsolated = (flags: PermissionFlags) => ChildProcess;

export class IsolatedHost implements WorkerHost {
  readonly #flags = permissionFlags();
  #process: IsolatedProcess | undefined;
  #isYieldWanted = false;

  /** `launch` starts the process. Its fourth stream is the channel. */
  constructor(readonly launch: LaunchIsolated = startProcess) {}

  start(events: ThreadEvents): WorkerThread {
    if (!this.#process?.isAlive) {
      this.#process = new IsolatedProcess(this.launch(this.#flags));
      if (this.#isYieldWanted) this.#process.send({ type: 'yield', isWanted: true });
    }
    return this.#process.start(events);
  }

  /** The processes compile for themselves. */
  prepareAhead(assets: GuestAssets): GuestAssets {
    return assets;
  }

  setYield(isWanted: boolean): void {
    if (isWanted === this.#isYieldWanted) return;
    this.#isYieldWanted = isWanted;
    this.#process?.send({ type: 'yield', isWanted });
  }

  fresh(): WorkerHost {
    return new IsolatedHost(this.launch);
  }
}

class IsolatedProcess {
  readonly #child: ChildProcess;
  readonly #socket: Socket;
  readonly #exited: Promise<void>;
  readonly #threads = new Map<number, RemoteThread>();
  /** Images it holds, least recently used first. */
  readonly #images = new Set<string>();
  /** Messages that no job awaits. */
  readonly #unawaited = new MinuteAllowance(MAX_UNAWAITED_PER_SECOND, undefined, 1000);
  #lastThread = 0;
  #references = 0;
  isAlive = true;

  constructor(child: ChildProcess) {
    this.#child = child;
    this.#socket = child.stdio[3] as Socket;
    this.#setRef(false);
    this.#exited = new Promise((resolve) => {
      const end = () => {
        this.#end();
        resolve();
      };
      // `error` without `exit` means that the process could not be started.
      this.#child.on('error', end);
      this.#child.on('exit', end);
    });
    const frames = new MessageFrames(
      () => this.#maxMessageBytes(),
      (body) => this.#receive(body),
    );
    // What does not arrive is reported when the process has ended.
    this.#socket.on('error', () => {});
    this.#socket.on('data', (chunk: Buffer) => this.#guarded(() => frames.push(chunk)));
  }

  start(events: ThreadEvents): WorkerThread {
    const id = ++this.#lastThread;
    const thread = new RemoteThread(this, id, events);
    this.#threads.set(id, thread);
    this.send({ type: 'start', thread: id });
    return thread;
  }

  /** Sends a message. It is lost if the process has ended, which its threads report. */
  send(message: ToIsolated): void {
    if (this.#socket.writable) this.#socket.write(frame(serialize(message)));
  }

  /** Makes an image available to the threads of the process. */
  addImage(assets: GuestAssets): void {
    const { id } = assets;
    if (!this.#images.delete(id)) this.send({ type: 'image', image: toPortableImage(assets) });
    this.#images.add(id);
    if (this.#images.size <= MAX_IMAGES) return;
    const oldest: string = this.#images.values().next().value!;
    this.#images.delete(oldest);
    this.send({ type: 'forget', image: oldest });
  }

  /** Counts the threads that keep this process alive. */
  addReference(change: 1 | -1): void {
    const before = this.#references;
    this.#references += change;
    if ((before === 0) !== (this.#references === 0)) this.#setRef(before === 0);
  }

  #setRef(keepsAlive: boolean): void {
    if (keepsAlive) this.#child.ref();
    else this.#child.unref();
    if (keepsAlive) this.#socket.ref();
    else this.#socket.unref();
  }

  #maxMessageBytes(): number {
    const limits = [...this.#threads.values()].map(({ maxMessageBytes }) => maxMessageBytes);
    return Math.max(MAX_IDLE_MESSAGE_BYTES, ...limits);
  }

  #charge(): void {
    this.#unawaited.charge('', 1);
    if (this.#unawaited.secondsToWait('') > 0) throw new ChannelError('there are too many messages');
  }

  /** Only a process that guest code has taken over sends what cannot be received. */
  #guarded(receive: () => void): void {
    if (this.#socket.destroyed) return;
    try {
      receive();
    } catch (cause) {
      if (!(cause instanceof ChannelError)) throw cause;
      this.kill();
    }
  }

  #receive(body: Buffer): void {
    if (this.#socket.destroyed) return;
    const message = parseFromIsolated(decodeUntrusted(body));
    if (message === undefined) throw new ChannelError('the message is unknown');
    const thread = this.#threads.get(message.thread);
    if (!thread?.isAwaiting(message)) this.#charge();
    if (message.type === 'exit') this.#remove(message.thread);
    thread?.receive(message);
  }

  /** A process without threads is ended. */
  #remove(id: number): void {
    if (!this.#threads.delete(id) || this.#threads.size > 0) return;
    this.isAlive = false;
    this.kill();
  }

  #end(): void {
    this.isAlive = false;
    const threads = [...this.#threads];
    this.#threads.clear();
    for (const [thread, remote] of threads) remote.receive({ type: 'exit', thread });
  }

  /** What the process has sent is not read any more. */
  kill(): void {
    this.#child.kill('SIGKILL');
    this.#socket.destroy();
  }

  /** Resolves when the process has ended, if it is about to. */
  async ended(): Promise<void> {
    if (!this.isAlive) await this.#exited;
  }
}

class RemoteThread implements WorkerThread {
  readonly #exited: Promise<void>;
  #exit!: () => void;
  /** The images it has, by id. */
  readonly #loaded = new Map<string, GuestAssets>();
  #keepsAlive = false;
  #hasExited = false;
  fuelSpent = 0;
  #started: { readonly job: number; readonly atMs: number } | undefined;
  /** The job that was sent last. */
  #job: { readonly id: number; readonly limits: JobLimits } | undefined;

  constructor(
    readonly process: IsolatedProcess,
    readonly id: number,
    readonly events: ThreadEvents,
  ) {
    this.#exited = new Promise((resolve) => {
      this.#exit = resolve;
    });
  }

  /** Whether the running job awaits a message. */
  isAwaiting(message: FromIsolated): boolean {
    const id = message.type === 'message' ? message.message.id : message.type === 'extended' && message.id;
    return this.#job !== undefined && id === this.#job.id;
  }

  receive(message: FromIsolated): void {
    if (message.type === 'message') this.#receiveMessage(message.message);
    else if (message.type === 'extended') this.#receiveImage(message.id, message.extension);
    else if (message.type === 'fuel') this.fuelSpent = message.spent;
    else if (message.type === 'started') this.#started = { job: message.job, atMs: performance.now() };
    else {
      this.#hasExited = true;
      this.#job = undefined;
      this.events.exit();
      this.setRef(false);
      this.#exit();
    }
  }

  get maxMessageBytes(): number {
    return this.#job?.limits.maxMessageBytes ?? MAX_IDLE_MESSAGE_BYTES;
  }

  runningMs(job: number): number | undefined {
    return this.#started?.job === job ? performance.now() - this.#started.atMs : undefined;
  }

  #receiveMessage(message: FromWorker): void {
    const job = this.#job;
    // Messages of other jobs have no receiver.
    if (message.type !== 'optimized' && message.id === job?.id) {
      if (!job.limits.accepts(message)) {
        this.process.kill();
        return;
      }
      if (job.limits.isOver) this.#job = undefined;
    }
    this.events.message(message);
  }

  #receiveImage(id: number, extension: PortableExtension): void {
    const base = this.#loaded.get(extension.origin.runtime);
    const isAccepted = id === this.#job?.id && this.#job.limits.acceptsImage(extension);
    const extended = isAccepted && base ? fromPortableExtension(base, extension) : undefined;
    this.#job = undefined;
    if (extended === undefined || !isNewImageOf(base!, extended)) this.process.kill();
    else this.events.message({ type: 'extended', id, extended });
  }

  send(message: ToWorker, job?: UnsentJob): void {
    const thread = this.id;
    if (message.type === 'answer') this.#job?.limits.answered(message.number);
    if (message.type === 'job' && job !== undefined)
      this.#job = { id: message.id, limits: new JobLimits(job) };
    if (message.type === 'unload') this.#loaded.delete(message.image);
    if (message.type === 'load') {
      this.#loaded.set(message.assets.id, message.assets);
      this.process.addImage(message.assets);
      this.process.send({ type: 'load', thread, image: message.assets.id });
    } else {
      if (message.type === 'job') this.fuelSpent = 0;
      this.process.send({ type: 'send', thread, message });
    }
  }

  cancel(job: number): void {
    this.process.send({ type: 'cancel', thread: this.id, job });
  }

  setRef(keepsAlive: boolean): void {
    if (keepsAlive === this.#keepsAlive || (keepsAlive && this.#hasExited)) return;
    this.#keepsAlive = keepsAlive;
    this.process.addReference(keepsAlive ? 1 : -1);
  }

  async terminate(): Promise<void> {
    this.process.send({ type: 'terminate', thread: this.id });
    const timer = setTimeout(() => this.process.kill(), TERMINATE_MS);
    // The caller waits for the end of the process.
    this.process.addReference(1);
    await this.#exited;
    clearTimeout(timer);
    await this.process.ended();
    this.process.addReference(-1);
  }
}

/** Lets the C library return memory that V8 has freed after compiling. Others than that of GNU ignore this. */
const RETURN_MEMORY = { MALLOC_ARENA_MAX: '2', MALLOC_TRIM_THRESHOLD_: '131072' };

/** Starts the process without the flags, environment and standard input of this one. */
function startProcess(flags: PermissionFlags): ChildProcess {
  try {
    const entry = installedFile('worker/isolation-entry.js');
    return spawn(process.execPath, [...flags.process, entry, ...flags.thread], {
      env: RETURN_MEMORY,
      cwd: installedFile('worker'),
      stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
      windowsHide: true,
    });
  } catch (cause) {
    throw new SandboxError(
      'internal',
      `The worker process cannot be started: ${cause instanceof Error ? cause.message : String(cause)}`,
      { cause },
    );
  }
}
