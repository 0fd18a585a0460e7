/** The result of `execute`: outcome, output, changed files, guidance and fuel analysis. */
import { z } from 'zod';
import { displayResult } from './display-result.ts';
import { guestError, stoppedAt } from './guest-report.ts';
import { runtimeName } from './names.ts';
import { pendingCall, toolCallRecord } from './tool-call-record.ts';
import { TRAPS, type TrapReason } from './traps.ts';

const trapReason = z.enum(Object.keys(TRAPS) as [TrapReason, ...TrapReason[]]);

/** The cost of one import in this run. */
export const importFacts = z.object({
  name: z.string().describe('Top-level name of the module.'),
  fuel: z.number().int().describe('WebAssembly instructions executed to load it, including its own imports.'),
  cached: z.boolean().describe('Whether it was already loaded.'),
});
/** The cost of one import in a run. */
export interface ImportFacts extends z.infer<typeof importFacts> {}

/** What went wrong and what to do. docs/ERROR_GUIDANCE.md lists the values of `error_type`. */
export const errorGuidance = z.object({
  error_type: z.string().describe('Kind of failure.'),
  error_message: z.string().describe('The exception or the trap, on one line.'),
  actionable_guidance: z.array(z.string()).describe('Facts and steps, most important first.'),
  related_docs: z.array(z.string()).describe('Sections of the documentation of this package.'),
  code_examples: z.array(z.string()).optional().describe('Example code, where it helps.'),
});
/** What went wrong and what to do. docs/ERROR_GUIDANCE.md lists the values of `error_type`. */
export interface ErrorGuidance extends z.infer<typeof errorGuidance> {}

/** How close a run came to its fuel budget, in increasing order. */
export const FUEL_STATUSES = ['efficient', 'moderate', 'warning', 'critical', 'exhausted'] as const;
/** Reasons why a run reached a limit, as far as its samples can show them. */
export const RUN_CAUSES = [
  'probably_endless',
  'deep_recursion',
  'exponential_recursion',
  'large_data',
  'heavy_import',
] as const;
/** The causes for which more fuel or time helps. */
export const HELPED_BY_HIGHER_LIMITS: ReadonlySet<(typeof RUN_CAUSES)[number]> = new Set([
  'large_data',
  'heavy_import',
]);
export const fuelAnalysis = z.object({
  consumed: z.number().int().describe('Fuel used.'),
  budget: z.number().int().describe('Fuel allowed.'),
  utilization_percent: z.number().describe('Fuel used as a percentage of the budget.'),
  status: z.enum(FUEL_STATUSES).describe('How close the run came to its budget.'),
  recommendation: z.string().nullable().describe('What to do; null if nothing needs to be done.'),
  likely_causes: z
    .array(z.string())
    .describe('What used the fuel. If `cause` is set, the first entry states the evidence for it.'),
  cause: z
    .enum(RUN_CAUSES)
    .optional()
    .describe('Why the run reached its limit on fuel or time, if its samples show it.'),
});
/** How a run used its fuel budget. */
export interface FuelAnalysis extends z.infer<typeof fuelAnalysis> {}

/** Rows of a fuel profile in a result. */
export const PROFILE_ROWS = 20;
const profileRow = {
  file: z.string().describe('Path of the source file.'),
  line: z.number().int().describe('Line, starting at 1; 0 if unknown.'),
  fuel: z
    .number()
    .int()
    .describe('Fuel of the samples in this row; a sample accounts for the fuel since the previous one.'),
  share: z.number().describe('Fraction of the fuel of all samples, from 0 to 1.'),
};
const profileStacks = z.object({
  frames: z
    .array(z.object({ file: z.string(), function: z.string(), line: z.number().int() }))
    .describe('The frames that occur in the stacks.'),
  samples: z
    .array(z.object({ stack: z.array(z.number().int()), fuel: z.number().int() }))
    .describe('The distinct stacks, as indices into frames with the outermost frame first, and their fuel.'),
});
export const fuelProfile = z.object({
  sample_fuel: z
    .number()
    .int()
    .describe(
      'Average fuel between two samples: the fuel until the last sample, divided by the number of samples.',
    ),
  samples: z.number().int().describe('Number of samples.'),
  lines: z
    .array(z.object({ ...profileRow, source: z.string().describe('Text of the line, if known.') }))
    .max(PROFILE_ROWS)
    .describe('Lines of the program, ordered by fuel used, including that of the library code they call.'),
  functions: z
    .array(z.object({ ...profileRow, function: z.string().describe('Name of the function.') }))
    .max(PROFILE_ROWS)
    .describe(
      'Functions, including those of libraries, ordered by the fuel that their own code used; line is the one that used most of it.',
    ),
  stacks: profileStacks.optional().describe('Complete stacks; only with the profile option.'),
});
/** Where a run used its fuel, according to samples taken at intervals of fuel. */
export interface FuelProfile extends z.infer<typeof fuelProfile> {}

export const resultMetadata = z.object({
  runtime: runtimeName,
  trapped: z.boolean().describe('Whether the run was stopped.'),
  trap_reason: trapReason.nullable().describe('Why the run was stopped; null if it was not.'),
  trap_message: z.string().nullable().describe('The trap as text; null if the run was not stopped.'),
  stdout_truncated: z.boolean().describe('Whether standard output exceeded its limit.'),
  stderr_truncated: z.boolean().describe('Whether standard error exceeded its limit.'),
  stdout_dropped_bytes: z.number().int().describe('Bytes of standard output beyond the limit.'),
  stderr_dropped_bytes: z.number().int().describe('Bytes of standard error beyond the limit.'),
  output_undelivered_bytes: z
    .number()
    .int()
    .optional()
    .describe(
      'Bytes of output that `onOutput` had not accepted when the call ended; only if there are any. It still receives them after its promise has settled.',
    ),
  files_truncated: z
    .literal(true)
    .optional()
    .describe(
      'The lists of changed files are incomplete, because their paths are longer than 1 MiB in total.',
    ),
  files_omitted: z
    .number()
    .int()
    .optional()
    .describe('Number of changed files that the lists omit; only with `files_truncated`.'),
  results_omitted: z
    .number()
    .int()
    .optional()
    .describe('Number of results that `results` omits, because there are more than 20.'),
  result: z.json().optional().describe('Value of the last expression, as JSON data or as text.'),
  result_type: z.string().optional().describe('Type of that value in the guest.'),
  error: guestError.optional().describe('The uncaught exception that ended the program.'),
  state: z
    .enum(['fresh', 'committed', 'rolled_back', 'paused'])
    .describe(
      'fresh: the interpreter was new; committed: its state is kept; rolled_back: it was restored to the state before the call; paused: the program is waiting for answers to tool calls, and `resume` continues it.',
    ),
  session_id: z.string().optional().describe('Name of the session, if there is one.'),
  imports: z.array(importFacts).describe('Packages and costly standard modules that the program imported.'),
  error_guidance: errorGuidance
    .optional()
    .describe('What went wrong and what to do, for known kinds of failure.'),
  fuel_analysis: fuelAnalysis.optional().describe('How the run used its fuel budget.'),
  fuel_profile: fuelProfile
    .optional()
    .describe(
      'Where the run used its fuel. Present if it used more than one slice of fuel (about two million instructions, fewer with the profile option).',
    ),
  stopped_at: stoppedAt
    .optional()
    .describe(
      'Where a limit or an uncaught exception ended the program, and its variables there. For an exception in JavaScript, the variables are those at the creation of the error.',
    ),
  tool_calls: z
    .array(toolCallRecord)
    .optional()
    .describe(
      'The tool calls that the program made, even if it failed or was rolled back. Present if the program had tools.',
    ),
  execution_id: z
    .string()
    .optional()
    .describe(
      'Identifies the paused execution in `resume`. Present if the session is paused after the call.',
    ),
  pending: z
    .array(pendingCall)
    .optional()
    .describe(
      'The tool calls that are waiting for an answer. Present if the session is paused after the call.',
    ),
  queue_ms: z.number().describe('Time that the call waited; not part of duration_ms.'),
});

/** Further facts about a run. */
export interface ResultMetadata extends z.infer<typeof resultMetadata> {}

const resultFields = {
  stdout: z.string().describe('Standard output as text.'),
  stderr: z.string().describe('Standard error as text.'),
  fuel_consumed: z.number().int().describe('WebAssembly instructions that the program executed.'),
  memory_used_bytes: z.number().int().describe('Size of the guest memory at the end.'),
  duration_ms: z.number().describe('Time that the run took, excluding time in the queue.'),
  files_created: z.array(z.string()).describe('Paths of new files in the workspace.'),
  files_modified: z.array(z.string()).describe('Paths of changed files.'),
  files_deleted: z.array(z.string()).describe('Paths of deleted files.'),
  results: z
    .array(displayResult)
    .describe('What the program displayed: values, tables, charts and images, at most 20.'),
};

export const successfulResult = z.object({
  success: z.literal(true).describe('Exit code 0 and no trap.'),
  exit_code: z.literal(0).describe('Exit code of the program.'),
  ...resultFields,
  metadata: resultMetadata
    .extend({
      trapped: z.literal(false).describe('The run was not stopped.'),
      trap_reason: z.null().describe('The run was not stopped.'),
      trap_message: z.null().describe('The run was not stopped.'),
    })
    .describe('Further facts about the run.'),
});

export const failedResult = z.object({
  success: z.literal(false).describe('The program failed, or the run was stopped.'),
  exit_code: z.number().int().describe('Exit code of the program, or of the trap.'),
  ...resultFields,
  metadata: resultMetadata.describe('Further facts about the run.'),
});

export const sandboxResult = z.discriminatedUnion('success', [successfulResult, failedResult]);
/** The result of a program that ended with exit code 0. */
export interface SuccessfulResult extends z.infer<typeof successfulResult> {}
/** The result of a program that failed or was stopped. */
export interface FailedResult extends z.infer<typeof failedResult> {}
/** The result of `execute`. Check `success` to tell the two forms apart. */
export type SandboxResult = SuccessfulResult | FailedResult;
