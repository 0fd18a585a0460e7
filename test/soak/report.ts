/** Figures of a soak run: outcomes, and per phase latency, resources and stalls. */
import type { CallRecord } from './load.ts';
import type { Sample } from './server.ts';
import { percentile, type Stall, type StallFigures, type Stalls } from './stall-meter.ts';

/** A part of the run. Times are in milliseconds since 1970. */
export interface Phase {
  readonly name: 'quiet' | 'hostile';
  readonly from: number;
  readonly to: number;
  readonly samples: readonly Sample[];
  readonly stalls: Stalls;
}

interface SoakResult {
  /** Calls of the honest tenants. */
  readonly honest: readonly CallRecord[];
  readonly hostile: readonly CallRecord[];
  readonly phases: readonly Phase[];
  readonly killed: number;
}

const MiB = 1024 * 1024;
/** CPU time of the main thread at a stretch. */
const MAX_WORK_MS = 50;
const MAX_SLOWDOWN = 2;

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

/**
 * The times of the calls that began and ended in a phase, sorted. Only programs that ended on their own count: others take as
 * long as their limit allows.
 */
function latencies(records: readonly CallRecord[], { from, to }: Phase): number[] {
  return records
    .filter(({ at, milliseconds, outcome }) => outcome === 'success' && at >= from && at + milliseconds <= to)
    .map(({ milliseconds }) => milliseconds)
    .sort((a, b) => a - b);
}

function latencyTable(honest: readonly CallRecord[], phases: readonly Phase[]): string[] {
  const rows = phases.flatMap((phase) =>
    [undefined, ...new Set(honest.map(({ tenant }) => tenant))].map((tenant) => {
      const times = latencies(tenant ? honest.filter((call) => call.tenant === tenant) : honest, phase);
      const cells = [0.5, 0.95, 0.99].map((share) => percentile(times, share).toFixed(0));
      return `| ${phase.name} | ${tenant ?? 'all'} | ${times.length} | ${cells.join(' | ')} |`;
    }),
  );
  const title = '| phase | honest tenant | successful calls | p50 ms | p95 ms | p99 ms |';
  return [title, '|---|---|---|---|---|---|', ...rows];
}

const p99 = (honest: readonly CallRecord[], phase: Phase) => percentile(latencies(honest, phase), 0.99);

/** The figures that the targets are about. */
export function summary(honest: readonly CallRecord[], [quiet, hostile]: readonly [Phase, Phase]): string {
  const [before, after] = [p99(honest, quiet), p99(honest, hostile)];
  const rss = hostile.samples.map(({ rssBytes }) => `${(rssBytes / MiB).toFixed(0)} MiB`);
  return [
    `p99 of honest tenants: ${before.toFixed(0)} ms, with the hostile tenant ${after.toFixed(0)} ms: ratio ${(after / before).toFixed(2)}`,
    `longest CPU time of the main thread at a stretch: ${(hostile.stalls.work?.max ?? 0).toFixed(1)} ms`,
    `RSS at the start and at the end of the hostile phase: ${rss[0]}, ${rss.at(-1)}`,
  ].join('\n');
}

/** How the hostile phase misses its targets. */
export function findHarm(honest: readonly CallRecord[], [quiet, hostile]: readonly [Phase, Phase]): string[] {
  const problems: string[] = [];
  const [before, after] = [p99(honest, quiet), p99(honest, hostile)];
  if (after > before * MAX_SLOWDOWN)
    problems.push(
      `calls of honest tenants took ${after.toFixed(0)} ms at p99, and ${before.toFixed(0)} ms without the hostile tenant`,
    );
  const { max = 0 } = hostile.stalls.work ?? {};
  if (max > MAX_WORK_MS)
    problems.push(
      `the main thread used ${max.toFixed(1)} ms of CPU time at a stretch; the limit is ${MAX_WORK_MS} ms`,
    );
  return problems;
}

function outcomeTable(records: readonly CallRecord[], phases: readonly Phase[]): string[] {
  const counts = new Map<string, Map<string, number>>();
  for (const { program, outcome } of records) {
    const row = counts.get(program) ?? new Map<string, number>();
    row.set(outcome, (row.get(outcome) ?? 0) + 1);
    counts.set(program, row);
  }
  const rows = [...counts].sort().map(([program, row]) => {
    const cells = [...row].sort().map(([outcome, count]) => `${outcome} ${count}`);
    const calls = records.filter((call) => call.program === program);
    const times = phases.map((phase) => {
      const sorted = latencies(calls, phase);
      return `${percentile(sorted, 0.5).toFixed(0)}, ${percentile(sorted, 0.99).toFixed(0)}`;
    });
    return `| ${program} | ${cells.join(', ')} | ${times.join(' | ')} |`;
  });
  const titles = phases.map(({ name }) => `${name} p50, p99 ms`);
  return [
    `| program | outcomes | ${titles.join(' | ')} |`,
    `|---|---|${'---|'.repeat(phases.length)}`,
    ...rows,
  ];
}

function resourceTable(phases: readonly Phase[]): string[] {
  const row = ({ name, samples }: Phase, resource: string, read: (sample: Sample) => number) => {
    const values = samples.map(read);
    const [first, last] = [values[0] ?? 0, values.at(-1) ?? 0];
    const cells = [first, Math.min(...values), Math.max(...values), last].map((value) => value.toFixed(0));
    return `| ${name} | ${resource} | ${cells.join(' | ')} |`;
  };
  return [
    '| phase | resource | start | lowest | highest | end |',
    '|---|---|---|---|---|---|',
    ...phases.flatMap((phase) => [
      row(phase, 'RSS, MiB', ({ rssBytes }) => rssBytes / MiB),
      row(phase, 'heap of the main thread, MiB', ({ heapBytes }) => heapBytes / MiB),
      row(phase, 'buffers of the main thread, MiB', ({ externalBytes }) => externalBytes / MiB),
      row(phase, 'workers', ({ workers }) => workers),
      row(phase, 'descriptors', ({ descriptors }) => descriptors),
      row(phase, 'threads', ({ threads }) => threads),
    ]),
  ];
}

const percentiles = ({ p50, p99, p999, max }: StallFigures) =>
  `p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)}, p99.9 ${p999.toFixed(1)}, max ${max.toFixed(1)} ms`;

/** The share of the measurements in each bucket, and above the last one. */
function sharePerBucket({ buckets }: StallFigures): string[] {
  const shares = [...buckets.map(({ share }) => share), 1];
  return shares.map((share, i) => `${((share - (shares[i - 1] ?? 0)) * 100).toFixed(2)} %`);
}

/** The attacks that were in progress during a stall. */
function attacksDuring({ at, delay, work }: Stall, hostile: readonly CallRecord[]): string {
  const from = at - Math.max(delay, work);
  const running = hostile.filter((call) => call.at <= at && call.at + call.milliseconds >= from);
  return [...new Set(running.map(({ program }) => program))].join('; ');
}

function longestStalls({ longest }: Stalls, hostile: readonly CallRecord[]): string[] {
  if (longest.length === 0) return [];
  const rows = longest.map((stall) => {
    const cells = [stall.work, stall.delay, stall.wait].map((ms) => ms.toFixed(1));
    return `| ${cells.join(' | ')} | ${attacksDuring(stall, hostile)} |`;
  });
  const title = '| most CPU time, ms | stall, ms | waiting for a core, ms | attacks in progress |';
  return ['', title, '|---|---|---|---|', ...rows];
}

function stallTable({ name, stalls }: Phase, hostile: readonly CallRecord[]): string[] {
  const { measured, delay, work, load } = stalls;
  const columns = [sharePerBucket(delay), ...(work === undefined ? [] : [sharePerBucket(work)])];
  const names = delay.buckets.map(({ upToMs }, i) => `${delay.buckets[i - 1]?.upToMs ?? 0} to ${upToMs} ms`);
  return [
    `Main thread, ${name} phase (${measured} measurements). Stalls: ${percentiles(delay)}.`,
    ...(work === undefined
      ? []
      : [`CPU time at a stretch: ${percentiles(work)}; ${(load * 100).toFixed(0)} % of the time in all.`]),
    '',
    `| duration | stalls |${work === undefined ? '' : ' CPU time |'}`,
    `|---|---|${work === undefined ? '' : '---|'}`,
    ...[...names, 'longer'].map(
      (range, i) => `| ${range} | ${columns.map((column) => column[i]).join(' | ')} |`,
    ),
    ...longestStalls(stalls, hostile),
  ];
}

export function formatReport({ honest, hostile, phases, killed }: SoakResult): string {
  const parts = [
    [`${honest.length} honest and ${hostile.length} hostile requests, ${killed} workers killed`],
    latencyTable(honest, phases),
    outcomeTable(honest, phases),
    outcomeTable(hostile, phases.slice(1)),
    resourceTable(phases),
    ...phases.map((phase) => stallTable(phase, hostile)),
  ];
  return parts.map((lines) => lines.join('\n')).join('\n\n');
}
