/** `npm run fuzz`: runs the selected targets for a given time and records what fails in findings.json. */
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type Finding, type FuzzTarget, runBatch } from './target.ts';
import { TARGETS } from './targets/index.ts';

const FINDINGS = new URL('findings.json', import.meta.url);
/** Cases that share a seed. A replay generates all cases of its batch up to the one that failed. */
const BATCH = 500;

const USAGE = `usage: npm run fuzz -- [--minutes N] [--seed S] [target…]

Each target gets an equal share of the time (default: 1 minute in all). Targets:
${TARGETS.map(({ name }) => `  ${name}`).join('\n')}`;

function fail(message: string): never {
  console.error(`${message}\n\n${USAGE}`);
  process.exit(2);
}

function readArguments() {
  try {
    const options = {
      minutes: { type: 'string' },
      seed: { type: 'string' },
      help: { type: 'boolean' },
    } as const;
    return parseArgs({ options, allowPositionals: true });
  } catch (cause) {
    return fail((cause as Error).message);
  }
}

function record(finding: Finding): void {
  const known = JSON.parse(readFileSync(FINDINGS, 'utf8')) as Finding[];
  writeFileSync(FINDINGS, `${JSON.stringify([...known, finding], undefined, 2)}\n`);
}

/** Returns whether every case passed. */
async function fuzz(target: FuzzTarget, firstSeed: number, milliseconds: number): Promise<boolean> {
  const started = Date.now();
  const deadline = started + milliseconds;
  const opened = await target.open();
  let cases = 0;
  let finding: Finding | undefined;
  try {
    for (let seed = firstSeed; finding === undefined && Date.now() < deadline; seed++) {
      const maxMs = deadline - Date.now();
      const batch = await runBatch(target.name, opened, { seed: seed | 0, numRuns: BATCH, maxMs });
      cases += batch.cases;
      finding = batch.finding;
      if (finding === undefined) continue;
      console.log(`FAIL  ${target.name}: seed ${finding.seed}, path ${finding.path}\n${batch.report}`);
      record(finding);
    }
  } finally {
    await opened.close?.();
  }
  const minutes = (Date.now() - started) / 60_000;
  const rate = Math.round(cases / minutes);
  console.log(
    `${finding === undefined ? 'ok  ' : 'FAIL'}  ${target.name}: ${cases} cases, ${rate} per minute`,
  );
  return finding === undefined;
}

const { values, positionals } = readArguments();
if (values.help) {
  console.log(USAGE);
  process.exit(0);
}
const minutes = Number(values.minutes ?? 1);
if (!(minutes > 0)) fail(`--minutes must be a positive number, not "${values.minutes}"`);
const seed = values.seed === undefined ? Date.now() % 0x7fffffff : Number(values.seed);
if (!Number.isInteger(seed)) fail(`--seed must be an integer, not "${values.seed}"`);
const unknown = positionals.find((name) => !TARGETS.some((target) => target.name === name));
if (unknown !== undefined) fail(`unknown target "${unknown}"`);
const selected = TARGETS.filter(({ name }) => positionals.length === 0 || positionals.includes(name));

console.log(`seed ${seed}, ${minutes} minutes, ${selected.length} targets`);
let passed = 0;
for (const target of selected) {
  if (await fuzz(target, seed, (minutes * 60_000) / selected.length)) passed++;
}
if (passed < selected.length)
  console.log('The failed cases were added to test/fuzz/findings.json; the tests replay them.');
process.exit(passed === selected.length ? 0 : 1);
