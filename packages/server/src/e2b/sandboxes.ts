/**
 * The life of sandboxes. A sandbox is a session with a record; further contexts are sessions whose names begin with its
 * id. Records are read for every request, because servers can share them. A sandbox whose time is over ends when its timer
 * fires or, if this server has not seen it before, with the next request for it.
 */
import { randomBytes } from 'node:crypto';
import type { Session } from '@llm-wasm-sandbox/core/internal';
import {
  DEFAULT_RUNTIME,
  isoTime,
  KeyedQueues,
  LANGUAGE_RUNTIMES,
  type LanguageName,
  type PolicyInput,
  SandboxError,
} from '@llm-wasm-sandbox/core/internal';
import { HttpError, quoted } from '../server/http-error.ts';
import type { Tenant } from '../server/tenant.ts';
import { isIdOf, newId } from './access-tokens.ts';
import { notRunning } from './e2b-error.ts';
import { type ContextRecord, SANDBOX_RECORDS, type SandboxRecord } from './sandbox-records.ts';

/** The longest delay of a timer. */
const MAX_DELAY_MS = 2_147_483_647;
/** Contexts of one sandbox. */
const MAX_CONTEXTS = 16;

type Lifecycle = Pick<SandboxRecord, 'on_timeout' | 'keeps_memory' | 'auto_resume'>;

interface NewSandbox extends Lifecycle {
  readonly template: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly policy: PolicyInput;
}

interface NewContext {
  readonly language: LanguageName;
  /** Relative to the workspace; absent or empty for the workspace itself. */
  readonly cwd?: string;
}

const contextSession = (sandbox_id: string, context: string) => `${sandbox_id}-${context}`;

/** The sessions of a sandbox: that with its files, and those of further contexts. */
const sessionsOf = ({ sandbox_id, contexts }: SandboxRecord) => [
  sandbox_id,
  ...contexts.filter(({ id }) => id !== sandbox_id).map(({ id }) => contextSession(sandbox_id, id)),
];

const notFound = (id: string) => new HttpError(404, `There is no sandbox ${quoted(id)}`);

/** Runs an operation that need not succeed, because what it ends may have ended. */
const ifPresent = (work: Promise<unknown>) =>
  work.catch((cause: unknown) => {
    if (!(cause instanceof SandboxError) || cause.code !== 'session_not_found') throw cause;
  });

export class Sandboxes {
  readonly #timers = new Map<string, NodeJS.Timeout>();
  /** Changes of one record happen one after another. */
  readonly #queues = new KeyedQueues();
  /** Called when a sandbox ends or is paused. */
  onStop: (sandbox_id: string) => void = () => {};
  onError: (cause: unknown) => void = () => {};

  // ---- reading ----

  /** The sandbox, running or paused. Throws 404. */
  async get(tenant: Tenant, id: string): Promise<SandboxRecord> {
    const record = isIdOf(tenant.id, id) ? await SANDBOX_RECORDS.read(tenant.sandboxRecords, id) : undefined;
    if (record === undefined) throw notFound(id);
    const current = await this.#afterTimeout(tenant, record);
    if (current === undefined) throw notFound(id);
    return current;
  }

  /** The sandbox for a request to it, resumed if it is set to resume by itself. Throws 502 if it is not running. */
  async running(tenant: Tenant, id: string): Promise<SandboxRecord> {
    const record = await this.get(tenant, id).catch((cause: unknown) => {
      throw cause instanceof HttpError && cause.status === 404 ? notRunning(id) : cause;
    });
    if (record.state === 'running') return record;
    if (!record.auto_resume) throw notRunning(id);
    return (await this.connect(tenant, id, { timeoutMs: 300_000, keepsMemory: true })).record;
  }

  /** All sandboxes, or all snapshots, latest first. */
  async list(tenant: Tenant, kind: 'e2b' | 'e2s' = 'e2b'): Promise<SandboxRecord[]> {
    const found: SandboxRecord[] = [];
    for (const { session_id } of await tenant.sessions.list()) {
      if (!isIdOf(tenant.id, session_id, kind)) continue;
      const record = await SANDBOX_RECORDS.read(tenant.sandboxRecords, session_id);
      const current = record && (await this.#afterTimeout(tenant, record));
      if (current !== undefined) found.push(current);
    }
    const key = ({ started_at, sandbox_id }: SandboxRecord) => `${started_at} ${sandbox_id}`;
    return found.sort((a, b) => (key(a) < key(b) ? 1 : -1));
  }

  /** The record after its timeout was applied; undefined if the sandbox has ended. */
  async #afterTimeout(tenant: Tenant, record: SandboxRecord): Promise<SandboxRecord | undefined> {
    if (record.state !== 'running') return record;
    if (record.end_at > Date.now()) {
      this.#arm(tenant, record);
      return record;
    }
    if (record.on_timeout === 'pause')
      return this.pause(tenant, record.sandbox_id, record.keeps_memory).catch((cause: unknown) => {
        // Another request has paused or killed it.
        if (!(cause instanceof HttpError)) throw cause;
        return SANDBOX_RECORDS.read(tenant.sandboxRecords, record.sandbox_id);
      });
    await this.#end(tenant, record);
    return undefined;
  }

  // ---- life ----

  async create(tenant: Tenant, given: NewSandbox): Promise<SandboxRecord> {
    const { template, metadata, timeoutMs, policy, ...lifecycle } = given;
    const fields = { template, metadata: { ...metadata }, ...lifecycle, ...runningFor(timeoutMs) };
    const id = newId(tenant.id);
    const snapshot = await this.#snapshot(tenant, template);
    if (snapshot !== undefined) {
      if (policy.network_only !== undefined || Object.keys(policy.env ?? {}).length > 0)
        throw new HttpError(400, 'A snapshot has its own variables and network: omit envs and network');
      const record = await this.#copy(tenant, snapshot, id, fields);
      await this.#release(tenant, snapshot);
      return record;
    }
    await tenant.create({ language: DEFAULT_RUNTIME, session_id: id, policy });
    const contexts = [{ id, language: DEFAULT_RUNTIME, is_default: true }];
    return this.#write(tenant, { sandbox_id: id, contexts, ...fields });
  }

  /** The snapshot with this id or name; undefined for the templates of the SDKs. */
  async #snapshot(tenant: Tenant, template: string): Promise<SandboxRecord | undefined> {
    if (TEMPLATES.includes(template)) return undefined;
    const snapshots = await this.list(tenant, 'e2s');
    const found = snapshots.find(({ sandbox_id, name }) => sandbox_id === template || name === template);
    if (found !== undefined) return found;
    throw new HttpError(
      404,
      `There is no template ${quoted(template)}. Use ${TEMPLATES.join(' or ')}, or the id or name of a snapshot; templates cannot be built`,
    );
  }

  /** Resumes the sandbox if it is paused, and extends its time. */
  async connect(
    tenant: Tenant,
    id: string,
    { timeoutMs, keepsMemory }: { readonly timeoutMs: number; readonly keepsMemory: boolean },
  ): Promise<{ readonly record: SandboxRecord; readonly wasPaused: boolean }> {
    return this.#change(tenant, id, async (record) => {
      const wasPaused = record.state === 'paused';
      const end_at = Math.max(Date.now() + timeoutMs, wasPaused ? 0 : record.end_at);
      if (wasPaused && !keepsMemory) await this.#restartAll(tenant, record);
      const changed = await this.#write(tenant, { ...record, state: 'running', end_at });
      return { record: changed, wasPaused };
    });
  }

  /** Saves the sessions and closes them. Programs that are running are cancelled. Without memory, only files are kept. */
  async pause(tenant: Tenant, id: string, keepsMemory: boolean): Promise<SandboxRecord> {
    return this.#change(tenant, id, async (record) => {
      if (record.state === 'paused') throw new HttpError(409, `The sandbox ${id} is already paused`);
      this.onStop(id);
      if (!keepsMemory) await this.#restartAll(tenant, record);
      await this.#release(tenant, record);
      return this.#write(tenant, { ...record, state: 'paused' });
    });
  }

  async setTimeout(tenant: Tenant, id: string, timeoutMs: number): Promise<void> {
    await this.#change(tenant, id, (record) =>
      this.#write(tenant, { ...record, end_at: Date.now() + timeoutMs }),
    );
  }

  async kill(tenant: Tenant, id: string): Promise<void> {
    const record = await this.get(tenant, id);
    await this.#end(tenant, record);
  }

  /** A running copy of a sandbox. */
  async fork(tenant: Tenant, id: string, timeoutMs: number): Promise<SandboxRecord> {
    const record = await this.get(tenant, id);
    return this.#copy(tenant, record, newId(tenant.id), runningFor(timeoutMs));
  }

  /** A copy that is kept until it is deleted, also after the sandbox has ended. */
  async snapshot(tenant: Tenant, id: string, name: string | undefined): Promise<SandboxRecord> {
    const record = await this.get(tenant, id);
    const made = await this.#copy(tenant, record, newId(tenant.id, 'e2s'), {
      state: 'snapshot',
      started_at: isoTime(Date.now()),
      origin: id,
      ...(name !== undefined && { name }),
    });
    await this.#release(tenant, made);
    return made;
  }

  async deleteSnapshot(tenant: Tenant, id: string): Promise<void> {
    const found = (await this.list(tenant, 'e2s')).find((one) => one.sandbox_id === id || one.name === id);
    if (found === undefined) throw new HttpError(404, `There is no snapshot ${quoted(id)}`);
    await this.#end(tenant, found);
  }

  // ---- contexts ----

  /** The session with the files of a sandbox, which is that of its first context. */
  owner(tenant: Tenant, { sandbox_id }: SandboxRecord): Promise<Session> {
    return tenant.session(sandbox_id);
  }

  session(tenant: Tenant, { sandbox_id }: SandboxRecord, { id }: ContextRecord): Promise<Session> {
    return tenant.session(id === sandbox_id ? sandbox_id : contextSession(sandbox_id, id));
  }

  /** The default context of a language, which is created on first use. */
  async defaultContext(
    tenant: Tenant,
    record: SandboxRecord,
    language: LanguageName,
  ): Promise<ContextRecord> {
    const runtime = LANGUAGE_RUNTIMES[language];
    const matches = (one: ContextRecord) =>
      one.is_default && LANGUAGE_RUNTIMES[one.language as LanguageName] === runtime;
    const known = record.contexts.find(matches);
    if (known !== undefined) return known;
    return this.#change(tenant, record.sandbox_id, async (latest) => {
      return latest.contexts.find(matches) ?? (await this.#addContext(tenant, latest, { language }, true));
    });
  }

  /** Adds a context that starts in a folder, which is relative to the workspace. */
  addContext(tenant: Tenant, id: string, context: NewContext): Promise<ContextRecord> {
    return this.#change(tenant, id, (record) => this.#addContext(tenant, record, context, false));
  }

  async #addContext(
    tenant: Tenant,
    record: SandboxRecord,
    { language, cwd }: NewContext,
    is_default: boolean,
  ): Promise<ContextRecord> {
    const { sandbox_id, contexts } = record;
    if (contexts.length >= MAX_CONTEXTS)
      throw new HttpError(429, `A sandbox has at most ${MAX_CONTEXTS} contexts. Remove one first`);
    const folder = cwd ? { cwd } : {};
    const context = { id: randomBytes(8).toString('hex'), language, is_default, ...folder };
    // The limits and variables of the sandbox are those of its first session.
    const { policy } = (await this.owner(tenant, record)).session;
    const session_id = contextSession(sandbox_id, context.id);
    const runtime = LANGUAGE_RUNTIMES[language];
    await tenant.create({ language: runtime, session_id, policy: { ...policy, ...folder } });
    await this.#write(tenant, { ...record, contexts: [...contexts, context] });
    return context;
  }

  async removeContext(tenant: Tenant, id: string, context: string): Promise<void> {
    await this.#change(tenant, id, async (record) => {
      const { is_default } = findContext(record, context);
      if (is_default) throw new HttpError(400, 'The default context cannot be removed. Restart it instead');
      await ifPresent(tenant.destroy(contextSession(id, context)));
      const contexts = record.contexts.filter((one) => one.id !== context);
      await this.#write(tenant, { ...record, contexts });
    });
  }

  // ---- parts ----

  /** Changes a record, after other changes of it. */
  async #change<T>(tenant: Tenant, id: string, change: (record: SandboxRecord) => Promise<T>): Promise<T> {
    return this.#queues.run(id, async () => {
      const record = isIdOf(tenant.id, id)
        ? await SANDBOX_RECORDS.read(tenant.sandboxRecords, id)
        : undefined;
      if (record === undefined) throw notFound(id);
      return change(record);
    });
  }

  async #write(tenant: Tenant, record: SandboxRecord): Promise<SandboxRecord> {
    await SANDBOX_RECORDS.write(tenant.sandboxRecords, record.sandbox_id, record);
    this.#arm(tenant, record);
    return record;
  }

  /** Copies the sessions of a sandbox. */
  async #copy(
    tenant: Tenant,
    source: SandboxRecord,
    id: string,
    fields: Partial<SandboxRecord>,
  ): Promise<SandboxRecord> {
    const { origin: _, name: __, ...inherited } = source;
    const contexts = source.contexts.map((one) => (one.id === source.sandbox_id ? { ...one, id } : one));
    const record = { ...inherited, ...fields, sandbox_id: id, contexts };
    const targets = sessionsOf(record);
    const made: string[] = [];
    try {
      for (const [i, from] of sessionsOf(source).entries()) {
        await tenant.fork(from, targets[i]!);
        made.push(targets[i]!);
      }
      return await this.#write(tenant, record);
    } catch (cause) {
      for (const one of made) await tenant.destroy(one).catch(() => {});
      throw cause;
    }
  }

  async #restartAll(tenant: Tenant, record: SandboxRecord): Promise<void> {
    for (const one of record.contexts) await (await this.session(tenant, record, one)).restart();
  }

  async #release(tenant: Tenant, record: SandboxRecord): Promise<void> {
    for (const one of sessionsOf(record)) await tenant.release(one);
  }

  async #end(tenant: Tenant, record: SandboxRecord): Promise<void> {
    const { sandbox_id } = record;
    clearTimeout(this.#timers.get(sandbox_id));
    this.#timers.delete(sandbox_id);
    this.onStop(sandbox_id);
    await tenant.sandboxRecords.delete(sandbox_id);
    for (const one of sessionsOf(record)) await ifPresent(tenant.destroy(one));
  }

  /** Applies the timeout of a running sandbox when it is due. */
  #arm(tenant: Tenant, { sandbox_id, state, end_at }: SandboxRecord): void {
    clearTimeout(this.#timers.get(sandbox_id));
    this.#timers.delete(sandbox_id);
    if (state !== 'running') return;
    const check = () => {
      this.#timers.delete(sandbox_id);
      // Another server may have extended the time.
      this.get(tenant, sandbox_id).catch((cause: unknown) => {
        if (!(cause instanceof HttpError)) this.onError(cause);
      });
    };
    const delay = Math.min(Math.max(0, end_at - Date.now()) + 1, MAX_DELAY_MS);
    this.#timers.set(sandbox_id, setTimeout(check, delay).unref());
  }

  close(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }
}

/** The templates that SDKs name by default. Both stand for an empty sandbox. */
const TEMPLATES = ['base', 'code-interpreter-v1'];

const runningFor = (timeoutMs: number) => ({
  state: 'running' as const,
  started_at: isoTime(Date.now()),
  end_at: Date.now() + timeoutMs,
});

export function findContext({ contexts }: SandboxRecord, id: string): ContextRecord {
  const found = contexts.find((one) => one.id === id);
  if (found !== undefined) return found;
  throw new HttpError(404, `There is no context ${quoted(id)}`);
}
