/** Asks the person at the terminal about tool calls of a program. Without an answer, a program in a session pauses. */
import { randomInt } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { ApprovalDecision, OnApproval, PendingCall, Resolution } from '@llm-wasm-sandbox/core/internal';
import {
  actionText,
  callText,
  escapeControls,
  isRequest,
  requestScope,
  SerialQueue,
} from '@llm-wasm-sandbox/core/internal';

const questions = new SerialQueue();
const NEVER = new AbortController().signal;
export const DENIED_BY_PERSON = 'a person denied the call';
/** Warns of a call that `uncertainCalls` returns. */
export const APPROVED_BEFORE =
  'was already approved in an earlier resume of the program. That resume is still in progress, or was rolled back, undone or interrupted. The tool may already have run';

/** Whether questions can be asked. They appear on standard error, because standard output belongs to the program. */
export const hasTerminal = () => process.stderr.isTTY === true;

/** Shows a question and reads a line; undefined if there is none or the program has ended. */
type Ask = (question: string, signal: AbortSignal) => Promise<string | undefined>;

/** Asks about one call at a time. An unanswered question leaves the decision open if the program can pause. */
export const approvalFrom =
  (ask: Ask, canPause: boolean): OnApproval =>
  async (request) => {
    const decision = await questions.run(() => askApproval(request, request.signal, ask));
    return decision ?? unanswered('the question was not answered', canPause);
  };

/** The same on the terminal of the process, if it has one. */
export function approvalAtTerminal(canPause: boolean): OnApproval {
  if (hasTerminal()) return approvalFrom(askAtTerminal, canPause);
  return async () => unanswered('there is no terminal on which to ask for approval', canPause);
}

const unanswered = (reason: string, canPause: boolean) =>
  canPause ? undefined : { approved: false, reason };

async function askApproval(
  call: { readonly name: string; readonly arguments: unknown },
  signal: AbortSignal,
  ask: Ask,
): Promise<ApprovalDecision> {
  // A program could ask the person to press a key before the question appears, but it cannot know this code.
  const code = String(randomInt(1000, 10_000));
  // The name is repeated, because it may have scrolled out of view.
  const question = isRequest(call)
    ? `Type ${code} to allow this request, ${code}s to allow all ${requestScope(call)} from now on, "never" to deny all of them, or anything else to deny it: `
    : `Type ${code} to allow this call to ${escapeControls(call.name)}, or anything else to deny it: `;
  const line = (await ask(`The program wants to ${actionText(call)}.\n${question}`, signal))?.trim();
  if (line === undefined) return undefined;
  if (line === code) return true;
  const denied = { approved: false, reason: DENIED_BY_PERSON };
  if (!isRequest(call)) return denied;
  if (line === `${code}s`) return { approved: true, for: 'session' };
  return line === 'never' ? { ...denied, for: 'session' } : denied;
}

/** Asks how to answer a call of a paused program. Undefined leaves it unanswered. */
export async function askResolution(
  call: PendingCall,
  isUncertain: boolean,
): Promise<Resolution | undefined> {
  const { id, reason } = call;
  if (isUncertain) process.stderr.write(`The next call ${APPROVED_BEFORE}.\n`);
  if (reason === 'approval') {
    const decision = await askApproval(call, NEVER, askAtTerminal);
    if (decision === undefined) return undefined;
    const isApproved = decision === true || (typeof decision === 'object' && decision.approved);
    return isApproved ? { id, approve: true } : { id, deny: DENIED_BY_PERSON };
  }
  for (;;) {
    const line = await askAtTerminal(
      `The program is waiting for the result of ${callText(call)}.\nType it as JSON, or press Enter to leave the call unanswered: `,
      NEVER,
    );
    if (line === undefined || line.trim() === '') return undefined;
    try {
      return { id, value: JSON.parse(line) };
    } catch {
      process.stderr.write('This is not valid JSON. Put text in double quotes.\n');
    }
  }
}

function askAtTerminal(text: string, signal: AbortSignal): Promise<string | undefined> {
  if (signal.aborted) return Promise.resolve(undefined);
  process.stderr.write(text);
  return readLine(signal);
}

/**
 * A line from the terminal, because standard input belongs to the program; undefined if there is none or the program has
 * ended.
 */
function readLine(signal: AbortSignal): Promise<string | undefined> {
  return new Promise((resolve) => {
    const input = createReadStream('/dev/tty');
    const finish = (line: string | undefined) => {
      input.destroy();
      resolve(line);
    };
    input.once('error', () => finish(undefined));
    signal.addEventListener('abort', () => finish(undefined), { once: true });
    createInterface({ input })
      .once('line', finish)
      .once('close', () => finish(undefined));
  });
}
