/**
 * Text for people: columns, sizes, ages. Names and values come from guests, so characters that a terminal would act on
 * are shown, never sent.
 */
import { formatAge } from '../quantities.ts';

/** A text without line breaks, escape sequences or anything else that changes how what follows is read. */
export function plain(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, (char) => {
    const code = char.codePointAt(0)!.toString(16);
    return code.length <= 2 ? `\\x${code.padStart(2, '0')}` : `\\u{${code}}`;
  });
}

/** Rows under a heading, each column as wide as it needs. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, ...rows].map((row) => row.map(plain));
  const widths = head.map((_, i) => Math.max(...lines.map((row) => row[i]!.length)));
  return lines
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Names and values, one pair a line. */
export const facts = (pairs: readonly (readonly [string, string])[]) => {
  const width = Math.max(...pairs.map(([name]) => name.length));
  return pairs.map(([name, value]) => `${name.padEnd(width)}  ${plain(value)}`).join('\n');
};

/** How long ago a moment was. */
export const ageOf = (iso: string) => formatAge(Date.now() - Date.parse(iso));
