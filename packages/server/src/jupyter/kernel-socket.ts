/**
 * One WebSocket of a kernel. Messages are handled in order. What the client has not read yet, and what it has sent and
 * the kernel has not handled yet, is limited; a client that exceeds a limit is disconnected.
 */

import { SerialQueue } from '@llm-wasm-sandbox/core/internal';
import type { WebSocket } from 'ws';
import type { StreamLimits } from '../server/protocol.ts';
import { type ClientMessage, readMessage, V1_PROTOCOL } from './kernel-message.ts';

/** Messages of one client that wait. Running all cells of a notebook sends them at once. */
const MAX_WAITING = 1000;
const CLOSE = { goingAway: 1001, invalid: 1007, refused: 1008, tooMuch: 1009 } as const;

/** The kernel, as its connections see it. */
interface SocketReceiver {
  /** Resolves when the message is answered. Throws if it is invalid. */
  handle(socket: KernelSocket, message: ClientMessage): Promise<void>;
  disconnect(socket: KernelSocket): void;
}

export class KernelSocket {
  readonly #order = new SerialQueue();
  #waiting = 0;
  #isAlive = true;

  constructor(
    readonly socket: WebSocket,
    readonly kernel: SocketReceiver,
    readonly options: StreamLimits,
  ) {
    socket.on('message', (data, isBinary) => this.#receive(data as Buffer, isBinary));
    // Malformed frames and messages that are too large; the connection is closed afterwards.
    socket.on('error', () => {});
    socket.on('pong', () => {
      this.#isAlive = true;
    });
    socket.once('close', () => kernel.disconnect(this));
  }

  get isOpen(): boolean {
    return this.socket.readyState === this.socket.OPEN;
  }

  get protocol(): string {
    return this.socket.protocol;
  }

  /** Sends a message in the framing of this connection. */
  send(data: Buffer): void {
    if (!this.isOpen) return;
    const { bytes } = this.options;
    // The client does not read.
    if (!bytes.take(data.length)) this.socket.terminate();
    else this.socket.send(data, { binary: this.protocol === V1_PROTOCOL }, () => bytes.give(data.length));
  }

  #receive(data: Buffer, isBinary: boolean): void {
    if (this.#waiting >= MAX_WAITING || !this.options.bytes.take(data.length)) {
      this.close(CLOSE.tooMuch, 'Too many messages are waiting. Send fewer at a time.');
      return;
    }
    this.#waiting++;
    void this.#order.run(() => this.#handle(data, isBinary));
  }

  async #handle(data: Buffer, isBinary: boolean): Promise<void> {
    let handled: Promise<void> = Promise.resolve();
    const { refuse, nextSlice } = this.options;
    try {
      const reason = await refuse();
      if (reason !== undefined) this.close(CLOSE.refused, reason);
      else if (this.isOpen) {
        // One turn of the event loop can receive many messages.
        await nextSlice();
        const message = await readMessage({ data, isBinary, protocol: this.protocol }, nextSlice);
        handled = this.kernel.handle(this, message);
      }
    } catch (cause) {
      this.#refuse(cause);
    }
    // Requests wait for those before them, but interrupts and input do not, so the next message is read now.
    void handled.catch((cause: unknown) => this.#refuse(cause)).finally(() => this.#done(data.length));
  }

  #refuse(cause: unknown): void {
    this.close(CLOSE.invalid, cause instanceof Error ? cause.message : 'The message is invalid');
  }

  #done(size: number): void {
    this.#waiting--;
    this.options.bytes.give(size);
  }

  /** Ends the connection if the client has not answered the last ping. */
  ping(): void {
    if (!this.#isAlive) this.socket.terminate();
    this.#isAlive = false;
    if (this.isOpen) this.socket.ping();
  }

  /** The reason is limited to 123 bytes by the protocol. */
  close(code: number = CLOSE.goingAway, reason = 'The kernel has ended.'): void {
    this.socket.close(code, reason.replace(/[^\x20-\x7e]/g, ' ').slice(0, 120));
    // A client that does not answer must not keep the connection.
    setTimeout(() => this.socket.terminate(), 2000).unref();
  }
}
