/** Figures of a soak run: latency per tenant, outcomes, resources, stalls, and growth of resources. */
import type { CallRecord } from './load.ts';
import type { Sample } from './server.ts';
import { percentile, type StallFigures, type Stalls } from './stall-meter.ts';

interface SoakResult {
  readonly records: readonly CallRecord[];
  readonly samples: readonly Sample[];
  readonly stalls: Stalls;
  readonly killed: number;
  readonly minutes: number;
}

const MiB = 1024 * 1024;
export const STALL_TARGET_MS = 50;

/** Allowed growth from the highest value of the first quarter to the lowest value of the last quarter. */
const ALLOWED = {
  rssBytes: (before: number) => before * 1.2 + 64 * MiB,
  descriptors: (before: number) => before + 8,
  threads: (before: number) => before + 2,
} as const;
const MIN_SAMPLES = 8;

/**
 * Compares the end of the measured time with its start. Resources go up and down with the load, so only a level that stays
 * above all of the start is growth.
 */
export function findGrowth(samples: readonly Sample[]): string[] {
  if (samples.length < MIN_SAMPLES) return ['the run was too short to detect growth; use more minutes'];
  const quarter = Math.floor(samples.length / 4);
  return (Object.keys(ALLOWED) as (keyof typeof ALLOWED)[]).flatMap((key) => {
    const before = Math.max(...samples.slice(0, quarter).map((sample) => sample[key]));
    const after = Math.min(...samples.slice(-quarter).map((sample) => sample[key]));
    return after > ALLOWED[key](before) ? [`${key} grew from ${before} to ${after} after the warm-up`] : [];
  });
}

function latencyTable(records: readonly CallRecord[]): string[] {
  const tenants = [...new Set(records.map(({ tenant }) => tenant))].sort();
  const rows = tenants.map((tenant) => {
    const times = records
      .flatMap((call) => (call.tenant === tenant ? [call.milliseconds] : []))
      .sort((a, b) => a - b);
    const cells = [0.5, 0.95, 0.99].map((share) => percentile(times, share).toFixed(0));
    return `| ${tenant} | ${times.length} | ${cells.join(' | ')} |`;
  });
  return ['| tenant | calls | p50 ms | p95 ms | p99 ms |', '|---|---|---|---|---|', ...rows];
}

function outcomeTable(records: readonly CallRecord[]): string[] {
  const counts = new Map<string, Map<string, number>>();
  for (const { program, outcome } of records) {
    const row = counts.get(program) ?? new Map<string, number>();
    row.set(outcome, (row.get(outcome) ?? 0) + 1);
    counts.set(program, row);
  }
  const rows = [...counts].sort().map(([program, row]) => {
    const cells = [...row].sort().map(([outcome, count]) => `${outcome} ${count}`);
    return `| ${program} | ${cells.join(', ')} |`;
  });
  return ['| program | outcomes |', '|---|---|', ...rows];
}

function resourceTable(samples: readonly Sample[]): string[] {
  const row = (name: string, read: (sample: Sample) => number) => {
    const values = samples.map(read);
    const [first, last] = [values[0] ?? 0, values.at(-1) ?? 0];
    const cells = [first, Math.min(...values), Math.max(...values), last].map((value) => value.toFixed(0));
    return `| ${name} | ${cells.join(' | ')} |`;
  };
  return [
    '| resource | start | lowest | highest | end |',
    '|---|---|---|---|---|',
    row('RSS, MiB', ({ rssBytes }) => rssBytes / MiB),
    row('descriptors', ({ descriptors }) => descriptors),
    row('threads', ({ threads }) => threads),
  ];
}

const percentiles = ({ p50, p99, p999, max }: StallFigures) =>
  `p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)}, p99.9 ${p999.toFixed(1)}, max ${max.toFixed(1)} ms`;

/** The share of the measurements in each bucket, and above the last one. */
function sharePerBucket({ buckets }: StallFigures): string[] {
  const shares = [...buckets.map(({ share }) => share), 1];
  return shares.map((share, i) => `${((share - (shares[i - 1] ?? 0)) * 100).toFixed(2)} %`);
}

function longestStalls({ longest }: Stalls): string[] {
  if (longest.length === 0) return [];
  const rows = longest.map(
    ({ delay, work, wait }) => `| ${[delay, work, wait].map((ms) => ms.toFixed(1)).join(' | ')} |`,
  );
  return ['', '| longest stalls, ms | running, ms | waiting for a core, ms |', '|---|---|---|', ...rows];
}

function stallTable(stalls: Stalls): string[] {
  const { measured, delay, work } = stalls;
  const columns = [sharePerBucket(delay), ...(work === undefined ? [] : [sharePerBucket(work)])];
  const names = delay.buckets.map(({ upToMs }, i) => `${delay.buckets[i - 1]?.upToMs ?? 0} to ${upToMs} ms`);
  const verdict = delay.p999 < STALL_TARGET_MS ? 'met' : 'missed';
  return [
    `Stalls of the main thread (${measured} measurements): ${percentiles(delay)}; target of ${STALL_TARGET_MS} ms at p99.9 ${verdict}.`,
    ...(work === undefined ? [] : [`CPU time of the main thread at a stretch: ${percentiles(work)}.`]),
    '',
    `| duration | stalls |${work === undefined ? '' : ' CPU time |'}`,
    `|---|---|${work === undefined ? '' : '---|'}`,
    ...[...names, 'longer'].map(
      (name, i) => `| ${name} | ${columns.map((column) => column[i]).join(' | ')} |`,
    ),
    ...longestStalls(stalls),
  ];
}

export function formatReport({ records, samples, stalls, killed, minutes }: SoakResult): string {
  const title = `${records.length} calls in ${minutes.toFixed(1)} minutes, ${killed} workers killed`;
  const parts = [
    [title],
    latencyTable(records),
    outcomeTable(records),
    ['After the warm-up:', '', ...resourceTable(samples)],
    stallTable(stalls),
  ];
  return parts.map((lines) => lines.join('\n')).join('\n\n');
}
