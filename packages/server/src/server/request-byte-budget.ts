/**
 * Limits the bytes that the server holds for one tenant and for one connection: request bodies until the response has
 * ended, and responses until the client has received them.
 */
import type { ServerResponse } from 'node:http';

export class ByteBudget {
  #used = 0;

  constructor(readonly maxBytes: number) {}

  get used(): number {
    return this.#used;
  }

  /** Takes bytes from the budget. If too few are left, takes none and returns false. */
  take(bytes: number): boolean {
    if (this.#used + bytes > this.maxBytes) return false;
    this.#used += bytes;
    return true;
  }

  give(bytes: number): void {
    this.#used -= bytes;
  }
}

/** The bytes of one request, which return to the budgets of its tenant and its connection when the response has ended. */
export class RequestBytes extends ByteBudget {
  #isClosed = false;

  constructor(
    readonly budgets: readonly ByteBudget[],
    /** The response, or the WebSocket of the connection. */
    response: { once(event: 'close', listener: () => void): unknown },
  ) {
    // The most that these bytes can ever be.
    super(Math.min(...budgets.map(({ maxBytes }) => maxBytes)));
    response.once('close', () => {
      this.give(this.used);
      this.#isClosed = true;
    });
  }

  override take(bytes: number): boolean {
    if (this.#isClosed) return false;
    const taken: ByteBudget[] = [];
    for (const budget of this.budgets) {
      if (budget.take(bytes)) taken.push(budget);
      else {
        for (const other of taken) other.give(bytes);
        return false;
      }
    }
    return super.take(bytes);
  }

  override give(bytes: number): void {
    if (this.#isClosed) return;
    for (const budget of this.budgets) budget.give(bytes);
    super.give(bytes);
  }
}

type Callback = (error?: Error | null) => void;

/**
 * Counts what is written to a response until the client has received it. A response that exceeds the budget is cut off,
 * because its client is not reading.
 */
export function meterResponse(response: ServerResponse, bytes: RequestBytes): void {
  const write = response.write.bind(response) as (
    chunk: unknown,
    encoding: unknown,
    done: Callback,
  ) => boolean;
  const end = response.end.bind(response) as (...args: unknown[]) => ServerResponse;
  response.write = ((chunk: string | Uint8Array, ...rest: unknown[]) => {
    const size = chunk.length;
    if (!bytes.take(size)) {
      response.destroy();
      return false;
    }
    const encoding = typeof rest[0] === 'string' ? rest[0] : undefined;
    const callback = rest.find((value) => typeof value === 'function') as Callback | undefined;
    return write(chunk, encoding, (error) => {
      if (!response.closed) bytes.give(size);
      callback?.(error);
    });
  }) as typeof response.write;
  response.end = ((...args: unknown[]) => {
    const [chunk] = args;
    // These bytes return to the budget when the response closes, which is when the client has received them.
    if ((typeof chunk === 'string' || chunk instanceof Uint8Array) && !bytes.take(chunk.length))
      return response.destroy();
    return end(...args);
  }) as typeof response.end;
}
