/**
 * Runs that wait for a person's decision between two requests of a client. A waiting run belongs to one tenant and one request.
 * Each of its rounds can be answered once, and the run is cancelled if no answer arrives.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { SandboxError } from '../errors.ts';
import type { ApprovalDecision, ApprovalRequest, OnApproval } from '../tools/tool-call.ts';

/** How long a run waits for the next request of the client. */
export const ANSWER_SECONDS = 600;
/** Concurrent calls of a program are collected for this long and asked about together. */
const COLLECT_MS = 20;
/** Times that a run may ask. Later calls that need approval are denied without asking. */
export const MAX_ROUNDS = 64;
/** Runs of a tenant that can wait at the same time. Each holds its memory and its result. */
export const MAX_WAITING_RUNS = 16;
const TOO_MANY_QUESTIONS = { approved: false, reason: 'too many questions' };

/** Identifies a round of a waiting run. The server signs it, and the client returns it with the answers. */
export interface RoundState {
  readonly run: string;
  readonly round: string;
}

/** A call that needs a person's decision. */
export interface ApprovalQuestion {
  readonly key: string;
  readonly request: ApprovalRequest;
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

class WaitingRun<T> {
  readonly id = randomUUID();
  readonly controller = new AbortController();
  readonly asked = new Map<string, Asked>();
  round = '';
  rounds = 0;
  result: Promise<T> | undefined;
  #onQuestion: (() => void) | undefined;

  constructor(readonly owner: RunOwner) {}

  readonly onApproval: OnApproval = (request) => {
    if (this.rounds > MAX_ROUNDS) return TOO_MANY_QUESTIONS;
    return new Promise((decide) => {
      const key = `call_${request.seq}`;
      const forget = () => this.asked.delete(key);
      request.signal.addEventListener('abort', forget, { once: true });
      this.asked.set(key, {
        question: { key, request },
        decide: (decision) => {
          request.signal.removeEventListener('abort', forget);
          decide(decision);
        },
      });
      this.#onQuestion?.();
    });
  };

  /** Waits until the run ends or has a question. If `signal` aborts, the run is cancelled. */
  async next(signal: AbortSignal): Promise<{ readonly value: T } | undefined> {
    const cancel = () => this.controller.abort();
    if (signal.aborted) cancel();
    signal.addEventListener('abort', cancel, { once: true });
    try {
      const question = new Promise<undefined>((resolve) => {
        this.#onQuestion = () => resolve(undefined);
        if (this.asked.size > 0) resolve(undefined);
      });
      const ended = this.result!.then((value) => ({ value }));
      const first = await Promise.race([ended, question]);
      if (first !== undefined) return first;
      return await Promise.race([ended, delay(COLLECT_MS, undefined)]);
    } finally {
      signal.removeEventListener('abort', cancel);
      this.#onQuestion = undefined;
    }
  }
}

/** The waiting runs of a server. */
export class Approvals {
  readonly #runs = new Map<string, { readonly run: WaitingRun<unknown>; readonly timer: NodeJS.Timeout }>();

  /** Starts a run whose calls a person may have to approve. */
  start<T>(
    owner: RunOwner,
    signal: AbortSignal,
    work: (onApproval: OnApproval, signal: AbortSignal) => Promise<T>,
  ): Promise<ApprovalProgress<T>> {
    const run = new WaitingRun<T>(owner);
    run.result = work(run.onApproval, run.controller.signal);
    // `next` reports a failure; between two requests nothing awaits the result.
    run.result.catch(() => {});
    return this.#advance(run, signal);
  }

  /** Continues a run with the decisions of a person. Throws if the round is over or belongs to another client or request. */
  continue<T>(
    owner: RunOwner,
    { run: id, round }: RoundState,
    decisionOf: (key: string) => ApprovalDecision,
    signal: AbortSignal,
  ): Promise<ApprovalProgress<T>> {
    const waiting = this.#runs.get(id);
    const { run } = waiting ?? {};
    const isOwn = run?.owner.tenant === owner.tenant && run.owner.request === owner.request;
    if (waiting === undefined || run === undefined || run.round !== round || !isOwn)
      throw new SandboxError(
        'invalid_argument',
        'The program is no longer waiting for this answer: the question was already answered, or the program has ended or was cancelled. Call execute_code again without the answer.',
      );
    clearTimeout(waiting.timer);
    this.#runs.delete(id);
    // A question without a decision is asked again.
    for (const [key, { decide }] of run.asked) {
      const decision = decisionOf(key);
      if (decision === undefined) continue;
      decide(decision);
      run.asked.delete(key);
    }
    return this.#advance(run as WaitingRun<T>, signal);
  }

  async #advance<T>(run: WaitingRun<T>, signal: AbortSignal): Promise<ApprovalProgress<T>> {
    const ended = await run.next(signal);
    if (ended !== undefined) return { type: 'done', value: ended.value };
    // The program has withdrawn its calls while they were collected.
    if (run.asked.size === 0) return this.#advance(run, signal);
    const waiting = [...this.#runs.values()].filter((one) => one.run.owner.tenant === run.owner.tenant);
    run.rounds = waiting.length < MAX_WAITING_RUNS ? run.rounds + 1 : MAX_ROUNDS + 1;
    if (run.rounds > MAX_ROUNDS) {
      for (const { decide } of run.asked.values()) decide(TOO_MANY_QUESTIONS);
      run.asked.clear();
      // No more questions are asked, so this waits for the end of the run.
      return this.#advance(run, signal);
    }
    // Each round has its own id, so an answer cannot be used twice.
    run.round = randomUUID();
    const timer = setTimeout(() => this.#cancel(run.id), ANSWER_SECONDS * 1000).unref();
    this.#runs.set(run.id, { run, timer });
    return {
      type: 'questions',
      questions: [...run.asked.values()].map(({ question }) => question),
      state: { run: run.id, round: run.round },
    };
  }

  #cancel(id: string): void {
    this.#runs.get(id)?.run.controller.abort();
    this.#runs.delete(id);
  }

  /** Cancels all runs. */
  close(): void {
    for (const [id, { timer }] of this.#runs) {
      clearTimeout(timer);
      this.#cancel(id);
    }
  }
}
