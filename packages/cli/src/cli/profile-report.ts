/** Renders a detailed fuel profile: the source with a bar and a percentage per line, or a file for speedscope. */

import type { FuelProfile } from '@llm-wasm-sandbox/core/internal';
import { escapeControls, formatFuel, formatItems, formatPercent } from '@llm-wasm-sandbox/core/internal';

const BAR_WIDTH = 20;
/** Programs with more lines show only the lines that used fuel. */
const MAX_LINES = 400;
const MAX_LINE_CHARS = 160;

/** The program with the share of the fuel that each line used, including the library code that it called. */
export function profileText(profile: FuelProfile, code: string): string {
  // Only lines of the program itself have their source.
  const file = profile.lines.find(({ source }) => source !== '')?.file;
  const fuel = new Map<number, number>();
  let total = 0;
  for (const { stack, fuel: used } of profile.stacks?.samples ?? []) {
    total += used;
    const frames = stack.map((index) => profile.stacks!.frames[index]!);
    const own = frames.findLast((frame) => frame.file === file);
    if (own !== undefined) fuel.set(own.line, (fuel.get(own.line) ?? 0) + used);
  }
  const lines = code.replace(/\n$/, '').split('\n');
  const rows = lines.flatMap((text, i) => {
    const share = (fuel.get(i + 1) ?? 0) / Math.max(1, total);
    if (share === 0 && lines.length > MAX_LINES) return [];
    const bar = '█'.repeat(Math.round(share * BAR_WIDTH)).padEnd(BAR_WIDTH);
    const percent = share === 0 ? '' : formatPercent(share * 100, 1);
    return [`${percent.padStart(6)} ${bar} ${String(i + 1).padStart(4)}  ${shown(text)}`.trimEnd()];
  });
  const head = `Fuel profile: ${formatItems(profile.samples, 'sample')}, ${formatFuel(total)} fuel`;
  return [head, ...rows, ''].join('\n');
}

const shown = (text: string) => escapeControls(text.replaceAll('\t', '    ').slice(0, MAX_LINE_CHARS));

/** The profile in the file format of speedscope. `name` is the title. */
export function toSpeedscope(profile: FuelProfile, name: string): object {
  const { frames, samples } = profile.stacks ?? { frames: [], samples: [] };
  return {
    $schema: 'https://www.speedscope.app/file-format-schema.json',
    name,
    exporter: 'llm-wasm-sandbox',
    activeProfileIndex: 0,
    shared: { frames: frames.map(({ file, function: title, line }) => ({ name: title, file, line })) },
    profiles: [
      {
        type: 'sampled',
        name: 'fuel',
        unit: 'none',
        startValue: 0,
        endValue: samples.reduce((sum, { fuel }) => sum + fuel, 0),
        samples: samples.map(({ stack }) => stack),
        weights: samples.map(({ fuel }) => fuel),
      },
    ],
  };
}
