/** How `run` describes a failed run on standard error: one line, and the guidance if it is requested. */

import {
  escapeControls,
  formatDuration,
  formatFuel,
  formatLiteral,
  forReader,
  type GuidanceReader,
  HELPED_BY_HIGHER_LIMITS,
  type RaisableLimit,
  type SandboxResult,
  type TrapReason,
} from '@llm-wasm-sandbox/core/internal';
import { paint, type TerminalStream } from './color.ts';

/** The limits that stop a program, and the flag that raises each. */
const LIMITS: Partial<Record<TrapReason, { readonly text: string; readonly flag: string }>> = {
  out_of_fuel: { text: 'the fuel budget was used up', flag: '--fuel' },
  timeout: { text: 'the time limit was reached', flag: '--timeout' },
  memory_limit: { text: 'the memory limit was reached', flag: '--memory' },
};

/** The reason for the failure, where the program stopped, the cost of the run and what to try. Contains text of the program. */
export function failureLine(result: SandboxResult, timeoutSeconds: number): string {
  const { exit_code, fuel_consumed, duration_ms, metadata } = result;
  const { error, trap_reason, trap_message } = metadata;
  const limit = trap_reason === null ? undefined : LIMITS[trap_reason];
  const reason = limit?.text ?? trap_message ?? error?.type ?? '';
  const cost = `${formatFuel(fuel_consumed)} fuel, ${formatDuration(duration_ms)}`;
  const what = `exit code ${exit_code}${reason && `: ${reason}`}${place(result)} (${cost})`;
  return `${what}.${limit ? ` ${remedy(result, limit.flag, timeoutSeconds)}` : ''}`;
}

function place({ metadata: { stopped_at, error } }: SandboxResult): string {
  if (stopped_at !== undefined) return ` at ${stopped_at.file.replace(/^\/app\//, '')}:${stopped_at.line}`;
  return error?.line == null ? '' : ` on line ${error.line}`;
}

/** What the samples of the run show, and the flag that raises the limit unless they show that a higher limit does not help. */
function remedy(result: SandboxResult, flag: string, timeoutSeconds: number): string {
  const { fuel_analysis, trap_reason } = result.metadata;
  const kind = fuel_analysis?.cause;
  const cause = kind === undefined ? '' : `${fuel_analysis!.likely_causes[0]}.`;
  if (kind !== undefined && !HELPED_BY_HIGHER_LIMITS.has(kind)) return cause;
  const speed = trap_reason === 'out_of_fuel' ? fuelInTime(result, timeoutSeconds) : '';
  return `${cause && `${cause} `}Raise the limit with ${flag}${speed}.`;
}

/** The budget that fits the time limit, at the speed of the run. */
function fuelInTime({ fuel_consumed, duration_ms }: SandboxResult, timeoutSeconds: number): string {
  const fuel = (fuel_consumed / duration_ms) * 1000 * timeoutSeconds;
  if (!(fuel > fuel_consumed)) return ' and the time limit with --timeout';
  return `: at this speed, ${formatFuel(Number(fuel.toPrecision(1)))} fuel takes about ${formatDuration(timeoutSeconds * 1000)}, which is the time limit`;
}

const FLAGS: Partial<Record<RaisableLimit, string>> = {
  fuel_budget: '--fuel',
  timeout_seconds: '--timeout',
  memory_bytes: '--memory',
  stdout_max_bytes: '--max-output',
};

/** The user of a terminal. */
export const COMMAND_LINE: GuidanceReader = {
  raise: (limit, value) => FLAGS[limit] && `${FLAGS[limit]} ${formatLiteral(value)}`,
  inputs: { files: '--file', stdin: '--stdin', args: 'arguments after the file' },
  hasSessions: false,
  hasFuelAnalysis: false,
  permitNetwork: (pattern) => `Access over HTTP can be permitted: --allow-net '${pattern}'`,
  isOperator: true,
};

/** The guidance of a failed run, for a stream; empty if there is none. */
export function guidanceText(
  { metadata: { error_guidance } }: SandboxResult,
  stream: TerminalStream,
): string {
  if (error_guidance === undefined) return '';
  const { error_type, actionable_guidance, code_examples = [] } = forReader(error_guidance, COMMAND_LINE);
  const steps = actionable_guidance.map((step) => `  - ${escapeControls(step)}`);
  const examples = code_examples.map((example) =>
    example
      .split('\n')
      .map((line) => `      ${paint('code', escapeControls(line), stream)}`)
      .join('\n'),
  );
  return [paint('title', `How to fix ${escapeControls(error_type)}:`, stream), ...steps, ...examples].join(
    '\n',
  );
}
