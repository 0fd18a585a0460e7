/** How a run that has ended is reported: what the program displayed, what was dropped, and why it failed or paused. */
import { formatItems } from '../quantities.ts';
import type { Policy, SandboxResult } from '../schema.ts';
import { imageProtocol, resultsReport } from './displayed-results.ts';
import { failureLine, guidanceText } from './failure-text.ts';
import { droppedNote } from './guest-output.ts';
import { escapeControls } from './terminal-text.ts';

interface ReportFlags {
  readonly json?: boolean;
  /** Folder to which results are written. */
  readonly results?: string;
  readonly guidance?: boolean;
  readonly store?: string;
}

/** Writes the report, after the output of the program, and sets the exit code. `dropped` says which output was not written. */
export function reportRun(result: SandboxResult, policy: Policy, dropped: string, flags: ReportFlags): void {
  if (flags.json) process.stdout.write(`${JSON.stringify(result)}\n`);
  else reportResults(result, flags);
  process.stderr.write(flags.json ? droppedFromResult(result) : dropped);
  if (!flags.json) process.stderr.write(endReport(result, policy, flags));
  process.exitCode = result.exit_code;
}

/** Shows what the program displayed. */
function reportResults({ results }: SandboxResult, { results: folder }: ReportFlags): void {
  const isTerminal = process.stdout.isTTY === true;
  const protocol = isTerminal ? imageProtocol(process.env) : undefined;
  const { stdout, stderr } = resultsReport(results, { protocol, isTerminal, folder });
  if (stdout !== '') process.stdout.write(stdout);
  if (stderr !== '') process.stderr.write(stderr);
}

const droppedFromResult = ({ metadata }: SandboxResult) =>
  droppedNote({ stdout: metadata.stdout_dropped_bytes, stderr: metadata.stderr_dropped_bytes });

/**
 * A pause and a limit are always reported. Other failures have printed their own message, so they are reported only on
 * a terminal.
 */
function endReport(
  result: SandboxResult,
  { timeout_seconds }: Policy,
  { guidance = process.stderr.isTTY }: ReportFlags,
): string {
  if (result.metadata.state === 'paused') return pausedText(result);
  if (result.success || !(guidance || process.stderr.isTTY || result.metadata.trapped)) return '';
  return `${failureLine(result, timeout_seconds)}\n${guidance ? guidanceText(result) : ''}`;
}

function pausedText({ metadata: { pending = [], execution_id } }: SandboxResult): string {
  const names = [...new Set(pending.map(({ name }) => name))].slice(0, 5).join(', ');
  const fact = `the program is paused and is waiting for ${formatItems(pending.length, 'tool call')} (${escapeControls(names)})`;
  const advice = `"llm-wasm-sandbox pending" shows the calls, and "llm-wasm-sandbox resume ${execution_id}" answers them`;
  return `llm-wasm-sandbox: ${fact}. ${advice}.\n`;
}
