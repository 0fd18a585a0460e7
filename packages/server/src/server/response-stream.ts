/**
 * A response that consists of messages. They are sent in the order of the calls. A message is encoded when the client has room
 * for it, so what a client does not read takes no memory.
 */
import type { ServerResponse } from 'node:http';

export class ResponseStream {
  #tail: Promise<void> = Promise.resolve();
  #pending = 0;
  #hasEnded = false;

  constructor(
    readonly response: ServerResponse,
    readonly contentType: string,
  ) {}

  /** Whether all messages have been sent. */
  get isIdle(): boolean {
    return this.#pending === 0;
  }

  /** Sends the head of the response, if it has not been sent. */
  start(): void {
    if (this.response.headersSent || this.response.destroyed) return;
    this.#writeHead();
    this.response.flushHeaders();
  }

  #writeHead(): void {
    if (!this.response.headersSent) this.response.writeHead(200, { 'content-type': this.contentType });
  }

  /** Sends a message, or several. Resolves when the client has room for more, or has left. */
  send(encode: () => Promise<Uint8Array>): Promise<void> {
    this.#pending++;
    const sent = this.#tail
      .then(() => this.#write(encode))
      .catch((cause: unknown) => void this.response.destroy(cause as Error))
      .finally(() => this.#pending--);
    this.#tail = sent;
    return sent;
  }

  /** Ends the response after all messages. Later ones are not sent. */
  async end(): Promise<void> {
    await this.#tail;
    if (this.#hasEnded || this.response.destroyed) return;
    this.#hasEnded = true;
    this.#writeHead();
    this.response.end();
  }

  async #write(encode: () => Promise<Uint8Array>): Promise<void> {
    const { response } = this;
    if (this.#hasEnded || response.destroyed) return;
    const bytes = await encode();
    if (response.destroyed) return;
    this.#writeHead();
    if (response.write(bytes)) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        response.off('drain', done);
        response.off('close', done);
        resolve();
      };
      response.on('drain', done);
      response.on('close', done);
    });
  }
}
