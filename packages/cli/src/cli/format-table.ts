/**
 * Formats tables and name-value lists for a terminal. Names and values may come from guests, so every cell is
 * escaped: no guest can send control sequences to the user's terminal.
 */
import { escapeControls } from '@llm-wasm-sandbox/core/internal';

/** Rows under a header, each column as wide as its longest cell. */
export function formatTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [header, ...rows].map((row) => row.map(escapeControls));
  const widths = header.map((_, i) => Math.max(...lines.map((row) => row[i]!.length)));
  return lines
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** One name and value per line, the values aligned. */
export function formatFields(fields: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(...fields.map(([name]) => name.length));
  return fields.map(([name, value]) => `${name.padEnd(width)}  ${escapeControls(value)}`).join('\n');
}
