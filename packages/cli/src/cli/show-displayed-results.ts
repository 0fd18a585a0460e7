/**
 * Shows what a program displayed: text on standard output, images in terminals that can show them, and all results as files
 * with `--results`. Texts and images come from the program, so control characters never reach the terminal.
 */
import { join } from 'node:path';
import type { DisplayResult, ResultAccess } from '@llm-wasm-sandbox/core/internal';
import {
  encodeResult,
  escapeControls,
  RESULT_LIMITS,
  readDisplayedImage,
} from '@llm-wasm-sandbox/core/internal';
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

type ImageProtocol = 'kitty' | 'iterm2';

/** The protocol with which a terminal shows images, from its environment variables. */
export function imageProtocol(env: Readonly<Record<string, string | undefined>>): ImageProtocol | undefined {
  // Terminal multiplexers do not pass these sequences through.
  if (env['TMUX'] !== undefined || env['STY'] !== undefined) return undefined;
  const program = env['TERM_PROGRAM'] ?? '';
  const terminal = env['TERM'] ?? '';
  if (env['KITTY_WINDOW_ID'] !== undefined || terminal === 'xterm-kitty' || program === 'ghostty')
    return 'kitty';
  if (['iTerm.app', 'WezTerm', 'mintty'].includes(program)) return 'iterm2';
  return undefined;
}

/** Characters per chunk in the kitty protocol. */
const KITTY_CHUNK = 4096;

/** The escape sequence that shows a PNG image. The base64 text was encoded by the host, so it has no control characters. */
export function imageSequence(protocol: ImageProtocol, base64: string): string {
  if (protocol === 'iterm2') return `\x1b]1337;File=inline=1:${base64}\x07\n`;
  let sequence = '';
  for (let at = 0; at < base64.length; at += KITTY_CHUNK) {
    const isLast = at + KITTY_CHUNK >= base64.length;
    const keys = `${at === 0 ? 'f=100,a=T,' : ''}m=${isLast ? 0 : 1}`;
    sequence += `\x1b_G${keys};${base64.slice(at, at + KITTY_CHUNK)}\x1b\\`;
  }
  return `${sequence}\n`;
}

/** Limits of images in a terminal. */
const PNG_LIMITS = { maxEdge: RESULT_LIMITS.shownEdge, maxBytes: 4 * 1024 * 1024 } as const;

/**
 * The sequences that show the images among the results, by id. Images that are not in the format of the protocol are converted.
 * One that cannot be converted has no sequence: the run has ended, and its report is complete without the image.
 */
export async function imageSequences(
  results: readonly DisplayResult[],
  protocol: ImageProtocol,
  access: ResultAccess,
): Promise<Map<string, string>> {
  const sequences = new Map<string, string>();
  for (const result of results) {
    if (!result.mime.startsWith('image/')) continue;
    if (result.png !== undefined) {
      sequences.set(result.id, imageSequence(protocol, result.png));
      continue;
    }
    const source = await readDisplayedImage(result, (path) => access.readFile(path));
    const drawn = source === undefined ? undefined : await access.drawPicture(source, PNG_LIMITS);
    if (drawn === undefined || 'problem' in drawn) continue;
    sequences.set(result.id, imageSequence(protocol, Buffer.from(drawn.image).toString('base64')));
  }
  return sequences;
}

interface ReportOptions {
  /** The sequences that show images in the terminal, by the id of the result. */
  readonly images: ReadonlyMap<string, string>;
  readonly isTerminal: boolean;
  /** The folder to which results are written as files, if any. */
  readonly folder: string | undefined;
  /** Whether the value of the last expression is shown, as in a console. */
  readonly showsValue?: boolean;
}

interface ResultsReport {
  /** The Markdown or text of what the program displayed, and images if the terminal shows them. */
  readonly stdout: string;
  /** A note about each result that is not shown. */
  readonly notes: readonly string[];
}

export function resultsReport(
  results: readonly DisplayResult[],
  { images, isTerminal, folder, showsValue = false }: ReportOptions,
): ResultsReport {
  let stdout = '';
  const notes: string[] = [];
  for (const result of results) {
    const { id, mime, is_main_result, markdown, text, path, width, height } = result;
    const isImage = mime.startsWith('image/');
    if (is_main_result && !isImage && !showsValue) continue;
    const form = markdown ?? text;
    const image = images.get(id);
    if (image !== undefined) stdout += image;
    else if (!isImage && form !== undefined) stdout += `${isTerminal ? escapeLines(form) : form}\n`;
    else if (isTerminal || path === undefined || folder !== undefined) {
      const size = width === undefined ? '' : `, ${width} × ${height} pixels`;
      const file = folder === undefined ? path : join(folder, fileName(result));
      const where = file === undefined ? 'save it with --results DIR' : `file ${escapeControls(file)}`;
      notes.push(`result ${id}: ${escapeControls(mime)}${size} (${where})`);
    }
  }
  return { stdout, notes };
}
