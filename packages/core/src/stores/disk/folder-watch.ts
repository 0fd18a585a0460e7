/**
 * Watches workspace/ of a session with many files, so that a call does not have to read the attributes of all of them. Only on
 * Linux and on local file systems: there, the kernel queues an event before the system call that changes a file returns.
 * Invariant: `changes` returns every path that any program has changed since `start`, or undefined. The kernel reports neither
 * writes to a mapped file nor those through a hard link in another folder.
 */
import { lstatSync, statfsSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { installedFile } from '../../host/install-folder.ts';

/** With fewer files, reading their attributes is fast. */
const MIN_FILES = 200;
/** Each folder takes one of the watches that the system allows a user. */
const MAX_FOLDERS = 256;
/** The thread answers within a millisecond, unless the system is overloaded. */
const ANSWER_MS = 1000;
/** File systems that only this kernel changes: ext, XFS, Btrfs, tmpfs, overlay, F2FS, bcachefs, ZFS. */
const LOCAL_FILE_SYSTEMS = new Set([
  0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0xf2f52010, 0xca451a4e, 0x2fc12fc1,
]);

type WatchAnswer = (paths: readonly string[] | null) => void;

/** The thread of this process, started for the first session with many files. */
class WatchThread {
  readonly #worker: Worker;
  readonly #answers = new Map<number, WatchAnswer>();
  #requests = 0;
  hasEnded = false;
  isReady = false;

  constructor() {
    this.#worker = new Worker(installedFile('stores/disk/watch-thread.cjs'), {
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 4 },
    });
    this.#worker.on('online', () => {
      this.isReady = true;
    });
    this.#worker.on('message', ({ request, paths }) => this.#answers.get(request)?.(paths));
    this.#worker.on('error', () => {});
    this.#worker.on('exit', () => {
      this.hasEnded = true;
      for (const answer of this.#answers.values()) answer(null);
    });
    // After the listeners: one for messages keeps the process alive.
    this.#worker.unref();
  }

  send(message: object): void {
    this.#worker.postMessage(message);
  }

  /** Resolves with null if the thread does not answer in time. The process stays alive until then. */
  ask(message: object): Promise<readonly string[] | null> {
    const request = this.#requests++;
    return new Promise((resolve) => {
      const answer: WatchAnswer = (paths) => {
        clearTimeout(timer);
        this.#answers.delete(request);
        if (this.#answers.size === 0) this.#worker.unref();
        resolve(paths);
      };
      const timer = setTimeout(answer, ANSWER_MS, null);
      this.#answers.set(request, answer);
      this.#worker.ref();
      this.send({ request, ...message });
    });
  }
}

let thread: WatchThread | undefined;
let hasFailed = false;

function startThread(): WatchThread | undefined {
  if (thread?.hasEnded) hasFailed = true;
  if (hasFailed) return undefined;
  try {
    thread ??= new WatchThread();
  } catch {
    hasFailed = true;
  }
  return thread;
}

let watches = 0;

export class FolderWatch {
  readonly #id = String(watches++);
  #hasStarted = false;
  /** What is watched; undefined if changes may have been missed. */
  #watched: { readonly identity: string; readonly folders: ReadonlySet<string> } | undefined;

  constructor(readonly root: string) {}

  /**
   * Watches the folder and the given folders in it, which are all that it has. The caller then compares all files once. Does
   * nothing if that is fast anyway, or if the folder cannot be watched.
   */
  async start(folders: ReadonlySet<string>, files: number): Promise<void> {
    this.#watched = undefined;
    if (files < MIN_FILES || folders.size > MAX_FOLDERS || !canWatch(this.root)) return this.stop();
    const started = startThread();
    // The call does not wait until the thread has started. A later one begins to watch.
    if (started === undefined || !started.isReady) return;
    this.#hasStarted = true;
    const identity = identityOf(this.root);
    const answer = await started.ask({ watch: this.#id, root: this.root, folders: [...folders] });
    if (answer !== null && identity !== undefined) this.#watched = { identity, folders };
  }

  /** Makes the next `changes` return undefined, because there are folders that are not watched. */
  suspend(): void {
    this.#watched = undefined;
  }

  isWatching(folder: string): boolean {
    return this.#watched?.folders.has(folder) ?? false;
  }

  /** The paths that have changed since the last call; undefined if they are not known, until the next `start`. */
  async changes(): Promise<readonly string[] | undefined> {
    if (this.#watched === undefined || thread === undefined) return undefined;
    const paths = await thread.ask({ changes: this.#id });
    if (paths !== null && identityOf(this.root) === this.#watched.identity) return paths;
    this.suspend();
    return undefined;
  }

  stop(): void {
    this.suspend();
    if (this.#hasStarted) thread?.send({ unwatch: this.#id });
    this.#hasStarted = false;
  }
}

function canWatch(root: string): boolean {
  if (process.platform !== 'linux') return false;
  try {
    return LOCAL_FILE_SYSTEMS.has(statfsSync(root).type);
  } catch {
    return false;
  }
}

/** Differs if another folder has taken the place of the watched one. */
function identityOf(folder: string): string | undefined {
  const stat = lstatSync(folder, { bigint: true, throwIfNoEntry: false });
  return stat && `${stat.dev}:${stat.ino}`;
}
