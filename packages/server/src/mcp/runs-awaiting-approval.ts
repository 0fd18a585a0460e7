/**
 * Runs that wait for a person's decision between two requests of a client. A waiting run belongs to one tenant and one request.
 * Each of its rounds can be answered once, at any server that shares the database, and the run is cancelled if no answer arrives.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type {
  ApprovalDecision,
  ApprovalRequest,
  ApprovalRounds,
  OnApproval,
  RoundKey,
} from '@llm-wasm-sandbox/core/internal';
import { SandboxError } from '@llm-wasm-sandbox/core/internal';
import { relayAnswer, serializeOutcome } from './relayed-answers.ts';

/** How long a run waits for the next request of the client. */
export const ANSWER_SECONDS = 600;
/** Concurrent calls of a program are collected for this long and asked about together. */
const COLLECT_MS = 20;
/** How many times a run may ask. Later calls that need approval are denied without asking. */
export const MAX_ROUNDS = 64;
/** Runs of a tenant that can wait at the same time. Each holds its memory and its result. */
export const MAX_WAITING_RUNS = 16;
/** Interval at which answers that other servers have received are looked for, while runs wait. */
const ANSWER_POLL_MS = 500;
const TOO_MANY_QUESTIONS = { approved: false, reason: 'too many questions' };

/** Identifies a round of a waiting run. The server signs it, and the client returns it with the answers. */
export interface RoundState {
  readonly run: string;
  readonly round: string;
  /** Keys of the questions. */
  readonly keys: readonly string[];
}

/** A call that needs a person's decision. */
export interface ApprovalQuestion {
  readonly key: string;
  readonly request: Omit<ApprovalRequest, 'signal'>;
}

/** The value of a run that has ended, or the questions that must be answered before it can continue. */
export type ApprovalProgress<T> =
  | { readonly type: 'done'; readonly value: T }
  | {
      readonly type: 'questions';
      readonly questions: readonly ApprovalQuestion[];
      readonly state: RoundState;
    };

/** Identifies the client and the request to which a run belongs. */
export interface RunOwner {
  readonly tenant: string;
  /** Digest of the tool and its arguments. A client must repeat the same request with its answers. */
  readonly request: string;
}

interface Asked {
  readonly question: ApprovalQuestion;
  readonly decide: (decision: ApprovalDecision) => void;
}

const withoutSignal = ({ signal: _, ...request }: ApprovalRequest) => request;

/** A run whose calls a person may have to approve. */
class ApprovableRun<T> {
  readonly id = randomUUID();
  readonly #controller = new AbortController();
  readonly asked = new Map<string, Asked>();
  round = '';
  rounds = 0;
  #ended: Promise<{ readonly value: T }> | undefined;
  #onQuestion: (() => void) | undefined;

  constructor(readonly owner: RunOwner) {}

  /** Aborted when the run is cancelled. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Asks a person about a call. */
  readonly ask: OnApproval = (request) => {
    if (this.rounds > MAX_ROUNDS) return TOO_MANY_QUESTIONS;
    return new Promise((decide) => {
      const key = `call_${request.seq}`;
      const forget = () => this.asked.delete(key);
      request.signal.addEventListener('abort', forget, { once: true });
      this.asked.set(key, {
        question: { key, request: withoutSignal(request) },
        decide: (decision) => {
          request.signal.removeEventListener('abort', forget);
          decide(decision);
        },
      });
      this.#onQuestion?.();
    });
  };

  /** The result of the run. */
  set result(result: Promise<T>) {
    this.#ended = result.then((value) => ({ value }));
    // `next` reports a failure; between two requests nothing awaits the result.
    this.#ended.catch(() => {});
  }

  cancel(): void {
    this.#controller.abort();
  }

  /** Makes the decisions. A question without one stays open. */
  decide(decisionOf: (key: string) => ApprovalDecision): void {
    for (const [key, { decide }] of this.asked) {
      const decision = decisionOf(key);
      if (decision === undefined) continue;
      decide(decision);
      this.asked.delete(key);
    }
  }

  /** Waits until the run ends or has a question. If `signal` aborts, the run is cancelled. */
  async next(signal: AbortSignal): Promise<{ readonly value: T } | undefined> {
    const cancel = () => this.cancel();
    if (signal.aborted) cancel();
    signal.addEventListener('abort', cancel, { once: true });
    try {
      const question = new Promise<undefined>((resolve) => {
        this.#onQuestion = () => resolve(undefined);
        if (this.asked.size > 0) resolve(undefined);
      });
      const first = await Promise.race([this.#ended!, question]);
      if (first !== undefined) return first;
      return await Promise.race([this.#ended!, delay(COLLECT_MS, undefined)]);
    } finally {
      signal.removeEventListener('abort', cancel);
      this.#onQuestion = undefined;
    }
  }
}

/** A run between two requests. */
interface WaitingRound {
  readonly run: ApprovableRun<unknown>;
  readonly timer: NodeJS.Timeout;
  /** Whether other servers can answer the round. */
  isShared: boolean;
}

/** The waiting runs of a server. With `rounds`, other servers that share the database can receive the answers. */
export class RunsAwaitingApproval {
  readonly #waiting = new Map<string, WaitingRound>();
  /** Rounds that were answered at another server and whose outcome that server awaits. */
  readonly #relayed = new Map<string, AbortController>();
  #poll: NodeJS.Timeout | undefined;

  constructor(readonly rounds?: ApprovalRounds) {}

  /** A run that may ask. Its `result` must be set before `next`. */
  open<T>(owner: RunOwner): ApprovableRun<T> {
    return new ApprovableRun<T>(owner);
  }

  /** Whether this server runs the program that waits for an answer to this round. */
  isWaiting({ run, round }: RoundState): boolean {
    return this.#waiting.get(run)?.run.round === round;
  }

  /** Continues a run with the decisions of a person. Throws if the round is over or belongs to another client or request. */
  async continue<T>(
    owner: RunOwner,
    { run: id, round }: RoundState,
    decisionOf: (key: string) => ApprovalDecision,
    signal: AbortSignal,
  ): Promise<ApprovalProgress<T>> {
    const waiting = this.#waiting.get(id);
    const { run } = waiting ?? {};
    const isOwn = run?.owner.tenant === owner.tenant && run.owner.request === owner.request;
    if (waiting === undefined || run === undefined || run.round !== round || !isOwn) throw new NotWaiting();
    // An answer that decides nothing leaves the round open for another one.
    if (![...run.asked.keys()].some((key) => decisionOf(key) !== undefined)) return questionsOf(run);
    // Another request with the same state finds no run.
    this.#waiting.delete(id);
    clearTimeout(waiting.timer);
    if (waiting.isShared && !(await this.#close(run))) throw new NotWaiting();
    run.decide(decisionOf);
    return this.next(run as ApprovableRun<T>, signal);
  }

  /** Passes the decisions of a person to the server that runs the program, and waits for what follows. */
  async relay<T>(
    owner: RunOwner,
    { run, round, keys }: RoundState,
    decisionOf: (key: string) => ApprovalDecision,
    signal: AbortSignal,
  ): Promise<ApprovalProgress<T>> {
    if (this.rounds === undefined) throw new NotWaiting();
    const decisions = Object.fromEntries(keys.map((key) => [key, decisionOf(key)]));
    if (Object.values(decisions).every((decision) => decision === undefined)) throw noDecision(keys);
    const outcome = await relayAnswer(this.rounds, { ...owner, run, round }, decisions, signal);
    if (outcome === undefined) throw new NotWaiting();
    return outcome.value as ApprovalProgress<T>;
  }

  /** Ends the round for other servers. If one of them has already answered it, or the database fails, the run keeps waiting. */
  async #close(run: ApprovableRun<unknown>): Promise<boolean> {
    let isClosed = false;
    try {
      isClosed = await this.rounds!.close(run.round);
    } finally {
      if (!isClosed) {
        this.#hold(run).isShared = true;
        this.#watch();
      }
    }
    return isClosed;
  }

  #hold(run: ApprovableRun<unknown>): WaitingRound {
    const timer = setTimeout(() => this.#cancel(run.id), ANSWER_SECONDS * 1000).unref();
    const waiting = { run, timer, isShared: false };
    this.#waiting.set(run.id, waiting);
    return waiting;
  }

  /** The next round of a run: its questions, once it has some, or its value, once it has ended. */
  async next<T>(run: ApprovableRun<T>, signal: AbortSignal): Promise<ApprovalProgress<T>> {
    for (;;) {
      const ended = await run.next(signal);
      if (ended !== undefined) return { type: 'done', value: ended.value };
      // The program withdrew its calls while they were being collected.
      if (run.asked.size === 0) continue;
      const waiting = [...this.#waiting.values()].filter((one) => one.run.owner.tenant === run.owner.tenant);
      run.rounds = waiting.length < MAX_WAITING_RUNS ? run.rounds + 1 : MAX_ROUNDS + 1;
      if (run.rounds <= MAX_ROUNDS) return this.#wait(run);
      run.decide(() => TOO_MANY_QUESTIONS);
    }
  }

  /** Each round has its own id, so an answer cannot be used twice. */
  async #wait(run: ApprovableRun<unknown>): Promise<ApprovalProgress<never>> {
    run.round = randomUUID();
    const asked = questionsOf(run);
    const waiting = this.#hold(run);
    waiting.isShared = await this.#share({ ...run.owner, run: run.id, round: run.round });
    return asked;
  }

  /** If the database cannot be reached, only this server can receive the answer. */
  async #share(key: RoundKey): Promise<boolean> {
    const isShared =
      (await this.rounds?.open(key).then(
        () => true,
        () => false,
      )) === true;
    if (isShared) this.#watch();
    return isShared;
  }

  #watch(): void {
    this.#poll ??= setTimeout(() => this.#pollAnswers(this.rounds!), ANSWER_POLL_MS).unref();
  }

  /** Looks for answers that other servers have received, and for requests to cancel the runs that they have continued. */
  async #pollAnswers(rounds: ApprovalRounds): Promise<void> {
    const shared = [...this.#waiting.values()].filter(({ isShared }) => isShared);
    const watched = [...shared.map(({ run }) => run.round), ...this.#relayed.keys()];
    // If the database cannot be reached, the next attempt finds the answers.
    const answered = watched.length === 0 ? [] : await rounds.answered(watched).catch(() => []);
    for (const { round, answer, isCancelled } of answered) {
      if (isCancelled) this.#relayed.get(round)?.abort();
      const waiting = shared.find(({ run }) => run.round === round);
      if (waiting !== undefined && this.#waiting.get(waiting.run.id) === waiting)
        // biome-ignore lint/plugin: the decisions of one request, within the limits of request bodies
        void this.#continueRelayed(rounds, waiting, JSON.parse(answer));
    }
    this.#poll = undefined;
    if (this.#waiting.size + this.#relayed.size > 0) this.#watch();
  }

  /** Continues a run with decisions that another server has received. That server reads the outcome. */
  async #continueRelayed(
    rounds: ApprovalRounds,
    { run, timer }: WaitingRound,
    decisions: Readonly<Record<string, ApprovalDecision>>,
  ): Promise<void> {
    const { round } = run;
    const controller = new AbortController();
    this.#waiting.delete(run.id);
    clearTimeout(timer);
    this.#relayed.set(round, controller);
    run.decide((key) => decisions[key]);
    const outcome = await serializeOutcome(this.next(run, controller.signal));
    this.#relayed.delete(round);
    // Without an outcome, the other server reports that it is unknown.
    await rounds.finish(round, outcome).catch(() => {});
  }

  #cancel(id: string): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    waiting?.run.cancel();
    if (waiting?.isShared) this.rounds!.remove([waiting.run.round]).catch(() => {});
  }

  /** Cancels all runs. */
  close(): void {
    clearTimeout(this.#poll);
    for (const controller of this.#relayed.values()) controller.abort();
    for (const [id, { timer }] of this.#waiting) {
      clearTimeout(timer);
      this.#cancel(id);
    }
  }
}

/** The open questions of a run, for the client. */
function questionsOf(run: ApprovableRun<unknown>): ApprovalProgress<never> & { readonly type: 'questions' } {
  const questions = [...run.asked.values()].map(({ question }) => question);
  return {
    type: 'questions',
    questions,
    state: { run: run.id, round: run.round, keys: questions.map(({ key }) => key) },
  };
}

function noDecision(keys: readonly string[]): SandboxError {
  return new SandboxError(
    'invalid_argument',
    `The answer contains no decision about ${keys.join(', ')}. The program is still waiting. Repeat the request with the same requestState and an inputResponse for each of these keys.`,
  );
}

/** An answer came too late. */
export class NotWaiting extends SandboxError {
  constructor() {
    super(
      'invalid_argument',
      'The program is no longer waiting for this answer: the question was already answered, or the program has ended or was cancelled. If it was already answered, the request with that answer receives the result. Otherwise call execute_code again without the answer.',
    );
  }
}
