/** The result of `execute`: outcome, output, changed files, guidance and fuel analysis. */
import * as z from 'zod';
import { displayResult } from './display-result.ts';
import { described, optionalField } from './fields.ts';
import { guestError, stoppedAt } from './guest-report.ts';
import { runtimeName } from './names.ts';
import { networkExchange } from './network-record.ts';
import { pendingCall, toolCallRecord } from './tool-call-record.ts';
import { TRAPS, type TrapReason } from './traps.ts';

const trapReason = z.enum(Object.keys(TRAPS) as [TrapReason, ...TrapReason[]]);

/** The cost of one import in a run. */
export const importFacts = z.object({
  name: z.string().describe('Top-level name of the module.'),
  fuel: z.number().int().describe('Fuel used to load the module and the modules that it imports.'),
  cached: z.boolean().describe('Whether the module was already loaded.'),
});
/** The cost of one import in a run. */
export interface ImportFacts extends z.infer<typeof importFacts> {}

/** What went wrong and what to do. docs/ERROR_GUIDANCE.md lists the values of `error_type`. */
export const errorGuidance = z.object({
  error_type: z.string().describe('Kind of failure.'),
  error_message: z.string().describe('The exception or the trap as one line.'),
  actionable_guidance: z.array(z.string()).describe('Facts and steps, most important first.'),
  related_docs: z.array(z.string()).describe('Links to sections of the documentation of this package.'),
  code_examples: z.array(z.string()).optional().describe('Example code.'),
});
/** The explanation of a failure, with steps to fix it. docs/ERROR_GUIDANCE.md lists the values of `error_type`. */
export interface ErrorGuidance extends z.infer<typeof errorGuidance> {}

/** The values of `status` in `FuelAnalysis`, in increasing order of fuel use. */
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
  consumed: z.number().int().describe('Fuel that the run used.'),
  budget: z.number().int().describe('Fuel budget of the run.'),
  utilization_percent: z.number().describe('Fuel that the run used, as a percentage of the budget.'),
  status: z.enum(FUEL_STATUSES).describe('How close the run came to its budget.'),
  recommendation: z.string().nullable().describe('What to do. Null if nothing needs to be done.'),
  likely_causes: described(
    z.array(z.string()),
    'What used the fuel. If `cause` is present, the first entry states the evidence for it.',
  ),
  cause: optionalField(
    z.enum(RUN_CAUSES),
    'Why the run reached its fuel or time limit. Present only if the samples of the run show the cause.',
  ),
});
/** The analysis of the fuel use of a run. */
export interface FuelAnalysis extends z.infer<typeof fuelAnalysis> {}

/** Rows of a fuel profile in a result. */
export const PROFILE_ROWS = 20;
const profileRow = {
  file: z.string().describe('Path of the source file.'),
  line: z.number().int().describe('Line, starting at 1; 0 if unknown.'),
  fuel: described(
    z.number().int(),
    'Fuel of the samples in this row; a sample accounts for the fuel since the previous one.',
  ),
  share: z.number().describe('Fraction of the fuel of all samples, from 0 to 1.'),
};
const profileStacks = z.object({
  frames: described(
    z.array(z.object({ file: z.string(), function: z.string(), line: z.number().int() })),
    'The frames that occur in the stacks.',
  ),
  samples: described(
    z.array(z.object({ stack: z.array(z.number().int()), fuel: z.number().int() })),
    'The distinct stacks and their fuel. A stack is a list of indices into `frames`, outermost frame first.',
  ),
});
export const fuelProfile = z.object({
  sample_fuel: described(
    z.number().int(),
    'Average fuel between two samples: the fuel used until the last sample, divided by the number of samples.',
  ),
  samples: z.number().int().describe('Number of samples.'),
  lines: described(
    z
      .array(z.object({ ...profileRow, source: z.string().describe('Text of the line, if known.') }))
      .max(PROFILE_ROWS),
    'The lines of the program that used the most fuel, at most 20, in descending order. The fuel of a line includes that of the library code it calls.',
  ),
  functions: described(
    z
      .array(z.object({ ...profileRow, function: z.string().describe('Name of the function.') }))
      .max(PROFILE_ROWS),
    'The functions, including those of libraries, whose own code used the most fuel, at most 20, in descending order. `line` is the line within the function that used the most fuel.',
  ),
  stacks: profileStacks.optional().describe('Complete stacks. Present only with the option `profile`.'),
});
/**
 * The lines and functions that used the fuel of a run, according to samples that are taken each time a certain amount of
 * fuel has been used.
 */
export interface FuelProfile extends z.infer<typeof fuelProfile> {}

export const packageAddition = z.object({
  name: z.string().describe('Name of the package.'),
  version: optionalField(z.string(), 'Version that was added. Absent if the package could not be added.'),
  bytes: z.number().int().optional().describe('Size of the wheel.'),
  seconds: z.number().optional().describe('Time that adding the package and its dependencies took.'),
  problem: z.string().optional().describe('Why the package could not be added.'),
});
/** A package that was added on demand, or that could not be added. */
export interface PackageAddition extends z.infer<typeof packageAddition> {}

export const resultMetadata = z.object({
  runtime: runtimeName,
  trapped: z.boolean().describe('Whether the run was stopped.'),
  trap_reason: trapReason.nullable().describe('Why the run was stopped. Null if it was not stopped.'),
  trap_message: z.string().nullable().describe('The reason as text. Null if the run was not stopped.'),
  stdout_truncated: z.boolean().describe('Whether standard output exceeded its limit.'),
  stderr_truncated: z.boolean().describe('Whether standard error exceeded its limit.'),
  stdout_dropped_bytes: z.number().int().describe('Number of bytes of standard output beyond the limit.'),
  stderr_dropped_bytes: z.number().int().describe('Number of bytes of standard error beyond the limit.'),
  output_undelivered_bytes: optionalField(
    z.number().int(),
    'Number of bytes of output that `onOutput` had not accepted when the call ended. Present only if there are any. `onOutput` receives them when its promise has settled.',
  ),
  files_truncated: optionalField(
    z.literal(true),
    'Present if the lists of changed files are incomplete, because the total length of all paths exceeds 1 MiB.',
  ),
  files_omitted: optionalField(
    z.number().int(),
    'Number of changed files that the lists omit. Present only with `files_truncated`.',
  ),
  results_omitted: optionalField(
    z.number().int(),
    'Number of results that `results` omits. Present only if there are more than 20 results.',
  ),
  result: z.json().optional().describe('Value of the last expression, as JSON data or as text.'),
  result_type: z.string().optional().describe('Type of `result` in the guest.'),
  error: guestError.optional().describe('Uncaught exception that ended the program.'),
  state: described(
    z.enum(['fresh', 'committed', 'rolled_back', 'paused']),
    'State of the interpreter after the call. `fresh`: the interpreter was new and was discarded. `committed`: the interpreter keeps its changes. `rolled_back`: the interpreter was restored to the state before the call. `paused`: the program is waiting for answers to tool calls.',
  ),
  session_id: z.string().optional().describe('Name of the session, if there is one.'),
  imports: described(
    z.array(importFacts),
    'Packages and costly standard modules that the program imported, with their cost.',
  ),
  packages_added: optionalField(
    z.array(packageAddition),
    'Packages that were added for the program, and those that could not be added, with the reason.',
  ),
  error_guidance: optionalField(
    errorGuidance,
    'Explanation of the failure. Present for known kinds of failures.',
  ),
  fuel_analysis: fuelAnalysis.optional().describe('Analysis of the fuel use of the run.'),
  fuel_profile: optionalField(
    fuelProfile,
    'Lines and functions that used the fuel of the run. Present if the run used more fuel than one sampling interval: about two million instructions, or fewer with the option `profile`.',
  ),
  stopped_at: optionalField(
    stoppedAt,
    'Where a limit or an uncaught exception ended the program, with the variables of the function. For a JavaScript exception, the variables have the values that they had when the error was created.',
  ),
  notes: optionalField(
    z.array(z.string()),
    'Facts about the run that a reader of the program would not expect, such as threads that took turns. Present only if there are any.',
  ),
  tool_calls: optionalField(
    z.array(toolCallRecord),
    'Tool calls that the program made, even if it failed or was rolled back. Present if the program had tools.',
  ),
  network: optionalField(
    z.array(networkExchange),
    'Requests that the program made, even if it failed or was rolled back. Present if the policy permits requests.',
  ),
  execution_id: optionalField(
    z.string(),
    'Identifies the paused execution, for `resume`. Present if the session is paused after the call.',
  ),
  pending: optionalField(
    z.array(pendingCall),
    'Tool calls that are waiting for an answer. Present if the session is paused after the call.',
  ),
  queue_ms: z.number().describe('Time that the call waited in the queue, in milliseconds.'),
});

/** Further facts about a run. */
export interface ResultMetadata extends z.infer<typeof resultMetadata> {}

const resultFields = {
  stdout: z.string().describe('Standard output as text, up to `stdout_max_bytes`.'),
  stderr: z.string().describe('Standard error as text, up to `stderr_max_bytes`.'),
  fuel_consumed: z.number().int().describe('Number of WebAssembly instructions that the program executed.'),
  memory_used_bytes: z.number().int().describe('Size of the guest memory at the end of the run, in bytes.'),
  duration_ms: z.number().describe('Duration of the run in milliseconds, excluding time in the queue.'),
  files_created: z.array(z.string()).describe('Paths of the workspace files that the program created.'),
  files_modified: z.array(z.string()).describe('Paths of the workspace files that the program changed.'),
  files_deleted: z.array(z.string()).describe('Paths of the workspace files that the program deleted.'),
  results: described(
    z.array(displayResult),
    'Values, tables, charts and images that the program displayed, at most 20.',
  ),
};

export const successfulResult = z.object({
  success: z.literal(true).describe('The program ended with exit code 0.'),
  exit_code: z.literal(0).describe('Exit code of the program, always 0.'),
  ...resultFields,
  metadata: described(
    resultMetadata.extend({
      trapped: z.literal(false).describe('Always false: the run was not stopped.'),
      trap_reason: z.null().describe('Always null: the run was not stopped.'),
      trap_message: z.null().describe('Always null: the run was not stopped.'),
    }),
    'Further facts about the run.',
  ),
});

export const failedResult = z.object({
  success: z.literal(false).describe('The program failed or was stopped.'),
  exit_code: z.number().int().describe('Exit code of the program, or of the trap that stopped it.'),
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
