/** The label and the status of a step on the timeline. */
import type { SandboxResult } from '@llm-wasm-sandbox/core/internal';
import type { TimelineNode } from './timeline.ts';

export const MAX_LABEL_CHARS = 80;

export function stepStatus({ success, metadata }: SandboxResult): TimelineNode['status'] {
  // A resume that was rolled back leaves the program paused.
  if (metadata.execution_id !== undefined) return 'paused';
  if (metadata.trap_reason === 'cancelled') return 'stopped';
  return success ? 'ok' : 'failed';
}

const COMMENT = /^(?:#|\/\/|\/\*|\*)/;
const IMPORT =
  /^(?:import\b|from\s+\S+\s+import\b|export\s.*\bfrom\s|["']use strict["']|(?:const|let|var)\s[^=]+=\s*(?:await\s+import|require)\()/;
const LONG_TEXT = /^[rR]?("""|''')/;

/** The lines of a program without those of imports, comments and a text that describes the program. */
function* statements(lines: readonly string[]): Generator<string> {
  let end: RegExp | undefined;
  for (const line of lines) {
    if (end !== undefined) {
      if (end.test(line)) end = undefined;
      continue;
    }
    const quote = LONG_TEXT.exec(line)?.[1];
    if (quote !== undefined) {
      if (line.lastIndexOf(quote) < 4) end = new RegExp(quote);
    } else if (IMPORT.test(line)) {
      if (/[({]\s*$/.test(line)) end = /^[^({]*[)}]/;
    } else if (!COMMENT.test(line)) yield line;
  }
}

/** The first statement of a program that is not an import, if there is one near its beginning. */
export function stepLabel(code: string): string {
  const lines = code
    .slice(0, 4096)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const found = statements(lines).next().value;
  const first = found ?? lines.find((line) => !COMMENT.test(line)) ?? lines[0] ?? 'Empty program';
  // A line that only opens a list or a call says little without the next one.
  const next = /[[({]$/.test(first) ? (lines[lines.indexOf(first) + 1] ?? '') : '';
  return `${first}${next}`.slice(0, MAX_LABEL_CHARS);
}
