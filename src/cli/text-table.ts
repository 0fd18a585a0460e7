/**
 * Text for people: columns, sizes, ages. Names and values come from guests, so characters that a terminal would act on
 * are shown, never sent.
 */

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

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB'] as const;

export function bytesText(bytes: number): string {
  let unit = 0;
  let value = bytes;
  while (value >= 1024 && unit < BYTE_UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${BYTE_UNITS[unit]}`;
}

export function fuelText(fuel: number): string {
  return fuel >= 1e9 ? `${(fuel / 1e9).toFixed(1)} G` : `${(fuel / 1e6).toFixed(1)} M`;
}

const AGES = [
  [86_400_000 * 2, 86_400_000, 'd'],
  [3_600_000 * 2, 3_600_000, 'h'],
  [60_000, 60_000, 'min'],
] as const;

/** How long ago a moment was. */
export function ageText(iso: string, nowMs = Date.now()): string {
  const ms = Math.max(0, nowMs - Date.parse(iso));
  const [, unit, name] = AGES.find(([from]) => ms >= from) ?? [0, 1000, 's'];
  return `${Math.floor(ms / unit)} ${name} ago`;
}
