/**
 * The quality of error guidance: failing programs of the kind that models write, each with its root cause, the lines
 * that the guidance may name, the identifiers and the fix that it must name, and the advice that it must not give. With
 * `--problems` every program that fails a check is listed with its guidance.
 */
import { createSandbox } from '../dist/index.js';
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

export async function table() {
  const scored = [];
  for (const program of failingPrograms()) {
    const result = await runProgram(program);
    const { checks, problems } = score(program, result);
    scored.push({ program, checks });
    if (problems.length > 0 && process.argv.includes('--problems'))
      process.stderr.write(`${explain(program, result, problems)}\n\n`);
  }
  const row = (name, selected) => {
    const shares = totals(selected);
    return [name, selected.length, ...CHECKS.map((check) => percent(shares[check]))];
  };
  const languages = [...new Set(scored.map(({ program }) => program.language))];
  const topicOf = ({ program }) => program.name.split(':')[0];
  const isWrong = ({ checks }) => CHECKS.some((check) => checks[check] === false);
  const wrongTopics = [...new Set(scored.filter(isWrong).map(topicOf))];
  return markdown(
    'Error guidance',
    'Failing programs of the kind that models write (`bench/guidance/`), and the share of them whose guidance passes each check. The brackets contain the number of programs that fail the check, and the number of programs to which the check applies. The programs are grouped by topic. The table lists a topic only if one of its programs fails a check.',
    [
      'programs',
      'count',
      'right class',
      'right line',
      'names the identifiers',
      'names the fix',
      'no forbidden advice',
    ],
    [
      row('**all**', scored),
      ...languages.map((language) =>
        row(
          language,
          scored.filter(({ program }) => program.language === language),
        ),
      ),
      ...wrongTopics.map((topic) =>
        row(
          topic,
          scored.filter((one) => topicOf(one) === topic),
        ),
      ),
    ],
  );
}
