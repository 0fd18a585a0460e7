/** Helpers for benchmarks that run test suites of others: flags, several files at a time, and outcomes that are kept. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/** The value of `--name=value`; undefined if it is not given. */
export const flag = (name) => {
  const prefix = `--${name}=`;
  return process.argv.find((argument) => argument.startsWith(prefix))?.slice(prefix.length);
};

/** Calls `work` with each item, a few at a time. */
export async function forEach(items, work) {
  const queue = [...items];
  const next = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: availableParallelism() }, next));
}

/**
 * What `work` returns for each name. The file of `--details` keeps the outcomes, one JSON object per line: the same command
 * continues a run that ended early.
 */
export async function outcomesOf(suite, names, work) {
  const path = flag('details');
  const lines = path !== undefined && existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [];
  const kept = lines.filter((line) => line !== '').map((line) => JSON.parse(line));
  const outcomes = new Map(
    kept.filter((outcome) => outcome.suite === suite).map((outcome) => [outcome.name, outcome]),
  );
  const left = names.filter((name) => !outcomes.has(name));
  await forEach(left, async (name) => {
    const outcome = { suite, name, ...(await work(name)) };
    outcomes.set(name, outcome);
    if (path !== undefined) appendFileSync(path, `${JSON.stringify(outcome)}\n`);
    process.stderr.write(`${suite}: ${outcomes.size}\r`);
  });
  return names.map((name) => outcomes.get(name));
}

/** `3 of 4 (75.0 %)` */
export const share = (part, whole) =>
  `${part} of ${whole} (${((100 * part) / Math.max(whole, 1)).toFixed(1)} %)`;
