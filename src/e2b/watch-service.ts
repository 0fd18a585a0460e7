/**
 * Watching folders: the methods WatchDir, CreateWatcher, GetWatcherEvents and RemoveWatcher of E2B. Events are the
 * difference between two trees, so every change is seen, whoever makes it. Watchers are limited in number; one that a client
 * forgets is removed when the sandbox stops or others need its place.
 */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Entry } from '../fs/flat-entries.ts';
import type { FileTree } from '../fs/immutable-file-tree.ts';
import { HttpError } from '../http/http-error.ts';
import { checkFolder } from '../session/workspace-edits.ts';
import { type ConnectStream, deadlineMs, serverStream, unary } from './connect-protocol.ts';
import type { E2bCall, E2bRoute } from './e2b-call.ts';
import { notRunning } from './e2b-error.ts';
import { entryInfo } from './entry-info.ts';
import { behindLinks, relativePath } from './file-paths.ts';
import { filesOf } from './filesystem-service.ts';

const POLL_MS = 200;
/** Streams of one sandbox, and watchers of one sandbox that a client asks for events. */
const MAX_STREAMS = 16;
const MAX_WATCHERS = 32;

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

/** A folder as it was when it was last looked at. */
class WatchedFolder {
  readonly #folder: string;
  readonly #prefix: string;

  constructor(
    readonly request: WatchRequest,
    public tree: FileTree,
  ) {
    this.#folder = behindLinks(tree, relativePath(request.path, 404));
    this.#prefix = this.#folder === '' ? '' : `${this.#folder}/`;
    checkFolder(tree, this.#folder);
  }

  /** What has changed since the last call. */
  next(tree: FileTree): WatchEvent[] {
    if (tree === this.tree) return [];
    const before = this.tree;
    this.tree = tree;
    const { removed, entries } = before.difference(tree);
    const contents = new Set(entries.map(({ data }) => data).filter((data) => data !== undefined));
    const events: WatchEvent[] = [];
    for (const path of removed) {
      const { data } = before.get(path)!;
      const isMoved = data !== undefined && data.length > 0 && contents.has(data);
      this.#add(events, path, isMoved ? 'RENAME' : 'REMOVE');
    }
    for (const entry of entries) {
      const old = before.get(entry.path);
      if (old === undefined) this.#add(events, entry.path, 'CREATE', entry);
      else if (isOnlyMode(old, entry)) this.#add(events, entry.path, 'CHMOD', entry);
      if (entry.kind === 'file' && !(old !== undefined && isOnlyMode(old, entry)))
        this.#add(events, entry.path, 'WRITE', entry);
    }
    return events;
  }

  #add(events: WatchEvent[], path: string, type: string, entry?: Entry): void {
    if (!path.startsWith(this.#prefix)) return;
    const name = path.slice(this.#prefix.length);
    if (!this.request.recursive && name.includes('/')) return;
    const info = this.request.includeEntry && entry !== undefined ? { entry: entryInfo(entry) } : {};
    events.push({ name, type: `EVENT_TYPE_${type}`, ...info });
  }
}

const isOnlyMode = (old: Entry, now: Entry) => old.data === now.data && old.mode !== now.mode;

export class Watchers {
  /** The functions that end the streams of each sandbox. */
  readonly #streams = new Map<string, Set<(error: HttpError) => void>>();
  /** Watchers that clients ask for events, by sandbox, least recently used first. */
  readonly #asked = new Map<string, Map<string, WatchedFolder>>();

  /** Ends all watching of a sandbox that stops. */
  stop(sandbox_id: string): void {
    for (const end of this.#streams.get(sandbox_id) ?? []) end(notRunning(sandbox_id));
    this.#asked.delete(sandbox_id);
  }

  get routes(): readonly E2bRoute[] {
    return [
      serverStream('filesystem.Filesystem/WatchDir', watchRequest, (call, message, stream) =>
        this.#watch(call, message, stream),
      ),
      unary('filesystem.Filesystem/CreateWatcher', watchRequest, async (call, message) => {
        const session = await filesOf(call);
        const watch = new WatchedFolder(message, await session.fileTree());
        const watcherId = randomBytes(8).toString('hex');
        const all = this.#asked.get(call.caller.sandbox_id!) ?? new Map<string, WatchedFolder>();
        this.#asked.set(call.caller.sandbox_id!, all.set(watcherId, watch));
        const [oldest] = all.keys();
        if (all.size > MAX_WATCHERS) all.delete(oldest!);
        return { watcherId };
      }),
      unary('filesystem.Filesystem/GetWatcherEvents', oneWatcher, async (call, { watcherId }) => {
        const session = await filesOf(call);
        const all = this.#asked.get(call.caller.sandbox_id!);
        const watch = all?.get(watcherId);
        if (all === undefined || watch === undefined)
          throw new HttpError(404, 'There is no such watcher. It was removed, or the sandbox has stopped');
        all.delete(watcherId);
        all.set(watcherId, watch);
        return { events: watch.next(await session.fileTree()) };
      }),
      unary('filesystem.Filesystem/RemoveWatcher', oneWatcher, async (call, { watcherId }) => {
        this.#asked.get(call.caller.sandbox_id!)?.delete(watcherId);
        return {};
      }),
    ];
  }

  async #watch(call: E2bCall, message: WatchRequest, stream: ConnectStream): Promise<void> {
    const sandbox_id = call.caller.sandbox_id!;
    const session = await filesOf(call);
    const watch = new WatchedFolder(message, await session.fileTree());
    const streams = this.#streams.get(sandbox_id) ?? new Set();
    if (streams.size >= MAX_STREAMS)
      throw new HttpError(429, `${MAX_STREAMS} streams already watch this sandbox. Stop one of them`);
    this.#streams.set(sandbox_id, streams);
    let finish: (error?: HttpError) => void = () => {};
    const finished = new Promise<HttpError | undefined>((resolve) => {
      finish = resolve;
    });
    streams.add(finish);
    const limitMs = deadlineMs(call);
    const deadline = limitMs && setTimeout(() => finish(new HttpError(504, 'The watch has ended')), limitMs);
    call.signal.addEventListener('abort', () => finish(), { once: true });
    const timer = setInterval(() => void this.#poll(call, watch, stream).catch(finish), POLL_MS);
    try {
      await stream.send({ start: {} });
      stream.keepAlive({ keepalive: {} });
      const error = await finished;
      if (error !== undefined) throw error;
    } finally {
      clearInterval(timer);
      clearTimeout(deadline);
      streams.delete(finish);
      if (streams.size === 0) this.#streams.delete(sandbox_id);
    }
  }

  async #poll(
    { sandboxes, tenant, caller }: E2bCall,
    watch: WatchedFolder,
    stream: ConnectStream,
  ): Promise<void> {
    const record = await sandboxes.running(tenant, caller.sandbox_id!);
    const tree = await (await sandboxes.owner(tenant, record)).fileTree();
    for (const event of watch.next(tree)) await stream.send({ filesystem: event });
  }
}
