/**
 * Shows what a program displayed: text on standard output, and all results as files with `--results`. Texts come from the
 * program, so control characters never reach the terminal.
 */
import { join } from 'node:path';
import type { DisplayResult } from '@llm-wasm-sandbox/core/internal';
import { encodeResult, escapeControls } from '@llm-wasm-sandbox/core/internal';
import { escapeLines } from './diagnostics.ts';

const EXTENSIONS: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
  'image/svg+xml': 'svg',
  'text/html': 'html',
  'text/markdown': 'md',
  'text/latex': 'tex',
  'text/plain': 'txt',
};

/** The name of the file of a result. */
const fileName = ({ id, mime }: DisplayResult) => `${id}.${EXTENSIONS[mime] ?? 'json'}`;

/** The richest form of a result as bytes; undefined if it is only in the workspace or was too large. */
function contentOf(result: DisplayResult): Uint8Array | undefined {
  const { png, jpeg, svg, html, markdown, latex, json, text, path } = encodeResult(result);
  if (result.mime === 'image/png' && png !== undefined) return Buffer.from(png, 'base64');
  if (result.mime === 'image/jpeg' && jpeg !== undefined) return Buffer.from(jpeg, 'base64');
  if (path !== undefined) return undefined;
  const form = svg ?? html ?? markdown ?? latex ?? json ?? text;
  return form === undefined ? undefined : Buffer.from(form);
}

/** The results as files: their names and contents. */
export async function resultFiles(
  results: readonly DisplayResult[],
  readFile: (path: string) => Promise<Uint8Array>,
): Promise<Map<string, Uint8Array>> {
  const files = new Map<string, Uint8Array>();
  for (const result of results) {
    const { path } = result;
    const content = contentOf(result) ?? (path === undefined ? undefined : await readFile(path));
    if (content !== undefined) files.set(fileName(result), content);
  }
  return files;
}

interface ReportOptions {
  readonly isTerminal: boolean;
  /** The folder to which results are written as files, if any. */
  readonly folder: string | undefined;
  /** Whether the value of the last expression is shown, as in a console. */
  readonly showsValue?: boolean;
}

interface ResultsReport {
  /** The Markdown or text of what the program displayed. */
  readonly stdout: string;
  /** A note about each result that is not shown. */
  readonly notes: readonly string[];
}

export function resultsReport(
  results: readonly DisplayResult[],
  { isTerminal, folder, showsValue = false }: ReportOptions,
): ResultsReport {
  let stdout = '';
  const notes: string[] = [];
  for (const result of results) {
    const { id, mime, is_main_result, markdown, text, path, width, height } = result;
    const isImage = mime.startsWith('image/');
    if (is_main_result && !isImage && !showsValue) continue;
    const form = markdown ?? text;
    if (!isImage && form !== undefined) stdout += `${isTerminal ? escapeLines(form) : form}\n`;
    else if (isTerminal || path === undefined || folder !== undefined) {
      const size = width === undefined ? '' : `, ${width} × ${height} pixels`;
      const file = folder === undefined ? path : join(folder, fileName(result));
      const where = file === undefined ? 'save it with --results DIR' : `file ${escapeControls(file)}`;
      notes.push(`result ${id}: ${escapeControls(mime)}${size} (${where})`);
    }
  }
  return { stdout, notes };
}
