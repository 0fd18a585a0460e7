/**
 * The contexts of one sandbox: sessions that share the files of the first one. Calls of all contexts run one after another.
 */
import { randomUUID } from 'node:crypto';
import { SerialQueue } from '../../concurrency/serial-queue.ts';
import { behindLinks, homePath } from '../../e2b/file-paths.ts';
import { SandboxError } from '../../errors.ts';
import type { AUTO } from '../../packages/read-user-packages.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { LanguageName, PolicyInput, RuntimeName, SandboxResult } from '../../schema.ts';
import { LANGUAGE_RUNTIMES } from '../../schema.ts';
import { createSandbox } from '../../session/create-sandbox.ts';
import type { Session } from '../../session/session.ts';
import { withFilesOf } from '../../session/with-files-of.ts';
import { missingFolders } from '../../session/workspace-edits.ts';
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
  readonly session: Session;
  /** Whether programs that specify only a language run in it. */
  readonly isDefault: boolean;
  /** Number of programs that have run. */
  count: number;
}

export class Contexts {
  readonly #queue = new SerialQueue();
  /** The first one has the files. It is a default context, so it is never removed. */
  readonly #contexts = new Map<string, OpenContext>();
  #isClosed = false;

  /** `packages` are those that programs can import. */
  constructor(
    readonly policy: PolicyInput,
    readonly packages: string[] | typeof AUTO,
  ) {}

  /** Opens the first context, which has the files. */
  open(language: LanguageName): Promise<Context> {
    return this.#queue.run(() => this.#create(language, '', true));
  }

  /** Opens a context that starts in a folder, which is relative to the workspace. */
  create(language: LanguageName, folder: string): Promise<Context> {
    return this.#queue.run(async () => {
      await this.#owner.editFiles((tree) => ({
        removed: [],
        entries: missingFolders(tree, behindLinks(tree, folder)),
      }));
      return this.#create(language, folder, false);
    });
  }

  async #create(language: LanguageName, folder: string, isDefault: boolean): Promise<OpenContext> {
    const runtime = LANGUAGE_RUNTIMES[language];
    const session = await this.#open(runtime, folder);
    const context = {
      id: randomUUID(),
      language,
      cwd: homePath(folder),
      runtime,
      session,
      isDefault,
      count: 0,
    };
    this.#contexts.set(context.id, context);
    return context;
  }

  #open(runtime: RuntimeName, folder: string): Promise<Session> {
    if (this.#isClosed)
      throw new SandboxError('sandbox_closed', 'The sandbox was killed. Create another one.');
    const { packages } = this;
    const policy = { ...this.policy, ...(folder !== '' && { cwd: folder }) };
    return createSandbox({ runtime, policy, packages, store: memoryStore() });
  }

  list(): Context[] {
    return [...this.#contexts.values()].map(({ id, language, cwd }) => ({ id, language, cwd }));
  }

  get #owner(): Session {
    const [first] = this.#contexts.values();
    if (first === undefined) throw new SandboxError('sandbox_closed', 'The sandbox was killed.');
    return first.session;
  }

  /** Runs a program in a context, or in the default context of its language. */
  run(
    target: { readonly id: string } | { readonly language: LanguageName },
    execute: (session: Session) => Promise<SandboxResult>,
  ): Promise<{ readonly result: SandboxResult; readonly count: number; readonly session: Session }> {
    return this.#queue.run(async () => {
      const context = 'id' in target ? this.#get(target.id) : await this.#default(target.language);
      const { session } = context;
      const result = await withFilesOf(this.#owner, session, execute);
      context.count++;
      return { result, count: context.count, session };
    });
  }

  /** Uses the files, which are the same in every context. */
  files<T>(use: (sandbox: Sandbox) => Promise<T>): Promise<T> {
    return this.#queue.run(() => use(this.#owner));
  }

  remove(id: string): Promise<void> {
    return this.#queue.run(async () => {
      const context = this.#get(id);
      if (context.isDefault)
        throw new SandboxError(
          'invalid_argument',
          'The default context cannot be removed. Restart it instead.',
        );
      this.#contexts.delete(id);
      await context.session.close();
    });
  }

  /** Gives a context a new interpreter. Its files are kept. */
  restart(id: string): Promise<void> {
    return this.#queue.run(async () => {
      const context = this.#get(id);
      await context.session.restart();
      context.count = 0;
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
    return found ?? (await this.#create(language, '', true));
  }
}
