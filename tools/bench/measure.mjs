/** Measurement and formatting shared by all benchmarks: interleaved rounds, robust statistics, Markdown tables. */

/**
 * The environment of measured processes: without additional certificates, which Node.js 20 reads when it starts and later
 * versions when they need them.
 */
export const measuredEnv = { ...process.env, NODE_EXTRA_CA_CERTS: undefined };

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

const COLUMNS = 125;

/** Breaks a paragraph into lines, but not inside code. */
function wrap(paragraph) {
  const lines = [''];
  for (const [word] of paragraph.matchAll(/(?:`[^`]*`|\S)+/g)) {
    const longer = lines.at(-1) === '' ? word : `${lines.at(-1)} ${word}`;
    if (longer.length <= COLUMNS) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines.join('\n');
}

/** A section: the title, a paragraph that explains the table, the table, and optionally a paragraph about the figures. */
export function markdown(title, note, head, rows, conclusion) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  const body = [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n');
  const parts = [`## ${title}`, wrap(note), body, ...(conclusion === undefined ? [] : [wrap(conclusion)])];
  return `${parts.join('\n\n')}\n`;
}

/** Milliseconds that a function takes. */
export async function elapsedMs(run) {
  const started = performance.now();
  await run();
  return performance.now() - started;
}

/**
 * Runs all alternatives once per round, so that a slow moment of the machine affects all of them, and returns the
 * milliseconds of each by name. The first rounds are warm-up and not counted. `before` runs untimed, and its result is
 * passed to `run`.
 */
export async function sampleInterleaved(alternatives, { warmup, rounds }) {
  const samples = Object.fromEntries(Object.keys(alternatives).map((name) => [name, []]));
  for (let round = -warmup; round < rounds; round++) {
    for (const [name, { before, run }] of Object.entries(alternatives)) {
      const prepared = await before?.();
      const took = await elapsedMs(() => run(prepared));
      if (round >= 0) samples[name].push(took);
    }
  }
  return samples;
}
