/** The standard input of a call: the bytes that have arrived, and a way to wait for more. */
import { syscallError } from './syscall-error.ts';

/** Waits for more input: bytes, `end`, or `interrupted` by a limit. */
export type AwaitInput = () => Uint8Array | 'end' | 'interrupted';

export class StandardInput {
  #unread: Uint8Array;
  #more: AwaitInput | undefined;

  /** `more` is absent if no more input will arrive. */
  constructor(arrived: Uint8Array = new Uint8Array(), more?: AwaitInput) {
    this.#unread = arrived;
    this.#more = more;
  }

  /** Returns the number of bytes, 0 at the end of the input. Fails with EINTR if a limit ends the wait. */
  read(into: Uint8Array): number {
    if (this.#unread.length === 0 && into.length > 0 && this.#more !== undefined) {
      const more = this.#more();
      if (more === 'interrupted') throw syscallError('EINTR');
      if (more === 'end') this.#more = undefined;
      else this.#unread = more;
    }
    const count = Math.min(into.length, this.#unread.length);
    into.set(this.#unread.subarray(0, count));
    this.#unread = this.#unread.subarray(count);
    return count;
  }
}
