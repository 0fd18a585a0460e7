/** `resume`: answers tool calls of a paused program and continues it, with the output and the exit code of the program. */

import type { Resolution } from '@llm-wasm-sandbox/core/internal';
import {
  isRequest,
  type PausedExecution,
  type PendingCall,
  SandboxError,
  sharedPool,
  uncertainCalls,
} from '@llm-wasm-sandbox/core/internal';
import { InvalidArgumentError, Option } from 'commander';
import {
  APPROVED_BEFORE,
  approvalAtTerminal,
  askResolution,
  DENIED_BY_PERSON,
  hasTerminal,
} from '../ask-approval.ts';
import { onBrokenPipe } from '../broken-pipe.ts';
import type { CommandDetails } from '../command.ts';
import { printWarning } from '../diagnostics.ts';
import { UsageError } from '../exit-codes.ts';
import { interruptSignal } from '../exit-when-written.ts';
import { GuestOutput } from '../guest-output.ts';
import { openGateway } from '../open-gateway.ts';
import { findPaused, type PausedSession } from '../paused-sessions.ts';
import { reportRun } from '../report-run.ts';
import {
  GUIDANCE_OPTIONS,
  jsonOption,
  type MountOption,
  options,
  type StoreFlags,
  storeOptions,
} from '../shared-options.ts';
import { type NetworkFlags, networkFromFlags, PERMITTING_OPTIONS } from './open-sandbox.ts';
import { openSessionContext } from './session/context.ts';

interface ResumeFlags extends StoreFlags, NetworkFlags {
  readonly session?: string;
  readonly approve?: Resolution[];
  readonly deny?: Resolution[];
  readonly value?: Resolution[];
  readonly error?: Resolution[];
  readonly approveAll?: boolean;
  readonly toolsConfig?: string;
  readonly mount?: MountOption[];
  readonly json?: boolean;
  readonly guidance?: boolean;
}

function callId(text: string): number {
  if (!/^[1-9]\d{0,15}$/.test(text))
    throw new InvalidArgumentError('Expected the number of a call, as shown by "pending".');
  return Number(text);
}

/** Parses CALL_ID=TEXT. */
function answerOf(text: string): [id: number, answer: string] {
  const at = text.indexOf('=');
  if (at < 0) throw new InvalidArgumentError('Expected CALL_ID=ANSWER, such as 3=\'"yes"\'.');
  return [callId(text.slice(0, at)), text.slice(at + 1)];
}

function valueAnswer(text: string): Resolution {
  const [id, json] = answerOf(text);
  try {
    return { id, value: JSON.parse(json) };
  } catch {
    throw new InvalidArgumentError('The answer is not valid JSON. Put text in double quotes: \'3="yes"\'.');
  }
}

function errorAnswer(text: string): Resolution {
  const [id, error] = answerOf(text);
  return { id, error };
}

/** Collects the values of a repeatable option as answers. */
const collect =
  (parse: (text: string) => Resolution) =>
  (text: string, previous: readonly Resolution[] = []) => [...previous, parse(text)];

/** The only paused program with this id. A fork or an import of a paused session has the same id. */
function selectPaused(
  all: readonly PausedSession[],
  execution_id: string,
  flags: ResumeFlags,
): PausedSession {
  const found = all.filter(
    ({ execution, session_id }) =>
      execution.execution_id === execution_id && (flags.session ?? session_id) === session_id,
  );
  const [first, second] = found;
  if (first === undefined)
    throw new SandboxError(
      'execution_not_found',
      `There is no paused program with execution id ${JSON.stringify(execution_id.slice(0, 100))}. An id can be used once. After a resume that was rolled back or interrupted, the program has a new id. "llm-wasm-sandbox pending" lists the paused programs of a store.`,
    );
  if (second === undefined) return first;
  const names = found.map(({ session_id }) => session_id).join(', ');
  throw new UsageError(
    `Several sessions have a paused program with this execution id: ${names}. Add --session.`,
  );
}

/** The answers that the flags give, or the person at the terminal. */
async function resolutionsFor(execution: PausedExecution, flags: ResumeFlags): Promise<Resolution[]> {
  const { pending } = execution;
  const given = [flags.approve, flags.deny, flags.value, flags.error].flatMap((list) => list ?? []);
  const answered = new Set(given.map(({ id }) => id));
  const open = pending.filter(({ id }) => !answered.has(id));
  const uncertain = uncertainCalls(execution);
  if (flags.approveAll) {
    for (const call of open.filter((one) => uncertain.includes(one)))
      printWarning(
        `Call ${call.id} ${APPROVED_BEFORE}. --approve-all skips it; to approve it again, use --approve ${call.id}.`,
      );
    const approved = open.filter((call) => needsApproval(call) && !uncertain.includes(call));
    return [...given, ...approved.map(({ id }) => approval(id))];
  }
  if (given.length > 0) return given;
  if (!hasTerminal())
    throw new UsageError(
      `Answer at least one call with --approve, --deny, --value or --error. Pending calls: ${pending.map(({ id }) => id).join(', ')}.`,
    );
  const asked: Resolution[] = [];
  for (const call of open) {
    const resolution = await askResolution(call, uncertain.includes(call));
    if (resolution !== undefined) asked.push(resolution);
  }
  if (asked.length === 0) throw new UsageError('No call was answered, so the program remains paused.');
  return asked;
}

const needsApproval = ({ reason }: PendingCall) => reason === 'approval';
const approval = (id: number): Resolution => ({ id, approve: true });

async function resume(execution_id: string, flags: ResumeFlags): Promise<void> {
  const context = openSessionContext(flags);
  try {
    const { paused } = await findPaused(context);
    const { session_id, execution } = selectPaused(paused, execution_id, flags);
    const resolutions = await resolutionsFor(execution, flags);
    const requests = new Set(execution.pending.filter(isRequest).map(({ id }) => id));
    const isToolApproved = resolutions.some((one) => 'approve' in one && !requests.has(one.id));
    if (flags.toolsConfig === undefined && isToolApproved)
      throw new UsageError(
        'This command makes the approved calls, so it needs their tools: add --tools-config FILE.',
      );
    // The process ends with the run, so idle optimisation would only delay its end.
    const pool = sharedPool({ optimization: 'demand' });
    const policy = {
      ...(flags.mount !== undefined && { mounts: flags.mount }),
      ...networkFromFlags(requests.size > 0 ? { ...flags, askNet: true } : flags),
    };
    await using session = await context.sessions.get(session_id, { pool, policy });
    await using gateway = await openGateway(flags.toolsConfig);
    const output = new GuestOutput(Number.POSITIVE_INFINITY);
    // The call must leave the session in the same state whether or not its output is read to the end.
    onBrokenPipe(() => output.discard());
    const result = await session.resume(execution_id, {
      resolutions,
      tools: (await gateway?.toolset()) ?? {},
      onApproval: approvalAtTerminal(true),
      signal: interruptSignal(),
      ...(!flags.json && { onOutput: (stream, bytes) => output.write(stream, bytes) }),
    });
    await output.finish();
    // A failed save must be reported: flush() throws it.
    await session.flush();
    reportRun(result, session, output.dropped, flags);
  } finally {
    await context.sessions.close();
  }
}

export default {
  arguments: { '<EXECUTION_ID>': 'Execution to continue, as shown by "pending" and in the result' },
  options: [
    new Option('--approve <CALL_ID>', 'Approve a call and make it; repeatable').argParser(
      collect((text) => approval(callId(text))),
    ),
    new Option('--deny <CALL_ID>', 'Deny a call; the program gets a ToolError; repeatable').argParser(
      collect((text) => ({ id: callId(text), deny: DENIED_BY_PERSON })),
    ),
    new Option(
      '--value <CALL_ID=JSON>',
      'Answer a call with a value, without making the call; repeatable',
    ).argParser(collect(valueAnswer)),
    new Option('--error <CALL_ID=TEXT>', 'Answer a call with an error; repeatable').argParser(
      collect(errorAnswer),
    ),
    ...options({
      '--approve-all': 'Approve all other calls that need approval, except calls that may already have run',
      '--tools-config <FILE>':
        'JSON file with the MCP servers whose tools the program calls; without it, no tool can be called',
      '--session <ID>':
        'Session of the program; needed if a paused session was forked, because its forks have the same execution id',
      ...PERMITTING_OPTIONS,
      ...GUIDANCE_OPTIONS,
    }),
    ...storeOptions(),
    jsonOption("Print the result as JSON instead of the program's output"),
  ],
  examples: [
    'resume 3f0c3a52-8b9c-4a0e-9f57-0e3f3f1f7a11',
    'resume 3f0c3a52-8b9c-4a0e-9f57-0e3f3f1f7a11 --approve 1 --deny 2 --tools-config tools.json',
    'resume 3f0c3a52-8b9c-4a0e-9f57-0e3f3f1f7a11 --value \'1={"status":"paid"}\'',
  ],
  action: ([execution_id], flags) => resume(execution_id!, flags),
} satisfies CommandDetails<ResumeFlags>;
