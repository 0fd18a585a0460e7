/**
 * Requests of a running guest that the main thread answers: more standard input, waiting until output was received, and
 * tool calls, images. The thread is blocked meanwhile, so answers are taken from the port without the event loop, and other
 * messages are kept for later.
 */
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import type { Guest } from '../../engine/guest.ts';
import { CONTROL } from '../protocol/control-block.ts';
import type { FromWorker, HostAnswer, HostRequest, ToWorker } from '../protocol/messages.ts';

/** A message about the images that a thread can run. */
export type ImageMessage = Extract<ToWorker, { readonly type: 'load' | 'unload' }>;

export class HostRequests {
  #lastRequest = 0;
  /** The requests whose answers are wanted. Other answers are dropped. */
  readonly #open = new Set<number>();
  readonly #answers = new Map<number, HostAnswer>();
  readonly #deferred: ToWorker[] = [];

  constructor(
    readonly port: MessagePort,
    readonly control: Int32Array,
    /** Loads or unloads an image at once, because a process of the guest that waits may need it. */
    readonly onImage: (message: ImageMessage) => void,
  ) {}

  /** Sends a request without waiting. Returns its number, for `take`. */
  post(job: number, request: HostRequest): number {
    const number = ++this.#lastRequest;
    this.#open.add(number);
    this.port.postMessage({ type: 'request', id: job, number, request } satisfies FromWorker);
    return number;
  }

  /** Sends a request that needs no answer. */
  notify(job: number, request: HostRequest): void {
    this.forget(this.post(job, request));
  }

  /** Blocks the guest until the main thread has answered; undefined if a limit of the run ends the wait. */
  ask(job: number, guest: Guest, request: HostRequest): HostAnswer | undefined {
    const number = this.post(job, request);
    let answer: HostAnswer | undefined;
    guest.waitFor(this.control, CONTROL.answers, () => {
      answer = this.take(number);
      return answer !== undefined;
    });
    this.forget(number);
    return answer;
  }

  /** The answer to a request, if it has arrived. */
  take(number: number): HostAnswer | undefined {
    this.#receive();
    const answer = this.#answers.get(number);
    if (answer !== undefined) this.forget(number);
    return answer;
  }

  /** Drops the answer to a request, now or when it arrives. */
  forget(number: number): void {
    this.#open.delete(number);
    this.#answers.delete(number);
  }

  /** Messages that arrived while a guest waited, in order. */
  takeDeferred(): ToWorker[] {
    return this.#deferred.splice(0);
  }

  #receive(): void {
    for (;;) {
      const received = receiveMessageOnPort(this.port) as { readonly message: ToWorker } | undefined;
      if (received === undefined) return;
      const { message } = received;
      if (message.type === 'load' || message.type === 'unload') this.onImage(message);
      else if (message.type !== 'answer') this.#deferred.push(message);
      else if (this.#open.has(message.number)) this.#answers.set(message.number, message.answer);
    }
  }
}
