/** Asks the person at the terminal about tool calls of a program. Without a terminal, they are denied. */
import { randomInt } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { SerialQueue } from '../concurrency/serial-queue.ts';
import { callText } from '../tools/question-text.ts';
import type { ApprovalDecision, ApprovalRequest } from '../tools/tool-call.ts';

const questions = new SerialQueue();
/** An open decision would pause the program, and no command resumes it. */
const UNANSWERED = { approved: false, reason: 'the question was not answered' };

/** Calls are asked about one after another. Standard input belongs to the program, so the answer comes from the terminal. */
export function askAtTerminal(request: ApprovalRequest): ApprovalDecision | Promise<ApprovalDecision> {
  if (!process.stderr.isTTY) return { approved: false, reason: 'there is no terminal to ask a person' };
  return questions.run(() => ask(request));
}

async function ask(request: ApprovalRequest): Promise<ApprovalDecision> {
  const { signal } = request;
  if (signal.aborted) return UNANSWERED;
  // A program could ask the person to press a key before the question appears, but it cannot know this code.
  const code = String(randomInt(1000, 10_000));
  process.stderr.write(
    `The program wants to call ${callText(request)}\nType ${code} to allow the call, or anything else to deny it: `,
  );
  const line = await readLine(signal);
  if (line === undefined) return UNANSWERED;
  return line.trim() === code ? true : { approved: false, reason: 'a person denied the call' };
}

/** A line from the terminal; undefined if there is none or the program has ended. */
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
