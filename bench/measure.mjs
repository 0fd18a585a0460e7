/** What all tables are made with: interleaved rounds, robust statistics, Markdown. */

/** Geometric mean. */
export const geomean = (values) =>
  Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);

export function quantile(values, q) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))];
}
export const median = (values) => quantile(values, 0.5);

export const ms = (value) => (value < 10 ? value.toFixed(2) : value.toFixed(1));
export const times = (value) => `×${value >= 10 ? value.toFixed(0) : value.toFixed(2)}`;

export function markdown(title, note, head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  const body = [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n');
  return `## ${title}\n\n${note}\n\n${body}\n`;
}

/**
 * Runs alternatives in turn, round after round, so that a slow moment of the machine hits all of them; the first rounds
 * warm up and do not count. Returns the fastest time of each: on a shared machine the least disturbed one says most.
 */
export async function interleave(alternatives, { warmup, rounds }) {
  const best = Object.fromEntries(Object.keys(alternatives).map((name) => [name, Number.POSITIVE_INFINITY]));
  for (let round = -warmup; round < rounds; round++) {
    for (const [name, run] of Object.entries(alternatives)) {
      const started = performance.now();
      await run();
      const took = performance.now() - started;
      if (round >= 0) best[name] = Math.min(best[name], took);
    }
  }
  return best;
}
