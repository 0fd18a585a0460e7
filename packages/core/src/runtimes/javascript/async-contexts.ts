/**
 * The asynchronous contexts of promise jobs, for AsyncLocalStorage: a job runs in the context in which it was added to the
 * queue of the engine. The queue is in guest memory; jobs are numbered in the order in which they are added.
 */
import { isSyscallError } from '../../kernel/syscall-error.ts';
import { LIST } from './memory/quickjs-layout.ts';
import type { QuickJsGuest } from './syscalls/quickjs-guest.ts';

/** Jobs with this number and all later ones were added in the context, up to the next mark. */
interface Mark {
  readonly start: number;
  readonly context: number;
}

/** Smallest size of a job in guest memory, which bounds the length of the queue. */
const MIN_JOB_BYTES = 16;
const DAMAGED = 'the list of promise jobs is damaged';

export class AsyncContexts {
  readonly #guest: QuickJsGuest;
  /** Address of the list of pending jobs. */
  readonly #jobs: number;
  /** Whether the program uses contexts. Until then, nothing is counted. */
  #isActive = false;
  #marks: Mark[] = [];
  #current = 0;
  #next: number | undefined;
  /** Number of jobs that have run. */
  #executed = 0;
  /** Address and number of the last job that was counted, or 0. */
  #counted = { job: 0, number: 0 };

  constructor(guest: QuickJsGuest, jobs: number) {
    this.#guest = guest;
    this.#jobs = jobs;
  }

  /** The job before a job, or the last one. */
  #previous(at: number): number {
    try {
      return this.#guest.view.u32(at);
    } catch (cause) {
      if (isSyscallError(cause)) return this.#guest.abort(DAMAGED);
      throw cause;
    }
  }

  /** Number of jobs that have been added. Counts those that were added since it was called last. */
  #added(): number {
    const last = this.#previous(this.#jobs);
    const limit = this.#guest.view.all.length / MIN_JOB_BYTES;
    let count = 0;
    for (let at = last; at !== this.#jobs; at = this.#previous(at)) {
      if (at === this.#counted.job) {
        this.#counted = { job: last, number: this.#counted.number + count };
        return this.#counted.number;
      }
      if (++count > limit) return this.#guest.abort(DAMAGED);
    }
    this.#counted = { job: count === 0 ? 0 : last, number: this.#executed + count };
    return this.#counted.number;
  }

  /** Sets the context of the jobs that are added from now on. */
  set(context: number): void {
    this.#isActive = true;
    if (context === this.#current) return;
    const start = this.#added() + 1;
    if (this.#marks.at(-1)?.start === start) this.#marks.pop();
    this.#marks.push({ start, context });
    this.#current = context;
  }

  /** Sets the context of the next job, whatever the context in which it was added. */
  setNext(context: number): void {
    this.#next = context;
  }

  /** Begins a job, and returns its context. */
  beginJob(): number {
    if (!this.#isActive) return 0;
    const number = this.#executed + 1;
    while (this.#marks.length > 1 && this.#marks[1]!.start <= number) this.#marks.shift();
    const first = this.#marks[0];
    const own = first === undefined || first.start > number ? 0 : first.context;
    const context = this.#next ?? own;
    this.#next = undefined;
    this.set(context);
    const job = this.#guest.view.u32(this.#jobs + LIST.next);
    // The engine frees the job, and a new one may get its address.
    if (job === this.#counted.job) this.#counted = { job: 0, number: 0 };
    this.#executed = number;
    return context;
  }

  /** Begins a callback that is not a promise job. It has no context. */
  beginCallback(): number {
    if (!this.#isActive) return 0;
    this.#next = undefined;
    this.set(0);
    return 0;
  }

  /** The contexts of the running job and of those that have not run. */
  used(): ReadonlySet<number> {
    return new Set([this.#current, this.#next ?? 0, ...this.#marks.map(({ context }) => context)]);
  }
}

const contextsByGuest = new WeakMap<QuickJsGuest, AsyncContexts>();

/** Begins a run, in which no job has a context. `jobs` is the address of the list of pending jobs. */
export function beginContexts(guest: QuickJsGuest, jobs: number): AsyncContexts {
  const contexts = new AsyncContexts(guest, jobs);
  contextsByGuest.set(guest, contexts);
  return contexts;
}

/** The contexts of the running program, or undefined during boot. */
export const contextsOf = (guest: QuickJsGuest): AsyncContexts | undefined => contextsByGuest.get(guest);
