/** Standard input of a process, which is written while it runs. What the process has not read yet is limited. */
import { invalidArgument, SandboxError } from '../errors.ts';

const MAX_UNREAD_BYTES = 1024 * 1024;

export class ProcessInput implements AsyncIterable<Uint8Array> {
  readonly #chunks: Uint8Array[] = [];
  #bytes = 0;
  #hasEnded = false;
  #wake: () => void = () => {};

  /** Throws `invalid_argument` if the input has ended, or `queue_full` if the process has not read enough of it. */
  write(bytes: Uint8Array): void {
    if (this.#hasEnded) throw invalidArgument('The standard input of the process is closed.');
    if (this.#bytes + bytes.length > MAX_UNREAD_BYTES)
      throw new SandboxError(
        'queue_full',
        `The process has not read ${this.#bytes} bytes of its input. Send more when it has.`,
      );
    this.#chunks.push(bytes);
    this.#bytes += bytes.length;
    this.#wake();
  }

  end(): void {
    this.#hasEnded = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (;;) {
      const next = this.#chunks.shift();
      if (next !== undefined) {
        this.#bytes -= next.length;
        yield next;
      } else if (this.#hasEnded) return;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }
}
