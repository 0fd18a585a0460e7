/**
 * How quantities are written and read, in one notation for all output: fuel as `8.5B` (K, M, B, T: powers of 1000),
 * sizes as `256 MiB` (powers of 1024), durations as `338 ms` or `1.5 s`, counts as `10,000`, shares as `85%`.
 * A parser returns undefined for text that it does not accept.
 */

const FUEL_UNITS = [
  [1e12, 'T'],
  [1e9, 'B'],
  [1e6, 'M'],
  [1e3, 'K'],
] as const;

/** Three significant digits at most, without trailing zeros. */
function shortNumber(value: number): string {
  return String(Number(value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2)));
}

/** Instructions in the notation of docs/specification.md: 10B, 8.5B, 530M. */
export function formatFuel(fuel: number): string {
  // From 999.5 of a unit on, rounding would print "1000" of it: the next unit applies.
  const [size, unit] = FUEL_UNITS.find(([one]) => fuel >= one * 0.9995) ?? [1, ''];
  return `${shortNumber(fuel / size)}${unit}`;
}

/** Fuel per second on common machines: an interpreter that V8 has not optimised yet, and an optimised one. */
const TYPICAL_SPEED = { slow: 1.25e9, fast: 5e9 } as const;

/** How long a program can compute with an amount of fuel: 2 to 8 s. A range, because it depends on machine and program. */
export function typicalSeconds(fuel: number): string {
  const { slow, fast } = TYPICAL_SPEED;
  return `${shortNumber(fuel / fast)} to ${shortNumber(fuel / slow)} s`;
}

const BYTE_UNITS = [
  [2 ** 30, 'GiB'],
  [2 ** 20, 'MiB'],
  [2 ** 10, 'KiB'],
] as const;

/** A size: 256 MiB, 1.9 MiB, 812 bytes. */
export function formatBytes(bytes: number): string {
  const unit = BYTE_UNITS.find(([size]) => bytes >= size);
  if (unit === undefined) return formatItems(bytes, 'byte');
  return `${Number((bytes / unit[0]).toFixed(1))} ${unit[1]}`;
}

/** A duration: 0.4 ms, 338 ms, 1.5 s. */
export function formatDuration(milliseconds: number): string {
  // From 999.5 on, rounding would print "1000 ms".
  if (milliseconds >= 999.5) return `${Number((milliseconds / 1000).toFixed(1))} s`;
  return `${Number(milliseconds.toFixed(milliseconds < 10 ? 1 : 0))} ms`;
}

const AGE_UNITS = [
  [2 * 86_400_000, 86_400_000, 'd'],
  [2 * 3_600_000, 3_600_000, 'h'],
  [60_000, 60_000, 'min'],
] as const;

/** How long ago something happened: 5 s ago, 90 min ago, 3 d ago. */
export function formatAge(milliseconds: number): string {
  const age = Math.max(0, milliseconds);
  const [, size, unit] = AGE_UNITS.find(([from]) => age >= from) ?? [0, 1000, 's'];
  return `${Math.floor(age / size)} ${unit} ago`;
}

/** A number with its digits grouped: 10,000. */
export function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}

/** A number of things: 1 file, 10,000 files, 2 entries. */
export function formatItems(count: number, noun: string, plural?: string): string {
  return `${formatCount(count)} ${nounFor(count, noun, plural)}`;
}

/** The singular or plural of a noun: file for 1, files for 0 and 2. */
export function nounFor(count: number, noun: string, plural = `${noun}s`): string {
  return count === 1 ? noun : plural;
}

/** A whole number to paste into a program: 20_000_000_000, valid in Python and JavaScript. */
export function formatLiteral(value: number): string {
  return String(Math.round(value)).replaceAll(/\B(?=(\d{3})+$)/g, '_');
}

/** A percentage: 85%, or 85.3% with one digit. */
export function formatPercent(percent: number, digits = 0): string {
  return `${percent.toFixed(digits)}%`;
}

const MULTIPLES: Readonly<Record<string, number>> = {
  '': 1,
  K: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
};

function parseWithUnit(text: string, multiple: (unit: string) => number | undefined): number | undefined {
  const match = /^(\d[\d_]*(?:\.\d+)?(?:e\d+)?)([A-Za-z]*)$/.exec(text);
  const size = match === null ? undefined : multiple(match[2]!);
  return size === undefined ? undefined : Math.round(Number(match![1]!.replaceAll('_', '')) * size);
}

const multipleOf = (unit: string) => (Object.hasOwn(MULTIPLES, unit) ? MULTIPLES[unit] : undefined);

/** A number of instructions: 20B, 20G, 530M, 20_000_000_000. */
export function parseFuel(text: string): number | undefined {
  return parseWithUnit(text, (unit) => multipleOf(unit === 'B' ? 'G' : unit));
}

/** A size: 512Mi, 512MiB, 1G, 4096. */
export function parseBytes(text: string): number | undefined {
  return parseWithUnit(text, (unit) => multipleOf(unit.replace(/(?<=i)B$/, '')));
}

/** A whole number: 10_000, 10K, 1e6. */
export function parseCount(text: string): number | undefined {
  return parseWithUnit(text, multipleOf);
}
