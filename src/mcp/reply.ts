/**
 * What a model reads back: every fact once as text and once as structured content, each complete without the other,
 * because clients show either. Long output is cut to head and tail with a link to the whole.
 */
import type { ContentBlock } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { formatDuration, formatFuel, formatPercent } from '../quantities.ts';
import { errorGuidance, fuelAnalysis, type RuntimeName, runtimeName, type SandboxResult } from '../schema.ts';
import type { OutputStream } from './output-cache.ts';

/** A tool's answer before it becomes protocol. */
export interface ToolResult {
  readonly text: string;
  readonly structured?: Record<string, unknown>;
  /** Blocks after the text: links and images. */
  readonly blocks?: readonly ContentBlock[];
}

/** Links and file names in one answer; list_files tells of more. */
const MAX_LINKS = 20;
const MAX_FILES = 100;

export function workspaceUri(session_id: string, path: string): string {
  return `workspace://${session_id}/${path.split('/').map(encodeURIComponent).join('/')}`;
}

const MIME_TYPES: Record<string, string> = {
  csv: 'text/csv',
  gif: 'image/gif',
  html: 'text/html',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  js: 'text/javascript',
  json: 'application/json',
  md: 'text/markdown',
  pdf: 'application/pdf',
  png: 'image/png',
  py: 'text/x-python',
  svg: 'image/svg+xml',
  txt: 'text/plain',
  webp: 'image/webp',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  xml: 'application/xml',
  yaml: 'application/yaml',
  zip: 'application/zip',
};

export function mimeType(path: string): string | undefined {
  const suffix = /\.([a-z0-9]+)$/i.exec(path)?.[1]?.toLowerCase() ?? '';
  // Own entries only: what every object inherits is no type, and programs choose the names of their files.
  return Object.hasOwn(MIME_TYPES, suffix) ? MIME_TYPES[suffix] : undefined;
}

/**
 * JSON data with U+FFFD for lone surrogates, which programs can print and cuts can leave: strict parsers refuse a whole
 * message for one of them.
 */
export function replaceLoneSurrogates<T>(data: T): T;
export function replaceLoneSurrogates(data: unknown): unknown {
  if (typeof data === 'string') return data.replaceAll(/\p{Surrogate}/gu, '\ufffd');
  if (Array.isArray(data)) return data.map((item) => replaceLoneSurrogates(item));
  if (typeof data !== 'object' || data === null) return data;
  return Object.fromEntries(Object.entries(data).map((entry) => replaceLoneSurrogates(entry)));
}

export function fileLink(session_id: string, path: string, size?: number): ContentBlock {
  const mime = mimeType(path);
  return {
    type: 'resource_link',
    uri: workspaceUri(session_id, path),
    name: path,
    ...(mime !== undefined && { mimeType: mime }),
    ...(size !== undefined && { size }),
  };
}

/** Head and tail of a text that is too long, with a line between them that says what is missing. */
export function truncateMiddle(
  text: string,
  maxChars: number,
  whole: () => string,
): { text: string; uri?: string } {
  if (text.length <= maxChars) return { text };
  const head = text.slice(0, Math.ceil(maxChars * 0.6));
  const tail = text.slice(text.length - Math.floor(maxChars * 0.4));
  const uri = whole();
  const missing = text.length - head.length - tail.length;
  return { text: `${head}\n[… ${missing} characters left out; the whole is at ${uri} …]\n${tail}`, uri };
}

export const fileChange = z.object({
  path: z.string().describe('Relative to the workspace.'),
  change: z.enum(['created', 'modified', 'deleted']),
  uri: z.string().optional(),
});

/**
 * Text or null in the spelling that most clients understand: two branches with one type each. Without a description of
 * its own the first branch would be merged with the second.
 */
const textOrNull = (what: string) => z.union([z.string().describe(what), z.null()]);

export const executionOutput = z.object({
  outcome: z.string().describe('How it went, in one line.'),
  success: z.boolean(),
  result: z.json().optional().describe('Value of a trailing expression.'),
  stdout: z.string(),
  stderr: z.string(),
  exit_code: z.number().int(),
  trap_reason: textOrNull('The limit that ended the program, if one did.'),
  fuel_consumed: z.number().int(),
  duration_ms: z.number(),
  files_changed: z.array(fileChange).describe('The first of them.'),
  files_changed_total: z.number().int(),
  language: runtimeName,
  session_id: z.string(),
  state: z.enum(['fresh', 'committed', 'rolled_back']),
  state_note: z.string(),
  output_uris: z.array(z.string()).describe('Where output that was cut can be read in full.'),
  error_guidance: errorGuidance.nullable(),
  fuel_analysis: fuelAnalysis
    .extend({ recommendation: textOrNull('What to do about it, if anything.') })
    .nullable(),
});
export type ExecutionOutput = z.infer<typeof executionOutput>;

export interface ExecutionContext {
  readonly language: RuntimeName;
  readonly session_id: string;
  readonly maxChars: number;
  readonly cacheOutput: (stream: OutputStream, text: string) => string;
}

const STATE_NOTES: Record<SandboxResult['metadata']['state'], string> = {
  fresh: 'variables are gone, files stay in /app',
  committed: 'variables and files stay for the next call of this session',
  rolled_back: 'variables and files are as they were before this call',
};

/** The answer to `execute_code`. */
export function executionResult(result: SandboxResult, context: ExecutionContext): ToolResult {
  const { session_id, maxChars, cacheOutput } = context;
  const { metadata } = result;
  const stdout = truncateMiddle(result.stdout, maxChars, () => cacheOutput('stdout', result.stdout));
  const stderr = truncateMiddle(result.stderr, Math.ceil(maxChars / 3), () =>
    cacheOutput('stderr', result.stderr),
  );
  const changed = filesChanged(result, session_id);
  const structured: ExecutionOutput = {
    outcome: outcomeLine(result),
    success: result.success,
    ...(metadata.result !== undefined && { result: shortResult(metadata.result, maxChars) }),
    stdout: stdout.text + droppedNote(metadata.stdout_dropped_bytes),
    stderr: stderr.text + droppedNote(metadata.stderr_dropped_bytes),
    exit_code: result.exit_code,
    trap_reason: metadata.trap_reason,
    fuel_consumed: result.fuel_consumed,
    duration_ms: Math.round(result.duration_ms * 10) / 10,
    files_changed: changed.slice(0, MAX_FILES),
    files_changed_total: changed.length,
    language: context.language,
    session_id,
    state: metadata.state,
    state_note: STATE_NOTES[metadata.state],
    output_uris: [stdout.uri, stderr.uri].filter((uri) => uri !== undefined),
    error_guidance: metadata.error_guidance ?? null,
    fuel_analysis: metadata.fuel_analysis ?? null,
  };
  const links = structured.files_changed.filter((file) => file.uri !== undefined).slice(0, MAX_LINKS);
  return {
    text: executionText(structured),
    structured,
    blocks: [
      ...links.map(({ path }) => fileLink(session_id, path)),
      ...structured.output_uris.map((uri) => outputLink(uri)),
    ],
  };
}

export function outputLink(uri: string): ContentBlock {
  return { type: 'resource_link', uri, name: `whole ${uri.split('/').at(-1)}`, mimeType: 'text/plain' };
}

/** A value that is too large for an answer is told as text, cut. */
function shortResult(value: unknown, maxChars: number): ExecutionOutput['result'] {
  const text = JSON.stringify(value);
  return text.length <= maxChars ? (value as ExecutionOutput['result']) : `${text.slice(0, maxChars)}…`;
}

function outcomeLine(result: SandboxResult): string {
  const { metadata, exit_code } = result;
  const cost = `${formatDuration(result.duration_ms)}, ${formatFuel(result.fuel_consumed)} fuel`;
  if (result.success) return `Succeeded (${cost}).`;
  if (metadata.trap_message !== null)
    return `Failed: ${metadata.trap_message} (exit code ${exit_code}, ${cost}).`;
  const { error } = metadata;
  if (error === undefined) return `Failed with exit code ${exit_code} (${cost}).`;
  const where = error.line == null ? '' : ` on line ${error.line}`;
  const message = error.message.split('\n')[0]!.slice(0, 300);
  return `Failed: ${error.type}: ${message}${where} (exit code ${exit_code}, ${cost}).`;
}

function filesChanged(result: SandboxResult, session_id: string): ExecutionOutput['files_changed'] {
  const rows = (change: 'created' | 'modified' | 'deleted', paths: readonly string[]) =>
    paths.map((path) => ({
      path,
      change,
      ...(change !== 'deleted' && { uri: workspaceUri(session_id, path) }),
    }));
  return [
    ...rows('created', result.files_created),
    ...rows('modified', result.files_modified),
    ...rows('deleted', result.files_deleted),
  ];
}

const droppedNote = (bytes: number) =>
  bytes > 0 ? `\n[… ${bytes} bytes over the limit were dropped …]` : '';

function executionText(output: ExecutionOutput): string {
  const parts = [output.outcome];
  if (output.result !== undefined) parts.push(`result: ${JSON.stringify(output.result)}`);
  if (output.stdout !== '') parts.push(`stdout:\n${output.stdout.trimEnd()}`);
  if (output.stderr !== '') parts.push(`stderr:\n${output.stderr.trimEnd()}`);
  if (output.result === undefined && output.stdout === '' && output.stderr === '') parts.push('(no output)');
  if (output.error_guidance !== null) parts.push(guidanceText(output.error_guidance));
  if (output.fuel_analysis !== null && output.fuel_analysis.status !== 'efficient')
    parts.push(fuelReportText(output.fuel_analysis));
  if (output.files_changed.length > 0) {
    const lines = output.files_changed.map(({ path, change }) => `${change} ${path}`);
    const more = output.files_changed_total - lines.length;
    parts.push(`files: ${lines.join(', ')}${more > 0 ? ` and ${more} more` : ''}`);
  }
  parts.push(`session ${output.session_id} (${output.language}), ${output.state}: ${output.state_note}`);
  return parts.join('\n');
}

function guidanceText(guidance: NonNullable<ExecutionOutput['error_guidance']>): string {
  const steps = guidance.actionable_guidance.map((step, i) => `${i + 1}. ${step}`);
  const examples = (guidance.code_examples ?? []).map((example) => `Example:\n${example}`);
  const docs = guidance.related_docs.length > 0 ? [`See: ${guidance.related_docs.join(', ')}`] : [];
  return [`What to do about ${guidance.error_type}:`, ...steps, ...examples, ...docs].join('\n');
}

function fuelReportText(fuel: NonNullable<ExecutionOutput['fuel_analysis']>): string {
  const share = `${formatPercent(fuel.utilization_percent)} of ${formatFuel(fuel.budget)}`;
  const causes = fuel.likely_causes.length > 0 ? ` Likely causes: ${fuel.likely_causes.join('; ')}.` : '';
  return `fuel: ${share} (${fuel.status}). ${fuel.recommendation ?? ''}${causes}`.trim();
}
