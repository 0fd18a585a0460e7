/** Calls the function of a tool. */
import type { OfferedTool, ToolContext } from './toolset.ts';

/** The outcome of work, or the reason of the signal if that comes first. The work itself goes on. */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** Values of an async iterable, which tools of the AI SDK return for preliminary results; the last one counts. */
const MAX_ITERATIONS = 100_000;

/** The result of a tool. */
export async function runTool(
  { definition }: OfferedTool,
  args: unknown,
  context: ToolContext,
): Promise<unknown> {
  const result: unknown = await definition.execute!(args, context);
  const iterator = (result as Partial<AsyncIterable<unknown>> | null | undefined)?.[Symbol.asyncIterator];
  if (typeof iterator !== 'function') return result;
  let last: unknown;
  let count = 0;
  for await (const value of result as AsyncIterable<unknown>) {
    last = value;
    if (context.signal.aborted || ++count > MAX_ITERATIONS) break;
  }
  return last;
}
