/** Progress notifications of a running program, for clients that sent a progress token. */

import { escapeBlock, formatPercent, replaceLoneSurrogates } from '@llm-wasm-sandbox/core/internal';
import type { ServerContext } from '@modelcontextprotocol/server';

/** Minimum time between two notifications. */
const INTERVAL_MS = 200;
const MAX_OUTPUT_CHARS = 2000;
/** Every notification repeats the token of the client. Longer ones are ignored. */
const MAX_TOKEN_CHARS = 256;

interface RunProgress {
  readonly fuel_consumed: number;
  readonly fuel_budget: number;
  /** Output since the last report. */
  readonly output: string;
}

export type ReportProgress = (progress: RunProgress) => void;

/**
 * Returns a function that sends the percentage of the fuel budget used and recent output, or undefined if the client did
 * not ask for progress. The reported value always increases.
 */
export function progressReporter(
  request: Pick<ServerContext['mcpReq'], '_meta' | 'notify'>,
): ReportProgress | undefined {
  const progressToken = request._meta?.progressToken;
  if (progressToken === undefined || String(progressToken).length > MAX_TOKEN_CHARS) return undefined;
  let last = 0;
  let sentAt = 0;
  let pending = '';
  return ({ fuel_consumed, fuel_budget, output }) => {
    pending = lastChars(pending + output);
    const now = performance.now();
    const percent = Math.min(99, (100 * fuel_consumed) / fuel_budget);
    // A sleeping program uses no fuel, but its output is progress.
    if (now - sentAt < INTERVAL_MS || (percent <= last && pending === '')) return;
    sentAt = now;
    last = percent > last ? percent : last + 0.0001;
    const text = `${formatPercent(percent, 1)} of the fuel budget${pending === '' ? '' : `\n${escapeBlock(pending.trimEnd())}`}`;
    pending = '';
    const params = { progressToken, progress: last, total: 100, message: replaceLoneSurrogates(text) };
    request.notify({ method: 'notifications/progress', params }).catch(() => {});
  };
}

/** The end of a text, without the second half of a character that is cut in two. */
function lastChars(text: string): string {
  return text.slice(-MAX_OUTPUT_CHARS).replace(/^[\udc00-\udfff]/, '');
}
