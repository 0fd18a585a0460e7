/**
 * The contexts of one sandbox: sessions that share their files. Calls of all contexts run one after another. Before a
 * context is used, it receives the files that others have changed since its last use.
 */
import { randomUUID } from 'node:crypto';
import { SerialQueue } from '../../concurrency/serial-queue.ts';
import { type ErrorCode, SandboxError } from '../../errors.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { LanguageName, PolicyInput, RuntimeName, SandboxResult } from '../../schema.ts';
import { LANGUAGE_RUNTIMES } from '../../schema.ts';
import { createSandbox } from '../../session/create-sandbox.ts';
import type { Session } from '../../session/session.ts';
import { memoryStore } from '../../stores/memory/memory-store.ts';

/** A context for code execution. */
export interface Context {
  /** Identifies the context. */
  readonly id: string;
  /** Language of the programs. */
  readonly language: string;
  /** Working directory of the programs. */
  readonly cwd: string;
}

interface OpenContext extends Context {
  readonly runtime: RuntimeName;
  session: Session;
  /** Whether programs that specify only a language run in it. */
  readonly isDefault: boolean;
  /** Number of programs that have run. */
  count: number;
  /** Paths that other contexts have changed, each with the context that has the current contents. */
  readonly outdated: Map<string, OpenContext>;
}

const WORKING_DIRECTORY = '/app';

const hasCode = (cause: unknown, ...codes: ErrorCode[]) =>
  cause instanceof SandboxError && codes.includes(cause.code);

/** The contents of a file; undefined if it was deleted or a folder has replaced it. */
async function contentsOf({ session }: OpenContext, path: string): Promise<Uint8Array | undefined> {
  return session.readFile(path).catch((cause: unknown) => {
    if (hasCode(cause, 'file_not_found', 'invalid_path')) return undefined;
    throw cause;
  });
}

export class Contexts {
  readonly #queue = new SerialQueue();
  readonly #contexts = new Map<string, OpenContext>();
  /** The context that changed files last. It has the current contents of all files. */
  #latest: OpenContext | undefined;
  #isClosed = false;

  constructor(readonly policy: PolicyInput) {}

  /** Opens a context. */
  create(language: LanguageName, isDefault = false): Promise<Context> {
    return this.#queue.run(() => this.#create(language, isDefault));
  }

  async #create(language: LanguageName, isDefault: boolean): Promise<OpenContext> {
    const runtime = LANGUAGE_RUNTIMES[language];
    const session = await this.#open(runtime);
    const context: OpenContext = {
      id: randomUUID(),
      language,
      cwd: WORKING_DIRECTORY,
      runtime,
      session,
      isDefault,
      count: 0,
      outdated: new Map(),
    };
    const [source] = this.#contexts.values();
    if (source !== undefined) await this.#copyAll(source, context);
    this.#contexts.set(context.id, context);
    return context;
  }

  #open(runtime: RuntimeName): Promise<Session> {
    if (this.#isClosed)
      throw new SandboxError('sandbox_closed', 'The sandbox was killed. Create another one.');
    return createSandbox({ runtime, policy: this.policy, store: memoryStore() });
  }

  async #copyAll(source: OpenContext, target: OpenContext): Promise<void> {
    await this.#update(source);
    await this.#copyFiles(source, target);
  }

  async #copyFiles(source: OpenContext, target: OpenContext): Promise<void> {
    for (const { path } of await source.session.listFiles())
      await target.session.writeFile(path, await source.session.readFile(path));
  }

  list(): Context[] {
    return [...this.#contexts.values()].map(({ id, language, cwd }) => ({ id, language, cwd }));
  }

  /** Runs a program in a context, or in the default context of its language. */
  run(
    target: { readonly id: string } | { readonly language: LanguageName },
    execute: (session: Session) => Promise<SandboxResult>,
  ): Promise<{ readonly result: SandboxResult; readonly count: number; readonly session: Session }> {
    return this.#queue.run(async () => {
      const context = 'id' in target ? this.#get(target.id) : await this.#default(target.language);
      await this.#update(context);
      const result = await execute(context.session);
      context.count++;
      await this.#changed(context, result);
      return { result, count: context.count, session: context.session };
    });
  }

  /** Uses the files, which are the same in every context. `use` calls `changed` for each path that it changes. */
  files<T>(use: (sandbox: Sandbox, changed: (path: string) => void) => Promise<T>): Promise<T> {
    return this.#queue.run(async () => {
      const [context] = this.#contexts.values();
      if (context === undefined) throw new SandboxError('sandbox_closed', 'The sandbox was killed.');
      await this.#update(context);
      return use(context.session, (path) => this.#markChanged(context, [path]));
    });
  }

  remove(id: string): Promise<void> {
    return this.#queue.run(async () => {
      const context = this.#get(id);
      if (context.isDefault)
        throw new SandboxError(
          'invalid_argument',
          'The default context cannot be removed. Restart it instead.',
        );
      for (const other of this.#contexts.values()) if (other !== context) await this.#update(other);
      this.#contexts.delete(id);
      await context.session.close();
    });
  }

  /** Gives a context a new interpreter. Its files are kept. */
  restart(id: string): Promise<void> {
    return this.#queue.run(async () => {
      const context = this.#get(id);
      await this.#update(context);
      const { session } = context;
      const next = await this.#open(context.runtime);
      for (const { path } of await session.listFiles())
        await next.writeFile(path, await session.readFile(path));
      context.session = next;
      context.count = 0;
      await session.close();
    });
  }

  /** Cancels running programs and closes all contexts. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const open = [...this.#contexts.values()];
    this.#contexts.clear();
    await Promise.all(open.map(({ session }) => session.close()));
  }

  #get(id: string): OpenContext {
    const found = this.#contexts.get(id);
    if (found !== undefined) return found;
    throw new SandboxError('session_not_found', `There is no context ${JSON.stringify(id.slice(0, 100))}.`);
  }

  async #default(language: LanguageName): Promise<OpenContext> {
    const runtime = LANGUAGE_RUNTIMES[language];
    const found = [...this.#contexts.values()].find((one) => one.isDefault && one.runtime === runtime);
    return found ?? (await this.#create(language, true));
  }

  /** Copies the files that other contexts have changed. */
  async #update(context: OpenContext): Promise<void> {
    try {
      await this.#copyChanges(context);
    } catch (cause) {
      if (!hasCode(cause, 'invalid_path') || this.#latest === undefined) throw cause;
      // A file has replaced a folder, or the reverse.
      await context.session.clearFiles();
      await this.#copyFiles(this.#latest, context);
    }
    context.outdated.clear();
  }

  async #copyChanges({ session, outdated }: OpenContext): Promise<void> {
    for (const [path, source] of outdated) {
      const bytes = await contentsOf(source, path);
      if (bytes !== undefined) await session.writeFile(path, bytes);
      else
        await session.deleteFile(path).catch((cause: unknown) => {
          if (!hasCode(cause, 'file_not_found')) throw cause;
        });
    }
  }

  async #changed(context: OpenContext, result: SandboxResult): Promise<void> {
    const { files_created, files_modified, files_deleted, metadata } = result;
    this.#markChanged(context, [...files_created, ...files_modified, ...files_deleted]);
    if (metadata.files_truncated === undefined) return;
    // The lists are incomplete: every file of any context may have changed.
    for (const one of this.#contexts.values())
      this.#markChanged(
        context,
        (await one.session.listFiles()).map(({ path }) => path),
      );
  }

  #markChanged(source: OpenContext, paths: readonly string[]): void {
    if (paths.length > 0) this.#latest = source;
    for (const other of this.#contexts.values())
      if (other !== source) for (const path of paths) other.outdated.set(path, source);
  }
}
