/**
 * Many sessions under one roof: made, found again, looked at, pruned, and kept within bounds in number, in bytes and in
 * age. Sandboxes it hands out stay open until they are asked for no more; asking again gives the same one.
 */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { SandboxError } from '../errors.ts';
import type { Variable } from '../runtimes/language.ts';
import { createSandbox, type Sandbox, type SandboxOptions } from '../sandbox/sandbox.ts';
import type { WorkspaceFile } from '../sandbox/workspace.ts';
import { type PolicyInput, parse, sessionPolicy } from '../schema.ts';
import { decodeBundle, encodeBundle } from '../stores/bundle/session-bundle.ts';
import { memoryStore } from '../stores/memory/memory-store.ts';
import { checkSessionId } from '../stores/session-id.ts';
import type { SessionRecord, SessionStore } from '../stores/store.ts';
import type { CheckpointInfo } from './checkpoint.ts';
import { noSession } from './timeline.ts';

const HOUR_MS = 3_600_000;
const MiB = 1024 * 1024;

export const sessionLimits = z.strictObject({
  max_sessions: z.number().int().min(1).max(100_000).default(1000).describe('Sessions the store may hold.'),
  max_total_bytes: z
    .number()
    .int()
    .min(1)
    .default(8192 * MiB)
    .describe('What all of them may take in the store before no new one is made.'),
  idle_hours: z
    .number()
    .positive()
    .max(24 * 3660)
    .default(24 * 30)
    .describe('Sessions that were not used for so long are deleted.'),
});
export type SessionLimits = z.infer<typeof sessionLimits>;

export interface SessionInfo extends SessionRecord {
  readonly files: readonly WorkspaceFile[];
  readonly workspace_bytes: number;
  readonly stored_bytes: number;
  readonly variables: readonly Variable[];
  readonly checkpoints: readonly CheckpointInfo[];
}

export interface PruneReport {
  readonly pruned: readonly { readonly session_id: string; readonly bytes: number }[];
  readonly reclaimed_bytes: number;
  readonly errors: readonly { readonly session_id: string; readonly error: string }[];
  readonly dry_run: boolean;
}

export interface ImportOptions {
  /** Another name for the session than the one it was exported under. */
  readonly session_id?: string;
  /** Limits that win over those the session has. */
  readonly policy?: Omit<PolicyInput, 'mounts'>;
}

export interface SessionsOptions {
  readonly store?: SessionStore;
  readonly limits?: z.input<typeof sessionLimits>;
}

/** What may be said of a session that is there already. */
export type OpenOptions = Omit<SandboxOptions, 'store' | 'runtime' | 'session_id'>;

/** Opens the sessions of a store. */
export function openSessions({ store = memoryStore(), limits = {} }: SessionsOptions = {}): Sessions {
  return new Sessions(store, parse(sessionLimits, limits, 'limits'));
}

export class Sessions {
  readonly #open = new Map<string, Promise<Sandbox>>();
  /** When those that are open were last asked for. */
  readonly #asked = new Map<string, number>();
  readonly #expiry: NodeJS.Timeout;

  constructor(
    readonly store: SessionStore,
    readonly limits: SessionLimits,
  ) {
    this.#expiry = setInterval(
      () => void this.prune({ older_than_hours: limits.idle_hours }).catch(() => {}),
      HOUR_MS,
    );
    this.#expiry.unref();
  }

  /** Begins a session, or opens the one of that name. */
  async create(options: Omit<SandboxOptions, 'store'>): Promise<Sandbox> {
    const session_id = options.session_id ?? randomUUID();
    const { opening } = await this.#oneByOne(async () => {
      if (!this.#open.has(session_id)) {
        const records = await this.list();
        if (!records.some((record) => record.session_id === session_id)) await this.checkRoom(records);
      }
      return { opening: this.#keep(session_id, { ...options, session_id }) };
    });
    return sameRuntime(await opening, options.runtime);
  }

  /** The open sandbox of a session, or the session opened as it was left; options may depend on what that was. */
  async get(
    session_id: string,
    options: OpenOptions | ((record: SessionRecord) => OpenOptions) = {},
  ): Promise<Sandbox> {
    const running = this.#open.get(session_id);
    if (running !== undefined) {
      this.#asked.set(session_id, Date.now());
      return running;
    }
    const record = await this.#record(session_id);
    const { runtime, auto_persist_globals, preload } = record;
    // Packages of the caller's own cannot be named from a record; whoever has them passes them again.
    const modules = preload.filter((name) => !name.startsWith('packages:'));
    return this.#keep(session_id, {
      preload: modules,
      ...(typeof options === 'function' ? options(record) : options),
      runtime,
      auto_persist_globals,
      session_id,
    });
  }

  /** The open sandbox of a session, which somebody else may have opened meanwhile, or one that is opened now. */
  #keep(session_id: string, options: Omit<SandboxOptions, 'store'>): Promise<Sandbox> {
    this.#asked.set(session_id, Date.now());
    const running = this.#open.get(session_id);
    if (running !== undefined) return running;
    const opening = createSandbox({ ...options, store: this.store });
    this.#open.set(session_id, opening);
    opening.catch(() => this.#forget(session_id));
    return opening;
  }

  #forget(session_id: string): void {
    this.#open.delete(session_id);
    this.#asked.delete(session_id);
  }

  /** Sessions, the one used last first. */
  async list(): Promise<SessionRecord[]> {
    const { records } = await this.store.list();
    const opened = await Promise.allSettled(this.#open.values());
    const open = opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const present = new Map(records.map((record) => [record.session_id, record]));
    // What is open knows more than what has been written so far.
    for (const { session } of open) if (session) present.set(session.session_id, session);
    return [...present.values()].sort((a, b) => (a.last_used_at < b.last_used_at ? 1 : -1));
  }

  async info(session_id: string): Promise<SessionInfo> {
    const sandbox = await this.get(session_id);
    const [files, variables, checkpoints] = await Promise.all([
      sandbox.listFiles(),
      sandbox.variables(),
      sandbox.checkpoints(),
    ]);
    await sandbox.flush();
    return {
      ...sandbox.session!,
      files,
      workspace_bytes: files.reduce((sum, file) => sum + file.size_bytes, 0),
      stored_bytes: await this.store.size(session_id),
      variables,
      checkpoints,
    };
  }

  /** Deletes all files of a session, folders and links too, and says how many files; its variables stay. */
  async resetWorkspace(session_id: string): Promise<number> {
    return (await this.get(session_id)).clearFiles();
  }

  /** Ends a session and frees what it took; returns the bytes. */
  async delete(session_id: string): Promise<number> {
    // What could not be written is of no interest any more.
    await this.release(session_id).catch(() => {});
    if (!(await this.#isThere(session_id))) throw noSession(session_id);
    return this.store.delete(session_id);
  }

  /** A session as one file: state, undo, checkpoints, files and limits. What the last call left is in it. */
  async export(session_id: string): Promise<Uint8Array> {
    await (await this.#open.get(session_id))?.flush();
    const stored = await this.store.read(session_id);
    if (stored === undefined) throw noSession(session_id);
    return encodeBundle(stored);
  }

  /**
   * Takes an exported session in, under its own name or another. It keeps the limits it has, unless others are given:
   * whoever takes in what a stranger exported should give some.
   */
  async import(bytes: Uint8Array, options: ImportOptions = {}): Promise<SessionRecord> {
    if (!(bytes instanceof Uint8Array)) throw new SandboxError('invalid_argument', 'bytes: expected bytes.');
    const stored = await decodeBundle(bytes);
    const session_id = checkSessionId(options.session_id ?? stored.record.session_id);
    const policy = parse(sessionPolicy, { ...stored.record.policy, ...options.policy }, 'policy');
    // Taking it in is a use: an old session must not expire on the spot.
    const record = { ...stored.record, session_id, policy, last_used_at: new Date().toISOString() };
    const release = await this.store.acquire(session_id);
    try {
      if (await this.#isThere(session_id)) {
        const advice = 'Take this one in under another session_id, or delete that one first';
        throw new SandboxError('session_mismatch', `There is already a session ${session_id}. ${advice}.`);
      }
      await this.#oneByOne(async () => {
        await this.checkRoom();
        await this.store.write({ ...stored, record });
      });
    } finally {
      await release();
    }
    return record;
  }

  /** Closes the sandbox of a session; the session stays in the store. */
  async release(session_id: string): Promise<void> {
    const running = this.#open.get(session_id);
    this.#forget(session_id);
    await (await running)?.close();
  }

  /**
   * Deletes sessions that were not used for so long, and says what that freed or would free. Of damaged ones nobody knows
   * when they were used: they are told among the errors.
   */
  async prune({
    older_than_hours,
    dry_run = false,
  }: {
    older_than_hours: number;
    dry_run?: boolean;
  }): Promise<PruneReport> {
    if (!(older_than_hours >= 0)) {
      throw new SandboxError('invalid_argument', 'older_than_hours: expected a number of hours from 0 on.');
    }
    const beforeMs = Date.now() - older_than_hours * HOUR_MS;
    const before = new Date(beforeMs).toISOString();
    // Who has just asked for a session is about to use it, although no call has ended since.
    const isAsked = (id: string) => (this.#asked.get(id) ?? 0) > beforeMs;
    const old = (await this.list()).filter(
      (record) => record.last_used_at <= before && !isAsked(record.session_id),
    );
    const pruned: { session_id: string; bytes: number }[] = [];
    const errors = (await this.store.list()).damaged.map((session_id) => ({
      session_id,
      error: 'It is damaged, so its age is not known. Save the files you need and delete it by its name.',
    }));
    for (const { session_id } of old) {
      try {
        const bytes = dry_run ? await this.store.size(session_id) : await this.delete(session_id);
        pruned.push({ session_id, bytes });
      } catch (cause) {
        errors.push({ session_id, error: cause instanceof Error ? cause.message : String(cause) });
      }
    }
    return { pruned, reclaimed_bytes: pruned.reduce((sum, { bytes }) => sum + bytes, 0), errors, dry_run };
  }

  /** Closes all that is open; the sessions stay in the store. */
  async close(): Promise<void> {
    clearInterval(this.#expiry);
    await Promise.allSettled([...this.#open.keys()].map((session_id) => this.release(session_id)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #record(session_id: string): Promise<SessionRecord> {
    const record = (await this.list()).find((one) => one.session_id === session_id);
    if (record !== undefined) return record;
    // A damaged session is not listed; reading it says what is wrong with it.
    await this.store.read(session_id);
    throw noSession(session_id);
  }

  /** Whether the store has a session of this name, damaged or not. */
  async #isThere(session_id: string): Promise<boolean> {
    const { records, damaged } = await this.store.list();
    return damaged.includes(session_id) || records.some((record) => record.session_id === session_id);
  }

  /** Lets one at a time in, so that many who come at once do not all find room for the last. */
  #oneByOne<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#admitted.then(work);
    this.#admitted = done.catch(() => {});
    return done;
  }
  #admitted: Promise<unknown> = Promise.resolve();

  /** Throws `session_limit` when there is no room for another session. */
  async checkRoom(present?: readonly SessionRecord[]): Promise<void> {
    const records = present ?? (await this.list());
    const { max_sessions, max_total_bytes } = this.limits;
    if (records.length >= max_sessions) {
      throw new SandboxError(
        'session_limit',
        `There are already ${records.length} sessions. Delete or prune some.`,
      );
    }
    const sizes = await Promise.all(records.map(({ session_id }) => this.store.size(session_id)));
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    if (bytes >= max_total_bytes) {
      throw new SandboxError(
        'session_limit',
        `All sessions together take ${bytes} bytes. Delete or prune some.`,
      );
    }
  }
}

function sameRuntime(sandbox: Sandbox, runtime: string): Sandbox {
  if (sandbox.runtime === runtime) return sandbox;
  const facts = `runtime ${sandbox.runtime}, not ${runtime}`;
  throw new SandboxError('session_mismatch', `The session ${sandbox.session_id} has ${facts}.`);
}
