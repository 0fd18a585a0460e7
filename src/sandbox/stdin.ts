/** Reads the standard input of a call into memory, bounded. */
import { SandboxError } from '../errors.ts';

/** Bytes of standard input that one call accepts. */
const MAX_STDIN_BYTES = 256 * 1024 * 1024;

export type StdinSource = string | Uint8Array | AsyncIterable<string | Uint8Array>;

/**
 * The bytes of `stdin`. A stream is read to its end, or until the signal is aborted. Anything else is returned at once,
 * so that the call is queued before later ones. Bytes are copied, because the caller may reuse its buffer while the call
 * is queued.
 */
export function readStdin(stdin: StdinSource, signal: AbortSignal): Uint8Array | Promise<Uint8Array> {
  if (typeof stdin === 'string') return checkSize(new TextEncoder().encode(stdin));
  return stdin instanceof Uint8Array ? new Uint8Array(checkSize(stdin)) : readStream(stdin, signal);
}

async function readStream(
  stdin: AsyncIterable<string | Uint8Array>,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let total = 0;
  for await (const chunk of abortable(stdin, signal)) {
    const bytes = typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk;
    if (!(bytes instanceof Uint8Array))
      throw new SandboxError('invalid_argument', 'options.stdin: the stream must yield strings or bytes.');
    total += bytes.length;
    checkLength(total);
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}

function checkSize(bytes: Uint8Array): Uint8Array {
  checkLength(bytes.length);
  return bytes;
}

function checkLength(length: number): void {
  if (length <= MAX_STDIN_BYTES) return;
  const advice = 'Write large input to a file with the files option, or mount it';
  throw new SandboxError(
    'invalid_argument',
    `options.stdin: longer than the maximum of ${MAX_STDIN_BYTES} bytes. ${advice}.`,
  );
}

/** Yields from a stream until it ends or the signal is aborted. */
async function* abortable<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const iterator = source[Symbol.asyncIterator]();
  let hasEnded = false;
  let stop = () => {};
  const aborted = new Promise<'aborted'>((resolve) => {
    stop = () => resolve('aborted');
  });
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), aborted]);
      if (next === 'aborted') return;
      hasEnded = next.done === true;
      if (next.done) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener('abort', stop);
    // Not awaited: a stream that never answers must not keep the call from ending.
    if (!hasEnded) (async () => iterator.return?.())().catch(() => {});
  }
}
