/** Runs the function of a tool. */
import type { OfferedTool, ToolContext } from './toolset.ts';

/** Maximum number of values of an async iterable. Tools of the AI SDK return one for preliminary results; the last value is the result. */
const MAX_ITERATIONS = 100_000;

/** Runs a tool and returns its result. */
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
