/** The `fuel_profile` block of a result: the lines and functions of a run that used the most fuel. */
import { defineJson } from '../framing/limited-json.ts';
import { MAX_STACKS_CHARS } from '../schema/report-limits.ts';
import { type FuelProfile, PROFILE_ROWS } from '../schema.ts';
import { escapeControls } from './escape-controls.ts';
import { sourceLine } from './quote-guest-text.ts';
import type { FrameFuel, RunProfile } from './run-profile-schema.ts';

const STACKS_SHAPE = { depth: 4, members: MAX_STACKS_CHARS, literalChars: 32 } as const;

/** `source` is the program of the call. */
export function toFuelProfile(profile: RunProfile, source: string): FuelProfile {
  const share = (fuel: number) => Math.round((fuel / Math.max(1, profile.fuel)) * 1e4) / 1e4;
  const shown: FuelProfile = {
    sample_fuel: Math.round(profile.fuel / Math.max(1, profile.samples)),
    samples: profile.samples,
    lines: byLine(profile.lines)
      .slice(0, PROFILE_ROWS)
      .map(({ frame: { file, line }, fuel }) => ({
        file: escapeControls(file),
        line,
        source: file === profile.programFile ? sourceLine(source, line) : '',
        fuel,
        share: share(fuel),
      })),
    functions: byFunction(profile.functions)
      .slice(0, PROFILE_ROWS)
      .map(({ frame: { file, line, function: name }, fuel }) => ({
        file: escapeControls(file),
        line,
        function: escapeControls(name),
        fuel,
        share: share(fuel),
      })),
  };
  if (profile.stacks !== undefined) defineJson(shown, 'stacks', profile.stacks, STACKS_SHAPE);
  return shown;
}

/** Rows with the same key, added up, the largest first. The frame is that of the largest part. */
function merge(rows: readonly FrameFuel[], keyOf: (row: FrameFuel) => string): FrameFuel[] {
  const merged = new Map<string, FrameFuel>();
  for (const row of rows) {
    const key = keyOf(row);
    const known = merged.get(key);
    merged.set(key, known === undefined ? row : { frame: known.frame, fuel: known.fuel + row.fuel });
  }
  return [...merged.values()].sort((a, b) => b.fuel - a.fuel);
}

const byLine = (rows: readonly FrameFuel[]) => merge(rows, ({ frame }) => `${frame.line} ${frame.file}`);
const byFunction = (rows: readonly FrameFuel[]) =>
  merge(rows, ({ frame }) => `${frame.function.length} ${frame.function}${frame.file}`);
