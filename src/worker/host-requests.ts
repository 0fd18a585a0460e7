/**
 * Requests of a running guest that the main thread answers: more standard input, and waiting until output was received.
 * The thread is blocked meanwhile, so the answer is taken from the port without the event loop, and other messages are
 * kept for later. The time limit and cancellation end the wait.
 */
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import type { Guest } from '../engine/guest.ts';
import { CONTROL } from './control-block.ts';
import type { FromWorker, HostAnswer, HostRequest, ToWorker } from './protocol.ts';

export class HostRequests {
  #lastRequest = 0;
  readonly #deferred: ToWorker[] = [];

  constructor(
    readonly port: MessagePort,
    readonly control: Int32Array,
  ) {}

  /** Blocks the guest until the main thread has answered; undefined if a limit of the run ends the wait. */
  ask(job: number, guest: Guest, request: HostRequest): HostAnswer | undefined {
    const number = ++this.#lastRequest;
    this.port.postMessage({ type: 'request', id: job, number, request } satisfies FromWorker);
    let answer: HostAnswer | undefined;
    guest.waitFor(this.control, CONTROL.answers, () => {
      answer = this.#receive(number);
      return answer !== undefined;
    });
    return answer;
  }

  /** Messages that arrived while a guest waited, in order. */
  takeDeferred(): ToWorker[] {
    return this.#deferred.splice(0);
  }

  #receive(number: number): HostAnswer | undefined {
    for (;;) {
      const received = receiveMessageOnPort(this.port) as { readonly message: ToWorker } | undefined;
      if (received === undefined) return undefined;
      const { message } = received;
      // The answer to a request that a limit ended is dropped.
      if (message.type !== 'answer') this.#deferred.push(message);
      else if (message.number === number) return message.answer;
    }
  }
}
