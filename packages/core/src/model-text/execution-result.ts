/**
 * The result of `execute_code`: its schema, and how a sandbox result becomes text and structured content. Long output is
 * shortened to its beginning and end, with a link to the full text.
 */
import * as z from 'zod';
import { escapeBlock, escapeControls, quotePath } from '../analysis/escape-controls.ts';
import { forReader, type GuidanceReader } from '../analysis/reader.ts';
import { formatDuration, formatFuel, formatItems, formatPercent } from '../quantities.ts';
import { additionText } from '../sandbox/packages-on-demand.ts';
import {
  errorGuidance,
  type FuelProfile,
  fuelAnalysis,
  fuelProfile,
  type LanguageName,
  languageName,
  type PackageAddition,
  type PendingCall,
  packageAddition,
  type SandboxResult,
  stoppedAt,
  type ToolCallRecord,
  toolCallRecord,
} from '../schema.ts';
import {
  describeResult,
  imageBlocks,
  isListed,
  type ResultAccess,
  resultDescription,
  resultsText,
} from './displayed-result-blocks.ts';
import { docsUri } from './documentation.ts';
import type { CachedResult, RecentResults } from './recent-results.ts';
import { firstRows, pathChars, type ToolResult, truncateMiddle } from './tool-result.ts';
import { workspaceUri } from './workspace-uri.ts';

/** Files in one result; list_files shows more. */
const MAX_FILES = 100;
const MAX_TOOL_CALLS = 100;
const MAX_PENDING = 20;
const MAX_PACKAGES = 20;
const MAX_PACKAGE_CHARS = 100;
const MAX_PROBLEM_CHARS = 500;

const fileChange = z.object({
  path: z.string().describe('Relative to /app.'),
  change: z.enum(['created', 'modified', 'deleted']),
  uri: z.string().optional(),
});

/**
 * A nullable string as `anyOf` with one type per branch, the form that most clients accept. Without its description the
 * first branch would be merged with the second.
 */
const nullableText = (description: string) => z.union([z.string().describe(description), z.null()]);

export const executionOutput = z.object({
  outcome: z.string().describe('One-line summary.'),
  success: z.boolean(),
  result: z.json().optional().describe('Value of a trailing expression.'),
  stdout: z.string(),
  stderr: z.string(),
  exit_code: z.number().int(),
  trap_reason: nullableText('Why the sandbox stopped the program, e.g. out_of_fuel.'),
  fuel_consumed: z.number().int(),
  duration_ms: z.number(),
  files_passed: z
    .array(z.string())
    .optional()
    .describe('Paths at which programs can open the files passed to this call.'),
  files_changed: z.array(fileChange).describe(`Up to ${MAX_FILES}.`),
  files_changed_total: z.number().int(),
  packages_added: z
    .array(packageAddition)
    .optional()
    .describe(`Up to ${MAX_PACKAGES} packages that were added for the program, or could not be added.`),
  tool_calls: z
    .array(toolCallRecord)
    .optional()
    .describe(`The first ${MAX_TOOL_CALLS} tool calls that the program made, even if the program failed.`),
  execution_id: z.string().optional().describe('Identifies a paused program, for resume_execution.'),
  pending: z
    .array(
      z.object({
        id: z.number().int(),
        name: z.string(),
        arguments: z.json(),
        reason: z.enum(['approval', 'suspended']),
      }),
    )
    .optional()
    .describe(`The first ${MAX_PENDING} pending calls of a paused program.`),
  results: z.array(resultDescription).optional().describe('What the program displayed; see view_result.'),
  notes: z.array(z.string()).optional().describe('Facts about the run, such as threads that took turns.'),
  language: languageName,
  session_id: z.string(),
  state: z.enum(['fresh', 'committed', 'rolled_back', 'paused']),
  state_note: z.string(),
  output_uris: z.array(z.string()).describe('Resources with the full text of truncated output.'),
  stopped_at: stoppedAt.nullable(),
  fuel_profile: fuelProfile.omit({ stacks: true }).nullable().describe('Only with profile: true.'),
  error_guidance: errorGuidance.nullable(),
  fuel_analysis: fuelAnalysis
    .extend({ recommendation: nullableText('Suggested action, if any.') })
    .nullable(),
});
type ExecutionOutput = z.infer<typeof executionOutput>;

interface ExecutionContext {
  readonly language: LanguageName;
  readonly session_id: string;
  /** Names of the files that were passed with the call. */
  readonly files: readonly string[];
  readonly maxChars: number;
  readonly reader: GuidanceReader;
  /** Whether the caller asked for the profile. */
  readonly profile: boolean;
  /** Receives what the program displayed, and outputs that are shortened. */
  readonly recent: RecentResults;
  /** How to view images; with `images`, they are part of the result. */
  readonly viewAdvice?: string;
  readonly images?: ResultAccess;
  readonly signal?: AbortSignal | undefined;
}

/** A resume that was rolled back leaves the program paused. */
const noteFor = ({ state, execution_id }: SandboxResult['metadata']) =>
  state === 'rolled_back' && execution_id !== undefined ? 'paused_again' : state;

const STATE_NOTES: Record<ReturnType<typeof noteFor>, string> = {
  fresh: 'variables are discarded, files in /app are kept',
  committed: 'variables and files are kept for the next call in this session',
  rolled_back: 'variables and files are as they were before this call',
  paused:
    'the program is waiting for answers to tool calls; until it has ended, no other call can run in this session',
  paused_again:
    'variables and files are as they were before this call, and the program is paused again, with another execution_id; calls that were approved may already have taken effect',
};

/** The result of one `execute_code` call. */
export async function executionResult(result: SandboxResult, context: ExecutionContext): Promise<ToolResult> {
  const { recent, session_id, maxChars, images } = context;
  const listed = result.results.filter(isListed).map((one) => recent.addResult(session_id, one));
  const shown = executionParts(result, listed, context);
  await recent.publish();
  if (images === undefined) return shown;
  return { ...shown, blocks: await imageBlocks(listed, maxChars, images, context.signal) };
}

function executionParts(
  result: SandboxResult,
  results: readonly CachedResult[],
  { recent, session_id, files, maxChars, ...context }: ExecutionContext,
): ToolResult {
  const { metadata } = result;
  const guidance = metadata.error_guidance && forReader(metadata.error_guidance, context.reader);
  const stdout = truncateMiddle(result.stdout, maxChars, () =>
    recent.addOutput(session_id, 'stdout', result.stdout),
  );
  const stderr = truncateMiddle(result.stderr, Math.ceil(maxChars / 3), () =>
    recent.addOutput(session_id, 'stderr', result.stderr),
  );
  const structured: ExecutionOutput = {
    outcome: escapeControls(outcomeLine(result)),
    success: result.success,
    ...(metadata.result !== undefined && { result: shortResult(metadata.result, maxChars) }),
    stdout: stdout.text + droppedNote(metadata.stdout_dropped_bytes),
    stderr: stderr.text + droppedNote(metadata.stderr_dropped_bytes),
    exit_code: result.exit_code,
    trap_reason: metadata.trap_reason,
    fuel_consumed: result.fuel_consumed,
    duration_ms: Math.round(result.duration_ms * 10) / 10,
    ...(files.length > 0 && { files_passed: files.slice(0, MAX_FILES).map(guestPath) }),
    files_changed: filesChanged(result, session_id, maxChars),
    files_changed_total:
      result.files_created.length + result.files_modified.length + result.files_deleted.length,
    ...(metadata.packages_added && { packages_added: packagesAdded(metadata.packages_added) }),
    ...(metadata.tool_calls !== undefined &&
      metadata.tool_calls.length > 0 && { tool_calls: metadata.tool_calls.slice(0, MAX_TOOL_CALLS) }),
    ...(metadata.execution_id !== undefined && { execution_id: metadata.execution_id }),
    ...(metadata.pending !== undefined && { pending: pendingCalls(metadata.pending, maxChars) }),
    ...(results.length > 0 && { results: results.map(describeResult) }),
    ...notesOf(metadata),
    language: context.language,
    session_id,
    state: metadata.state,
    state_note: STATE_NOTES[noteFor(metadata)],
    output_uris: [stdout.uri, stderr.uri].filter((uri) => uri !== undefined),
    stopped_at: metadata.stopped_at ?? null,
    fuel_profile: context.profile ? profileWithoutStacks(metadata.fuel_profile) : null,
    error_guidance:
      guidance === undefined ? null : { ...guidance, related_docs: guidance.related_docs.map(docsUri) },
    fuel_analysis: metadata.fuel_analysis ? forReader(metadata.fuel_analysis, context.reader) : null,
  };
  const shown = resultsText(results, metadata.results_omitted ?? 0, maxChars, context.viewAdvice ?? '');
  return { text: executionText(structured, shown), structured };
}

/** Those that were added come first. A program chooses the names of the others. */
const packagesAdded = (found: readonly PackageAddition[]): PackageAddition[] =>
  [...found]
    .sort((a, b) => Number(a.problem !== undefined) - Number(b.problem !== undefined))
    .slice(0, MAX_PACKAGES)
    .map(({ name, problem, ...one }) => ({
      ...one,
      name: name.slice(0, MAX_PACKAGE_CHARS),
      ...(problem !== undefined && { problem: problem.slice(0, MAX_PROBLEM_CHARS) }),
    }));

function notesOf({ notes = [], packages_added = [] }: SandboxResult['metadata']): { notes?: string[] } {
  const more = packages_added.length - MAX_PACKAGES;
  const shown = more > 0 ? [...notes, `${formatItems(more, 'more package')} could not be added`] : notes;
  return shown.length > 0 ? { notes: shown } : {};
}

/** Long arguments are shortened like a long result. */
function pendingCalls(
  pending: readonly PendingCall[],
  maxChars: number,
): NonNullable<ExecutionOutput['pending']> {
  const shown = pending.slice(0, MAX_PENDING);
  const room = Math.ceil(maxChars / shown.length);
  return shown.map(({ id, name, arguments: given, reason }) => ({
    id,
    name,
    arguments: shortResult(given, room) ?? null,
    reason,
  }));
}

/** The path at which programs find a file of the call. */
const guestPath = (name: string) => (name.startsWith('/') ? name : `/app/${name}`);

/** A value too large for a result becomes the beginning of its JSON text. */
function shortResult(value: unknown, maxChars: number): ExecutionOutput['result'] {
  const text = JSON.stringify(value);
  return text.length <= maxChars ? (value as ExecutionOutput['result']) : `${text.slice(0, maxChars)}…`;
}

function outcomeLine(result: SandboxResult): string {
  const { metadata, exit_code } = result;
  const cost = `${formatDuration(result.duration_ms)}, ${formatFuel(result.fuel_consumed)} fuel`;
  if (result.success) return `Succeeded (${cost}).`;
  if (metadata.state === 'paused')
    return `Paused: the program is waiting for ${formatItems(metadata.pending?.length ?? 0, 'tool call')} (${cost}).`;
  if (metadata.trap_message !== null)
    return `Failed: ${metadata.trap_message} (exit code ${exit_code}, ${cost}).`;
  const { error, error_guidance: guidance } = metadata;
  if (error === undefined) return `Failed with exit code ${exit_code} (${cost}).`;
  const where = error.line == null ? '' : ` on line ${error.line}`;
  // The message of the guidance omits what standard error shows in full.
  const message = guidance?.error_message ?? `${error.type}: ${error.message.split('\n')[0]!.slice(0, 300)}`;
  return `Failed: ${message}${where} (exit code ${exit_code}, ${cost}).`;
}

function filesChanged(
  result: SandboxResult,
  session_id: string,
  maxChars: number,
): ExecutionOutput['files_changed'] {
  const rows = (change: 'created' | 'modified' | 'deleted', paths: readonly string[]) =>
    paths.slice(0, MAX_FILES).map((path) => ({
      path,
      change,
      ...(change !== 'deleted' && { uri: workspaceUri(session_id, path) }),
    }));
  const changes = [
    ...rows('created', result.files_created),
    ...rows('modified', result.files_modified),
    ...rows('deleted', result.files_deleted),
  ];
  return [...firstRows(changes, { maxRows: MAX_FILES, maxChars }, pathChars)];
}

const droppedNote = (bytes: number) =>
  bytes > 0 ? `\n[… ${formatItems(bytes, 'byte')} dropped: output limit exceeded …]` : '';

/** Names, messages and paths come from the guest: each stays on its line. Output keeps its lines. */
function executionText(output: ExecutionOutput, results: readonly string[]): string {
  const parts = [output.outcome];
  if (output.result !== undefined) parts.push(`result: ${escapeBlock(JSON.stringify(output.result))}`);
  if (output.stdout !== '') parts.push(`stdout:\n${escapeBlock(output.stdout.trimEnd())}`);
  if (output.stderr !== '') parts.push(`stderr:\n${escapeBlock(output.stderr.trimEnd())}`);
  if (results.length > 0) parts.push(`results:\n${results.map(escapeBlock).join('\n')}`);
  if (output.result === undefined && output.stdout === '' && output.stderr === '' && results.length === 0)
    parts.push('(no output)');
  if (output.stopped_at !== null)
    parts.push(...stoppedAtText(output.stopped_at, output.trap_reason !== null));
  if (output.error_guidance !== null) parts.push(guidanceText(output.error_guidance));
  if (output.fuel_analysis !== null && output.fuel_analysis.status !== 'efficient')
    parts.push(fuelReportText(output.fuel_analysis));
  if (output.fuel_profile !== null) parts.push(profileText(output.fuel_profile));
  if (output.packages_added !== undefined)
    parts.push(`packages: ${output.packages_added.map(additionText).map(escapeControls).join('; ')}`);
  if (output.files_passed !== undefined)
    parts.push(`files passed: ${output.files_passed.map(quotePath).join(', ')}`);
  if (output.files_changed.length > 0) {
    const lines = output.files_changed.map(({ path, change }) => `${change} ${quotePath(path)}`);
    const more = output.files_changed_total - lines.length;
    parts.push(`files: ${lines.join(', ')}${more > 0 ? ` and ${more} more` : ''}`);
  }
  for (const { id, name, arguments: given, reason } of output.pending ?? [])
    parts.push(escapeControls(`pending call ${id} (${reason}): ${name} ${JSON.stringify(given)}`));
  for (const note of output.notes ?? []) parts.push(`note: ${note}`);
  if (output.tool_calls !== undefined) parts.push(toolCallText(output.tool_calls));
  if (output.execution_id !== undefined) parts.push(`execution_id: ${output.execution_id}`);
  parts.push(`session ${output.session_id} (${output.language}), ${output.state}: ${output.state_note}`);
  return parts.join('\n');
}

/** Combines consecutive calls with the same outcome into one entry. */
function toolCallText(calls: readonly ToolCallRecord[]): string {
  const entries: { text: string; count: number }[] = [];
  for (const { name, status } of calls) {
    const text = escapeControls(`${name} ${status}`);
    const last = entries.at(-1);
    if (last?.text === text) last.count++;
    else entries.push({ text, count: 1 });
  }
  return `tool calls: ${entries.map(({ text, count }) => (count > 1 ? `${text} (${count} times)` : text)).join(', ')}`;
}

/** A place without variables is shown only for a trap, because the traceback of an exception contains it. */
function stoppedAtText(place: NonNullable<ExecutionOutput['stopped_at']>, isTrap: boolean): string[] {
  const variables = Object.entries(place.variables).map(([name, value]) => `${name} = ${value}`);
  const where = `stopped at ${place.file}:${place.line} in ${place.function}`;
  if (variables.length > 0) return [escapeControls(`${where}, with ${variables.join(', ')}`)];
  return isTrap ? [escapeControls(where)] : [];
}

function guidanceText(guidance: NonNullable<ExecutionOutput['error_guidance']>): string {
  const steps = guidance.actionable_guidance.map((step, i) => `${i + 1}. ${escapeControls(step)}`);
  const examples = (guidance.code_examples ?? []).map((example) => `Example:\n${escapeBlock(example)}`);
  const docs = guidance.related_docs.length > 0 ? [`See: ${guidance.related_docs.join(', ')}`] : [];
  return [`How to fix ${escapeControls(guidance.error_type)}:`, ...steps, ...examples, ...docs].join('\n');
}

function profileWithoutStacks(profile: FuelProfile | undefined): ExecutionOutput['fuel_profile'] {
  if (profile === undefined) return null;
  // Reading the stacks would parse them.
  const { sample_fuel, samples, lines, functions } = profile;
  return { sample_fuel, samples, lines, functions };
}

function profileText({ lines, samples }: NonNullable<ExecutionOutput['fuel_profile']>): string {
  const rows = lines.map(({ file, line, source, share }) =>
    escapeControls(`${formatPercent(Math.round(share * 1000) / 10).padStart(6)}  ${file}:${line}  ${source}`),
  );
  return [`fuel by line (${formatItems(samples, 'sample')}):`, ...rows].join('\n');
}

function fuelReportText(fuel: NonNullable<ExecutionOutput['fuel_analysis']>): string {
  // The recommendation has the percentage.
  const used = `fuel: ${formatFuel(fuel.consumed)} of ${formatFuel(fuel.budget)} (${fuel.status})`;
  const causes = fuel.likely_causes.length > 0 ? [`Likely causes: ${fuel.likely_causes.join('; ')}`] : [];
  const sentences = [used, ...(fuel.recommendation ? [fuel.recommendation] : []), ...causes];
  return escapeControls(sentences.map((text) => text.replace(/\.?$/, '.')).join(' '));
}
