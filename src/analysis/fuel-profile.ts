/** The `fuel_profile` block of a result: the lines and functions of a run that used the most fuel. */
import { type FuelProfile, PROFILE_ROWS } from '../schema.ts';
import { sourceLine } from './quote-guest-text.ts';
import type { FrameFuel, RunProfile } from './run-profile-schema.ts';

/** `source` is the program of the call. */
export function toFuelProfile(profile: RunProfile, source: string): FuelProfile {
  const share = (fuel: number) => Math.round((fuel / Math.max(1, profile.fuel)) * 1e4) / 1e4;
  return {
    sample_fuel: Math.round(profile.fuel / Math.max(1, profile.samples)),
    samples: profile.samples,
    lines: byLine(profile.lines)
      .slice(0, PROFILE_ROWS)
      .map(({ frame: { file, line }, fuel }) => ({
        file,
        line,
        source: file === profile.programFile ? sourceLine(source, line) : '',
        fuel,
        share: share(fuel),
      })),
    functions: byFunction(profile.functions)
      .slice(0, PROFILE_ROWS)
      .map(({ frame: { file, line, function: name }, fuel }) => ({
        file,
        line,
        function: name,
        fuel,
        share: share(fuel),
      })),
    ...(profile.stacks && { stacks: toStacks(profile.stacks) }),
  };
}

function toStacks(stacks: NonNullable<RunProfile['stacks']>): NonNullable<FuelProfile['stacks']> {
  const indices = new Map<string, number>();
  const frames: NonNullable<FuelProfile['stacks']>['frames'] = [];
  const samples = stacks.map((stack) => ({
    stack: stack.frames.map(({ file, function: name, line }) => {
      const key = JSON.stringify([file, name, line]);
      const index = indices.get(key) ?? frames.push({ file, function: name, line }) - 1;
      indices.set(key, index);
      return index;
    }),
    fuel: stack.fuel,
  }));
  return { frames, samples };
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
