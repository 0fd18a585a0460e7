/**
 * The quality of error guidance: failing programs of the kind that models write, each with its root cause, the lines
 * that the guidance may name, the identifiers and the fix that it must name, and the advice that it must not give. With
 * `--problems` every program that fails a check is listed with its guidance.
 *
 * The programs in `held-out/` were written without knowledge of the rules. `first-sight.json` has their score before any rule
 * was changed because of them; `--first-sight` writes it, once.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createSandbox } from 'llm-wasm-sandbox';
import { failingPrograms } from './guidance/programs.mjs';
import { CHECKS, score, totals } from './guidance/score.mjs';
import { markdown } from './measure.mjs';

/** Runs a program in a sandbox of its own, so that no other program counts as an earlier call. */
export async function runProgram({ language, code, earlier, options }) {
  const sandbox = await createSandbox({ runtime: language });
  try {
    for (const call of earlier) await sandbox.execute(call);
    return await sandbox.execute(code, options);
  } finally {
    await sandbox.close();
  }
}

function explain(program, result, problems) {
  const { error_guidance: guidance, error } = result.metadata;
  const lines = guidance?.actionable_guidance ?? [error === undefined ? '' : JSON.stringify(error)];
  return [
    `${program.language}: ${program.name}`,
    ...problems.map((problem) => `  ! ${problem}`),
    ...[guidance?.error_message ?? '', ...lines, ...(guidance?.code_examples ?? [])].map(
      (line) => `    ${line}`,
    ),
  ].join('\n');
}

const percent = ({ passed, applicable }) =>
  applicable === 0
    ? ''
    : `${((passed / applicable) * 100).toFixed(1)}% (${applicable - passed} of ${applicable})`;

async function scorePrograms(programs) {
  const scored = [];
  for (const program of programs) {
    const result = await runProgram(program);
    const { checks, problems } = score(program, result);
    scored.push({ program, checks });
    if (problems.length > 0 && process.argv.includes('--problems'))
      process.stderr.write(`${explain(program, result, problems)}\n\n`);
  }
  return scored;
}

const HEAD = [
  'programs',
  'count',
  'right class',
  'right line',
  'names the identifiers',
  'names the fix',
  'no forbidden advice',
];
const cells = (name, count, shares) => [name, count, ...CHECKS.map((check) => percent(shares[check]))];
const row = (name, selected) => cells(name, selected.length, totals(selected));
const rowsByLanguage = (scored) => {
  const languages = [...new Set(scored.map(({ program }) => program.language))];
  return languages.map((language) =>
    row(
      language,
      scored.filter(({ program }) => program.language === language),
    ),
  );
};

async function knownPrograms() {
  const scored = await scorePrograms(failingPrograms());
  const topicOf = ({ program }) => program.name.split(':')[0];
  const isWrong = ({ checks }) => CHECKS.some((check) => checks[check] === false);
  const wrongTopics = [...new Set(scored.filter(isWrong).map(topicOf))];
  return markdown(
    'Error guidance',
    'Failing programs of the kind that models write (`bench/guidance/`), and the share of them whose guidance passes each check. The brackets contain the number of programs that fail the check, and the number of programs to which the check applies. The programs are grouped by topic. The table lists a topic only if one of its programs fails a check.',
    HEAD,
    [
      row('**all**', scored),
      ...rowsByLanguage(scored),
      ...wrongTopics.map((topic) =>
        row(
          topic,
          scored.filter((one) => topicOf(one) === topic),
        ),
      ),
    ],
  );
}

const FIRST_SIGHT = new URL('guidance/held-out/first-sight.json', import.meta.url);

async function heldOutPrograms() {
  const scored = await scorePrograms(failingPrograms(undefined, 'held-out/'));
  const first = { date: new Date().toISOString().slice(0, 10), count: scored.length, shares: totals(scored) };
  if (process.argv.includes('--first-sight') && !existsSync(FIRST_SIGHT))
    writeFileSync(FIRST_SIGHT, `${JSON.stringify(first, null, 2)}\n`);
  const { date, count, shares } = JSON.parse(readFileSync(FIRST_SIGHT, 'utf8'));
  return markdown(
    'Error guidance for held-out programs',
    'Failing programs (`bench/guidance/held-out/`) that were written without knowledge of the rules of the guidance. The first row is their score at first sight, before any rule was changed because of them.',
    HEAD,
    [cells(`at first sight, ${date}`, count, shares), row('**now**', scored), ...rowsByLanguage(scored)],
  );
}

export async function table() {
  const held = await heldOutPrograms();
  return process.argv.includes('--held-out') ? held : `${await knownPrograms()}\n${held}`;
}
