/**
 * The interpreter of a session, which continues with every call. A call is a transaction: its memory and its files are committed
 * together, or both are left as they were before the call.
 */
import { Cancellation, undefinedIfAborted } from '../concurrency/cancellation.ts';
import { contentsSource, readPackageSet } from '../packages/package-set.ts';
import type { Call } from '../sandbox/call-options.ts';
import { type FinishedCall, type Interpreter, outcomeOf, untilComplete } from '../sandbox/interpreter.ts';
import type { SandboxCore } from '../sandbox/sandbox-core.ts';
import { extensionOf, loadsImports, type ProgramImage } from '../sandbox/sandbox-image.ts';
import { stoppedByHost } from '../sandbox/to-result.ts';
import type { SessionRecord } from '../stores/store.ts';
import { isExtended } from '../worker/pool/guest-assets.ts';
import { unpackInThread } from '../worker/pool/unpack-in-thread.ts';
import type { WorkerTurn } from '../worker/pool/worker-turn.ts';
import type { RunOutcome } from '../worker/protocol/messages.ts';
import { CallTransaction } from './call-transaction.ts';
import { copyOf, inspectionCall } from './inspect-variables.ts';
import type { SessionAccess } from './session-access.ts';
import { recordedImage, recordedPackage, recordedPreload } from './session-image.ts';
import type { CommittedSession, SessionPersistence } from './session-persistence.ts';

const cancelled = (): RunOutcome => ({ ...stoppedByHost('cancelled', 0), state: 'rolled_back' });

export class SessionInterpreter implements Interpreter {
  readonly #core: SandboxCore;
  readonly #persistence: SessionPersistence;

  constructor(readonly access: SessionAccess) {
    this.#core = access.core;
    this.#persistence = access.persistence;
  }

  get record(): SessionRecord {
    return this.#persistence.record;
  }

  get cannotPause(): string | undefined {
    if (this.record.auto_persist_globals) return undefined;
    return 'its session does not keep variables (auto_persist_globals: false)';
  }

  async run(call: Call): Promise<FinishedCall> {
    const { key, tenant, images, parts } = this.#core;
    const isOwn = images.onDemand !== undefined || loadsImports(images.current);
    const needsPackages = (isOwn || call.packages?.areOfProcesses) && call.resumption === undefined;
    if (!needsPackages) return this.access.use(() => this.#run(call), call.signal);
    // Calls that can start again run one after another, so that they stay in order.
    const place = await parts.pool.acquireKey(tenant, `${key}:packages`, call.signal);
    try {
      return await untilComplete(images, call, () => this.#runWithPackages(call));
    } finally {
      place?.release();
    }
  }

  async #runWithPackages(call: Call): Promise<FinishedCall> {
    const { images, files } = this.#core;
    if (call.packages?.areOfProcesses) {
      const prepared = call.packages.prepare().then(() => true);
      const isReady = await undefinedIfAborted(prepared, call.signal);
      if (!isReady) return this.#finished(cancelled(), 0);
      return this.access.use(() => this.#run(call), call.signal);
    }
    const isFixed = loadsImports(images.current) && !this.#isUnused;
    const find = () => images.forCall(call, (path) => files.has(path));
    const image = isFixed ? undefined : await undefinedIfAborted(find(), call.signal);
    return this.access.use(async () => {
      if (image !== undefined && isExtended(image)) await this.#continueWith(image);
      const packages = extensionOf(images.current);
      return { ...(await this.#run(call)), packages };
    }, call.signal);
  }

  /** Adds packages to the session if it lacks some, after the calls that were started. */
  async #continueWith(added: ProgramImage): Promise<void> {
    const { current } = this.#core.images;
    const present = current.packages?.digests ?? [];
    const missing = added.packages!.digests.filter((digest) => !present.includes(digest));
    if (missing.length > 0 || loadsImports(current))
      await this.access.inTurn(() => this.#changeImage(added, missing));
  }

  /** Whether no call has run and the interpreter is that of the image. */
  get #isUnused(): boolean {
    return this.record.calls === 0 && this.#persistence.state.delta === undefined;
  }

  /**
   * Before its first call, an empty session starts in the image of the program; later it keeps its image, because its memory
   * is stored as its difference from that image, and gets only the files of the packages. A fork is not empty.
   */
  async #changeImage(added: ProgramImage, missing: readonly string[]): Promise<void> {
    const { images, parts } = this.#core;
    const { current } = images;
    if (this.#isUnused && (!isExtended(current) || loadsImports(current))) {
      images.current = { ...current, ...added };
      this.#persistence.setImage(recordedPreload(images.current));
      return;
    }
    if (missing.length === 0) return;
    const later = missing.map((digest) => recordedPackage('later', digest, added.packages!));
    const preload = [...this.record.preload, ...later];
    images.current = await recordedImage({ ...parts, image: images.current }, { ...this.record, preload });
    this.#persistence.setImage(preload);
  }

  async #run(call: Call): Promise<FinishedCall> {
    const { access } = this;
    const { images, key, parts } = this.#core;
    const queuedAt = performance.now();
    const turn = await this.#core.acquire(call.signal, true);
    const queueMs = performance.now() - queuedAt;
    if (turn === undefined) return this.#finished(cancelled(), queueMs);
    let transaction: CallTransaction | undefined;
    try {
      transaction = await CallTransaction.begin(access, call);
      if (!call.packages?.areOfProcesses) call.packages?.begin(images.current.packages?.facts);
      // A session always runs in the image it began in, because its memory is stored as its difference from that image.
      const job = this.#core.start(turn, call, {
        assets: images.current.assets,
        session: transaction.sessionInput(key),
        tree: access.files.snapshot(),
      });
      const outcome = await outcomeOf(job, call);
      if (outcome.trap?.reason === 'worker_lost' || call.packages?.mustRestart) {
        await transaction.revert();
        const finished = this.#finished({ ...outcome, state: 'rolled_back' }, queueMs);
        turn.release();
        return finished;
      }
      if (outcome.state !== 'rolled_back') await this.#recordPackages(call);
      transaction.answer(outcome, outcome.isPaused ? call.tools?.pause(call, outcome) : undefined);
      // Another process may resume a paused program as soon as the result is returned, and a program that was resumed must
      // not be found paused again, so both are saved first.
      const isDeferrable = !outcome.isPaused && call.resumption === undefined;
      if (parts.commit === 'background' && isDeferrable) {
        access.saveInBackground(transaction.commitInBackground(turn, job, outcome));
        return { outcome, queueMs };
      }
      const saved = await transaction.commitBeforeAnswer(job, outcome);
      const finished = this.#finished(saved, queueMs);
      turn.release();
      return finished;
    } catch (cause) {
      await transaction?.revert();
      turn.release();
      throw cause;
    }
  }

  /** Records the packages that processes have used, so that later calls and other processes have the same versions. */
  async #recordPackages({ packages: used }: Call): Promise<void> {
    const { images } = this.#core;
    const present = images.current.packages?.digests ?? [];
    const added = (used?.usedByProcesses ?? []).filter(([digest]) => !present.includes(digest));
    if (added.length === 0) return;
    const names = added.map(([digest, packages]) => recordedPackage('packages', digest, packages));
    const packages = await readPackageSet(
      [...present, ...added.map(([digest]) => digest)].map(contentsSource),
      unpackInThread,
    );
    images.current = { ...images.current, packages };
    this.#persistence.recordPackages([...this.record.preload, ...names]);
  }

  #finished(outcome: RunOutcome, queueMs: number): FinishedCall {
    return { outcome, queueMs, paused: this.#persistence.state.paused };
  }

  /** The result of a program that runs in a copy of the interpreter; undefined if it has none. Does not change the session. */
  async inspect(
    program: (declared: readonly string[]) => string,
    committed?: CommittedSession,
  ): Promise<unknown> {
    const { access } = this;
    const { calls, images, key, parts } = this.#core;
    this.#core.checkOpen();
    const cancellation = new Cancellation();
    calls.add(cancellation);
    let turn: WorkerTurn | undefined;
    try {
      turn = await this.#core.acquire(cancellation.signal);
      this.#core.checkOpen();
      if (turn === undefined) return undefined;
      const { record, state } = committed ?? this.#persistence;
      const { assets, runtime } = images.current;
      const call = inspectionCall(runtime, program(record.declared), parts.policy, cancellation.signal);
      const tree = committed ? access.files.with(state.workspace).snapshot() : access.files.snapshot();
      const job = this.#core.start(turn, call, { assets, session: copyOf(state, key), tree });
      const { report } = await outcomeOf(job, call);
      this.#core.checkOpen();
      return report?.result;
    } finally {
      turn?.release();
      calls.delete(cancellation);
    }
  }
}
