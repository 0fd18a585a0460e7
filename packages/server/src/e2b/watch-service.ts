/**
 * Watching folders: the methods WatchDir, CreateWatcher, GetWatcherEvents and RemoveWatcher of E2B. Events are the
 * difference between two trees, so every change is seen, whoever makes it. Watchers are limited in number; one that a client
 * forgets is removed when the sandbox stops or others need its place.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { checkFolder, type FileTree, type Session } from '@llm-wasm-sandbox/core/internal';
import * as z from 'zod';
import { HttpError } from '../server/http-error.ts';
import { ChangeLog, type TreeChange } from './change-log.ts';
import { type ConnectStream, deadlineMs, serverStream, unary } from './connect-protocol.ts';
import type { E2bCall, E2bRoutes } from './e2b-call.ts';
import { notRunning } from './e2b-error.ts';
import { entryInfo } from './entry-info.ts';
import { behindLinks, relativePath } from './file-paths.ts';
import { filesOf } from './filesystem-service.ts';

const POLL_MS = 200;
/** Streams of one sandbox, and watchers of one sandbox that a client asks for events. */
const MAX_STREAMS = 16;
const MAX_WATCHERS = 32;
/** Changes of which one answer reports the events. */
const MAX_REPORTED = 10_000;

const watchRequest = z.object({
  path: z.string().max(4096),
  recursive: z.boolean().default(false),
  includeEntry: z.boolean().default(false),
  // The only file system has no network mounts, so both values mean the same.
  allowNetworkMounts: z.boolean().default(false),
});
type WatchRequest = z.output<typeof watchRequest>;
const oneWatcher = z.object({ watcherId: z.string().max(100) });

interface WatchEvent {
  readonly name: string;
  readonly type: string;
  readonly entry?: object;
}

/** A folder, and how far its changes have been reported. */
class WatchedFolder {
  readonly #prefix: string;

  constructor(
    readonly request: WatchRequest,
    tree: FileTree,
    public position: number,
  ) {
    const folder = behindLinks(tree, relativePath(request.path, 404));
    this.#prefix = folder === '' ? '' : `${folder}/`;
    checkFolder(tree, folder);
  }

  /** What has changed since the last call, or the first part of it; undefined if it is not known any more. */
  next(log: ChangeLog): Generator<WatchEvent> | undefined {
    const changes = log.from(this.position, MAX_REPORTED);
    if (changes === undefined) return undefined;
    this.position += changes.length;
    return this.#events(changes);
  }

  *#events(changes: readonly TreeChange[]): Generator<WatchEvent> {
    const { recursive, includeEntry } = this.request;
    for (const { path, type, entry } of changes) {
      if (!path.startsWith(this.#prefix)) continue;
      const name = path.slice(this.#prefix.length);
      if (!recursive && name.includes('/')) continue;
      const info = includeEntry && entry !== undefined ? { entry: entryInfo(entry) } : {};
      yield { name, type: `EVENT_TYPE_${type}`, ...info };
    }
  }
}

/** A stream that watches a folder. */
interface WatchStream {
  readonly watch: WatchedFolder;
  /** Sends the events of new changes. */
  report(): void;
  end(error?: HttpError): void;
}

/** The watchers of one sandbox. */
class SandboxWatchers {
  readonly log: ChangeLog;
  readonly streams = new Set<WatchStream>();
  /** Watchers that clients ask for events, least recently used first. */
  readonly asked = new Map<string, WatchedFolder>();
  /** Watchers that are about to be added. */
  opening = 0;
  #isPolling = false;

  constructor(tree: FileTree) {
    this.log = new ChangeLog(tree);
  }

  update(session: Session, { nextSlice }: E2bCall): Promise<void> {
    return this.log.update(() => session.fileTree(), nextSlice);
  }

  /** Looks for changes while there are streams. */
  async poll(call: E2bCall): Promise<void> {
    if (this.#isPolling) return;
    this.#isPolling = true;
    const { sandboxes, tenant, caller } = call;
    while (this.streams.size > 0) {
      await delay(POLL_MS, undefined, { ref: false });
      try {
        const record = await sandboxes.running(tenant, caller.sandbox_id!);
        await this.update(await sandboxes.owner(tenant, record), call);
        for (const { report } of this.streams) report();
        this.forget();
      } catch (cause) {
        for (const { end } of this.streams) end(cause as HttpError);
        break;
      }
    }
    this.#isPolling = false;
  }

  /** Drops the changes that all watchers have reported. */
  forget(): void {
    const watches = [...this.asked.values(), ...[...this.streams].map(({ watch }) => watch)];
    this.log.dropBefore(Math.min(this.log.end, ...watches.map(({ position }) => position)));
  }
}

export class Watchers {
  readonly #sandboxes = new Map<string, SandboxWatchers>();

  /** Ends all watching of a sandbox that stops. */
  stop(sandbox_id: string): void {
    for (const { end } of this.#sandboxes.get(sandbox_id)?.streams ?? []) end(notRunning(sandbox_id));
    this.#sandboxes.delete(sandbox_id);
  }

  get routes(): E2bRoutes {
    return {
      ...serverStream('filesystem.Filesystem/WatchDir', watchRequest, (call, message, stream) =>
        this.#stream(call, message, stream),
      ),
      ...unary('filesystem.Filesystem/CreateWatcher', watchRequest, async (call, message) => {
        const watcherId = randomBytes(8).toString('hex');
        await this.#watch(call, message, ({ asked }, watch) => {
          asked.set(watcherId, watch);
          const [oldest] = asked.keys();
          if (asked.size > MAX_WATCHERS) asked.delete(oldest!);
        });
        return { watcherId };
      }),
      ...unary('filesystem.Filesystem/GetWatcherEvents', oneWatcher, async (call, { watcherId }) => {
        const session = await filesOf(call);
        const watchers = this.#sandboxes.get(call.caller.sandbox_id!);
        await watchers?.update(session, call);
        // Callers that shared the update continue in turns of their own.
        await call.nextSlice();
        const watch = watchers?.asked.get(watcherId);
        watchers?.asked.delete(watcherId);
        const events = watch?.next(watchers!.log);
        if (watch === undefined || events === undefined)
          throw new HttpError(404, 'There is no such watcher. It was removed, or the sandbox has stopped');
        watchers!.asked.set(watcherId, watch);
        watchers!.forget();
        return { events };
      }),
      ...unary('filesystem.Filesystem/RemoveWatcher', oneWatcher, async ({ caller }, { watcherId }) => {
        const watchers = this.#sandboxes.get(caller.sandbox_id!);
        watchers?.asked.delete(watcherId);
        if (watchers !== undefined) this.#removeUnused(caller.sandbox_id!, watchers);
        return {};
      }),
    };
  }

  /** Watches a folder from now on. `add` adds it to the watchers of the sandbox. */
  async #watch<T>(
    call: E2bCall,
    message: WatchRequest,
    add: (watchers: SandboxWatchers, watch: WatchedFolder) => T,
  ): Promise<T> {
    const sandbox_id = call.caller.sandbox_id!;
    const session = await filesOf(call);
    const tree = await session.fileTree();
    const watchers = this.#sandboxes.get(sandbox_id) ?? new SandboxWatchers(tree);
    this.#sandboxes.set(sandbox_id, watchers);
    const { log } = watchers;
    watchers.opening++;
    try {
      await watchers.update(session, call);
      const watch = new WatchedFolder(message, log.tree, log.end);
      return add(watchers, watch);
    } finally {
      watchers.opening--;
      this.#removeUnused(sandbox_id, watchers);
    }
  }

  #removeUnused(sandbox_id: string, { asked, streams, opening }: SandboxWatchers): void {
    if (asked.size + streams.size + opening === 0) this.#sandboxes.delete(sandbox_id);
  }

  async #stream(call: E2bCall, message: WatchRequest, stream: ConnectStream): Promise<void> {
    let end: (error?: HttpError) => void = () => {};
    const ended = new Promise<HttpError | undefined>((resolve) => {
      end = resolve;
    });
    const { watchers, watching } = await this.#watch(call, message, (all, watch) => {
      if (all.streams.size >= MAX_STREAMS)
        throw new HttpError(429, `${MAX_STREAMS} streams already watch this sandbox. Stop one of them`);
      const added = { watch, report: reporter(watch, all.log, stream, end), end };
      all.streams.add(added);
      return { watchers: all, watching: added };
    });
    const limitMs = deadlineMs(call);
    const deadline = limitMs && setTimeout(() => end(new HttpError(504, 'The watch has ended')), limitMs);
    call.signal.addEventListener('abort', () => end(), { once: true });
    try {
      await stream.send({ start: {} });
      stream.keepAlive({ keepalive: {} });
      void watchers.poll(call);
      const error = await ended;
      if (error !== undefined) throw error;
    } finally {
      clearTimeout(deadline);
      watchers.streams.delete(watching);
      this.#removeUnused(call.caller.sandbox_id!, watchers);
    }
  }
}

function* messagesOf(events: Iterable<WatchEvent>) {
  for (const filesystem of events) yield { filesystem };
}

/** Returns a function that sends the events of new changes, unless it is still sending others. */
function reporter(
  watch: WatchedFolder,
  log: ChangeLog,
  stream: ConnectStream,
  end: (error: HttpError) => void,
): () => void {
  const send = async () => {
    while (watch.position < log.end) {
      const events = watch.next(log);
      if (events === undefined)
        return end(new HttpError(429, 'The client reads too slowly: events are lost'));
      await stream.sendAll(messagesOf(events));
    }
  };
  let isSending = false;
  return () => {
    if (isSending) return;
    isSending = true;
    void send().finally(() => {
      isSending = false;
    });
  };
}
