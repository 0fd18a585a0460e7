/** How a run that has ended is reported: what the program displayed, what was dropped, and why it failed or paused. */

import type { Policy, Sandbox, SandboxResult } from '@llm-wasm-sandbox/core/internal';
import {
  additionText,
  escapeControls,
  formatItems,
  isDatabaseAddress,
} from '@llm-wasm-sandbox/core/internal';
import { printError, printLines, printNote } from './diagnostics.ts';
import { failureLine, guidanceText } from './failure-text.ts';
import { type DroppedBytes, warnOfDropped } from './guest-output.ts';
import { resultsReport } from './show-displayed-results.ts';

interface ReportFlags {
  readonly json?: boolean;
  /** Folder to which results are written. */
  readonly results?: string;
  readonly guidance?: boolean;
  readonly store?: string;
  readonly toolsConfig?: string;
}

/** Writes the report, after the output of the program, and sets the exit code. `dropped` is output that was not written. */
export function reportRun(
  result: SandboxResult,
  { policy }: Pick<Sandbox, 'policy'>,
  dropped: DroppedBytes,
  flags: ReportFlags,
): void {
  if (flags.json) process.stdout.write(`${JSON.stringify(result)}\n`);
  else reportResults(result, flags);
  warnOfDropped(flags.json ? droppedFromResult(result) : dropped);
  if (!flags.json) reportEnd(result, policy, flags);
  process.exitCode = result.exit_code;
}

/** Shows what the program displayed. */
export function reportResults(
  { results, metadata }: SandboxResult,
  { results: folder }: Pick<ReportFlags, 'results'>,
  showsValue = false,
): void {
  const isTerminal = process.stdout.isTTY === true;
  const { stdout, notes } = resultsReport(results, { isTerminal, folder, showsValue });
  if (stdout !== '') process.stdout.write(stdout);
  for (const note of notes) printNote(note);
  for (const addition of metadata.packages_added ?? []) printNote(escapeControls(additionText(addition)));
}

const droppedFromResult = ({ metadata }: SandboxResult): DroppedBytes => ({
  stdout: metadata.stdout_dropped_bytes,
  stderr: metadata.stderr_dropped_bytes,
});

/**
 * A pause and a limit are always reported. Other failures have printed their own message, so they are reported only on
 * a terminal.
 */
function reportEnd(result: SandboxResult, { timeout_seconds }: Policy, flags: ReportFlags): void {
  const { guidance = process.stderr.isTTY } = flags;
  const { state, execution_id, trapped } = result.metadata;
  if (state !== 'paused' && !result.success && (guidance || process.stderr.isTTY || trapped)) {
    printError(failureLine(result, timeout_seconds));
    if (guidance) printLines(guidanceText(result, process.stderr));
  }
  if (execution_id !== undefined) printNote(pausedText(result, flags));
}

/** Names the commands that continue the program, with the store and the tools of this one. */
export function pausedText(
  { metadata: { pending = [], execution_id, state } }: SandboxResult,
  { store, toolsConfig }: Pick<ReportFlags, 'store' | 'toolsConfig'>,
): string {
  const names = [...new Set(pending.map(({ name }) => name))].slice(0, 5).join(', ');
  // A resume that was rolled back leaves the program paused.
  const isStill = state === 'paused' ? '' : ' still';
  const fact = `the program is${isStill} paused and is waiting for ${formatItems(pending.length, 'tool call')} (${names})`;
  // The address of a database can contain a password.
  const where = store && ` --store ${isDatabaseAddress(store) ? 'ADDRESS' : shellWord(store)}`;
  const tools = toolsConfig && ` --tools-config ${shellWord(toolsConfig)}`;
  const pendingCommand = `llm-wasm-sandbox pending${where ?? ''}`;
  const resumeCommand = `llm-wasm-sandbox resume ${execution_id}${where ?? ''}${tools ?? ''}`;
  return `${fact}. Show the calls with: ${pendingCommand}\nAnswer them with: ${resumeCommand}`;
}

/** A text as one word of a shell command. */
const shellWord = (text: string) =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
