/**
 * Runs attacks of programs that call tools. Whatever the program does, the host must call no tool without approval, call
 * tools only with arguments that match their schemas, and resume a paused program once.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type {
  OnApproval,
  SandboxResult,
  Session,
  ToolContext,
  ToolRecord,
} from '@llm-wasm-sandbox/core/internal';
import { createSandbox, formatItems, memoryStore, SandboxError } from '@llm-wasm-sandbox/core/internal';
import type { Attack, ToolAttack } from './attack.ts';
import { checkResult } from './check-result.ts';
import { ATTACK_PROGRAMS } from './programs/index.ts';
import type { Surroundings } from './surroundings.ts';

const DEFAULT_LIMITS = { fuel_budget: 2_000_000_000, timeout_seconds: 20, max_tool_calls: 50 };
/** Number of calls beyond the limit that are also recorded. */
const RECORDED_REFUSALS = 16;
const LARGE_TEXT = 'x'.repeat(3_000_000);

const MAX_CONCURRENT = 16;
const SLOW_MS = 20;

/** Whether JSON represents data exactly. */
const isExact = (data: object) => isDeepStrictEqual(JSON.parse(JSON.stringify(data)), data);

/** The calls that were made because they were approved. */
interface ApprovedCalls {
  /** The arguments that the last request for approval of `pay` has shown. */
  shown: string;
  /** The calls to `slow` that run now. */
  running: number;
  readonly ids: Set<string>;
  /** Called for every call; undefined while none is approved. */
  onCall: (() => void) | undefined;
}

/** The tools of an attack. `problems` receives what must not happen. */
function offeredTools(problems: string[], approved: ApprovedCalls): ToolRecord {
  return {
    echo: {
      inputSchema: { type: 'object', properties: { n: { type: 'integer' } }, additionalProperties: false },
      execute: async (args: Record<string, unknown>) => {
        const isValid = Object.keys(args).every((key) => key === 'n' && Number.isInteger(args[key]));
        if (!isValid) problems.push('a tool was called with arguments that its schema rejects');
        return args;
      },
    },
    danger: {
      needsApproval: true,
      execute: async (_: object, { call_id }: ToolContext) => {
        if (approved.onCall === undefined) problems.push('a tool was called without approval');
        if (approved.ids.has(call_id)) problems.push('an approved call was made twice');
        approved.ids.add(call_id);
        approved.onCall?.();
      },
    },
    pay: {
      needsApproval: true,
      execute: async (args: object) => {
        if (JSON.stringify(args) !== approved.shown || !isExact(args))
          problems.push('a tool was called with arguments that were not approved');
        return approved.shown;
      },
    },
    slow: async () => {
      approved.running++;
      if (approved.running > MAX_CONCURRENT) problems.push('more calls run at the same time than the limit');
      await delay(SLOW_MS);
      approved.running--;
    },
    wait: (_: object, context: { suspend(): never }) => context.suspend(),
    flood: async () => LARGE_TEXT,
  };
}

export async function runToolAttack(
  { runtime, policy, callsTools, outcomes, expect }: Attack<ToolAttack>,
  surroundings: Surroundings,
): Promise<string[]> {
  const problems: string[] = [];
  const approved: ApprovedCalls = { ids: new Set(), onCall: undefined, shown: '', running: 0 };
  const onApproval: OnApproval = ({ name, arguments: args }) => {
    if (name !== 'pay') return undefined;
    approved.shown = JSON.stringify(args);
    return true;
  };
  await using session: Session = await createSandbox({
    runtime: runtime!,
    session_id: 'attacked',
    store: memoryStore(),
    policy: { ...DEFAULT_LIMITS, ...policy },
    tools: offeredTools(problems, approved),
    onApproval,
  });
  const result = await session.execute(callsTools);
  const limits = { ...session.policy, timeout_seconds: session.policy.timeout_seconds * 2 };
  problems.push(...checkResult(result, limits, { ...(outcomes && { outcomes }), expect }));
  problems.push(...recordProblems(result, approved));
  if (result.metadata.state === 'paused') problems.push(...(await resumeTwice(session, result, approved)));
  const { fuel_budget } = DEFAULT_LIMITS;
  const next = await session.execute(ATTACK_PROGRAMS[runtime!].toolProbe, { fuel_budget });
  if (next.stdout !== '[1]\n') problems.push(`the next run printed ${JSON.stringify(next.stdout)}`);
  return [...problems, ...surroundings.checkHost()];
}

function recordProblems(
  { metadata: { tool_calls = [], pending = [] } }: SandboxResult,
  { shown }: ApprovedCalls,
): string[] {
  const problems: string[] = [];
  const paid = tool_calls.findLast(({ name, status }) => name === 'pay' && status === 'ok');
  if (paid !== undefined && !shown.startsWith(paid.arguments_preview))
    problems.push('the record of a call differs from what was approved');
  if (tool_calls.length > DEFAULT_LIMITS.max_tool_calls + RECORDED_REFUSALS)
    problems.push(`${formatItems(tool_calls.length, 'call')} are recorded`);
  if (tool_calls.some(({ name, status }) => name === 'danger' && status === 'ok'))
    problems.push('a call without approval is recorded as ok');
  if (new Set(pending.map(({ id }) => id)).size !== pending.length)
    problems.push('two pending calls have the same id');
  return problems;
}

const RESOLUTIONS = { approval: { approve: true }, suspended: { deny: true } } as const;

/**
 * Approves all calls but cancels the run as soon as one of them is made, then tries to use the same execution again. At
 * the end it denies what is still pending.
 */
async function resumeTwice(
  session: Session,
  { metadata }: SandboxResult,
  approved: ApprovedCalls,
): Promise<string[]> {
  const { execution_id = '', pending = [] } = metadata;
  const resolutions = pending.map(({ id, reason }) => ({ id, ...RESOLUTIONS[reason] }));
  const stop = new AbortController();
  approved.onCall = () => stop.abort();
  await session.resume(execution_id, { resolutions, signal: stop.signal });
  const codeOf = (cause: unknown) => (cause instanceof SandboxError ? cause.code : String(cause));
  const again = await session.resume(execution_id, { resolutions }).then(() => 'success', codeOf);
  approved.onCall = undefined;
  // Calls that had to wait for others become pending later. Every round answers at least one.
  let paused = await session.paused();
  for (let rounds = 0; paused !== undefined && rounds < DEFAULT_LIMITS.max_tool_calls; rounds++) {
    const denials = paused.pending.map(({ id }) => ({ id, deny: true as const }));
    await session.resume(paused.execution_id, { resolutions: denials });
    paused = await session.paused();
  }
  const problems = [];
  if (paused !== undefined) problems.push('the program is still paused although all calls were answered');
  if (again !== 'execution_not_found') problems.push(`the execution was resumed twice: ${again}`);
  return problems;
}
