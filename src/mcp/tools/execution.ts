/** Tools that run programs and stop them. */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { SandboxError } from '../../errors.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { runtimeName } from '../../schema.ts';
import { executionStats } from '../metrics.ts';
import { executionOutput, executionResult } from '../reply.ts';
import type { ServerSettings } from '../settings.ts';
import { DEFAULT_SESSION } from '../tenant.ts';
import {
  ADDITIVE,
  DESTRUCTIVE_IDEMPOTENT,
  defineTool,
  optionalSession,
  runScheduled,
  type Tool,
  type ToolCall,
} from '../tool.ts';
import { executeCodeDescription, suggestedFuelBudget } from '../tool-descriptions.ts';

const MAX_CODE_CHARS = 1_000_000;

function executeInput(settings: ServerSettings) {
  return z.strictObject({
    code: z.string().max(MAX_CODE_CHARS).describe('Program text. Print what you want to see.'),
    language: runtimeName.describe('Language of the code; a session accepts only its own.'),
    session_id: optionalSession.describe(
      'Omitted: fresh interpreter, default workspace. Given: multi-turn work in that session.',
    ),
    timeout: z
      .number()
      .positive()
      .max(settings.max_timeout_seconds)
      .optional()
      .describe(`Seconds for this call, e.g. ${Math.min(60, settings.max_timeout_seconds)}.`),
    fuel_budget: z
      .number()
      .int()
      .min(1)
      .max(settings.max_fuel_budget)
      .optional()
      .describe(`Instructions for this call, e.g. ${suggestedFuelBudget(settings)}.`),
    stdin: z.string().optional().describe('What the program reads from standard input.'),
    files: z
      .record(z.string(), z.string())
      .optional()
      .describe('Text files to write first, e.g. {"data.csv": "a,b\\n1,2"}.'),
  });
}

type ExecuteArguments = z.output<ReturnType<typeof executeInput>>;

/** Where the program runs: in its session, or in a sandbox of its own over the default workspace. */
async function resolveTarget({ session_id, language }: ExecuteArguments, { tenant }: ToolCall) {
  const home = await tenant.open(session_id);
  if (session_id === undefined || session_id === DEFAULT_SESSION) {
    return { key: randomUUID(), take: () => home.alongside(language), leave: (own: Sandbox) => own.close() };
  }
  if (home.runtime !== language) {
    const fact = `The session ${session_id} runs ${home.runtime}, and this call asks for ${language}`;
    throw new SandboxError(
      'session_mismatch',
      `${fact}. Pass language: "${home.runtime}", or create_session(language="${language}"). Nothing was run.`,
    );
  }
  return { key: `${tenant.id}/${session_id}`, take: async () => home, leave: async () => {} };
}

async function execute(args: ExecuteArguments, call: ToolCall) {
  const { state, tenant, progress } = call;
  const session_id = args.session_id ?? DEFAULT_SESSION;
  const { key, take, leave } = await resolveTarget(args, call);
  const submitted = performance.now();
  let waitedMs = 0;
  const result = await tenant.runCancellable(session_id, call.signal, (signal) =>
    runScheduled(call, key, signal, async () => {
      waitedMs = performance.now() - submitted;
      const sandbox = await take();
      try {
        return await sandbox.execute(args.code, { ...options(args), ...reporting(progress), signal });
      } finally {
        await leave(sandbox);
      }
    }),
  );
  const facts = executionStats(args.language, result);
  for (const numbers of [tenant.stats, state.metrics])
    numbers.recordExecution({ ...facts, queue_ms: facts.queue_ms + waitedMs });
  return executionResult(result, {
    language: args.language,
    session_id,
    maxChars: state.settings.max_output_chars,
    cacheOutput: (stream, text) => tenant.outputs.add(session_id, stream, text),
  });
}

function options({ stdin, timeout, fuel_budget, files }: ExecuteArguments) {
  return {
    ...(stdin !== undefined && { stdin }),
    ...(timeout !== undefined && { timeout_seconds: timeout }),
    ...(fuel_budget !== undefined && { fuel_budget }),
    ...(files !== undefined && { files }),
  };
}

/** Receivers that tell the client of fuel and output, for one that asked. */
function reporting(progress: ToolCall['progress']) {
  if (progress === undefined) return {};
  let output = '';
  const collect = (text: string) => {
    output = (output + text).slice(-2000);
  };
  return {
    on_stdout: collect,
    on_stderr: collect,
    on_progress: (fuel: { fuel_consumed: number; fuel_budget: number }) => {
      progress({ ...fuel, output });
      output = '';
    },
  };
}

export function executionTools(settings: ServerSettings): Tool[] {
  return [
    defineTool({
      name: 'execute_code',
      title: 'Run code',
      description: executeCodeDescription(settings),
      input: executeInput(settings),
      output: executionOutput,
      annotations: ADDITIVE,
      run: execute,
    }),
    defineTool({
      name: 'cancel_execution',
      title: 'Cancel running code',
      description:
        'Stop (abort) the programs that run or wait in a session, at once. Returns how many were stopped; each of their calls ends with trap_reason cancelled. Use it when code hangs or takes too long; not to end a session (destroy_session).',
      input: z.strictObject({ session_id: optionalSession }),
      output: z.object({ session_id: z.string(), cancelled: z.number().int() }),
      annotations: DESTRUCTIVE_IDEMPOTENT,
      run: async ({ session_id = DEFAULT_SESSION }, { tenant }) => {
        await tenant.open(session_id);
        const cancelled = tenant.cancel(session_id);
        const text =
          cancelled === 0
            ? `Nothing was running in session ${session_id}.`
            : `Cancelled ${cancelled} running or waiting call(s) of session ${session_id}.`;
        return { text, structured: { session_id, cancelled } };
      },
    }),
  ];
}
