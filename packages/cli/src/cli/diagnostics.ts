/**
 * Messages of this program on standard error. They may contain text of programs, so control characters are escaped before
 * colours are added: no program can send control sequences to the terminal through them.
 */

import { escapeControls } from '@llm-wasm-sandbox/core/basics';
import { paint, type Style } from './color.ts';
import { clearStatusLine } from './progress-line.ts';

const PREFIX = 'llm-wasm-sandbox:';

/** Escapes all control characters except line breaks. */
export const escapeLines = (text: string) => text.split('\n').map(escapeControls).join('\n');

/** A message as it is printed, without a line break at the end. */
const message = (style: Style, text: string) => `${paint(style, PREFIX)} ${escapeLines(text)}`;

/** Writes lines that are already escaped. */
export function printLines(text: string): void {
  if (text === '') return;
  clearStatusLine();
  process.stderr.write(`${text}\n`);
}

/** The command fails for this reason. */
export const printError = (text: string) => printLines(message('error', text));

/** Something is incomplete or unusual. */
export const printWarning = (text: string) => printLines(message('warning', text));

/** What the command does or what the user can do next. */
export const printNote = (text: string) => printLines(message('note', text));

/** A message of commander, which starts with "error: ". */
export function commanderError(text: string): string {
  const escaped = escapeLines(text.trimEnd());
  return `${escaped.replace(/^error:/, (word) => paint('error', word))}\n`;
}
