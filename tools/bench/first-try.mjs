/**
 * Programs for ordinary tasks as models write them (`bench/first-try/`), run with default settings: in the plain installation,
 * and with the packages that PIP_FIND_LINKS offers of those that models use most. With `--problems` the outcome of every
 * program that does not work is listed with its advice.
 */
import { readFileSync } from 'node:fs';
import { createSandbox } from 'llm-wasm-sandbox';
import { markdown } from './measure.mjs';
import { findWheel } from './wheels.mjs';

const PROGRAM =
  /^## (.+)\n\n```(python|javascript|typescript)\n([\s\S]*?)\n```\n\n```json\n([\s\S]*?)\n```$/gm;
const ADDED = ['numpy', 'pandas', 'matplotlib', 'contourpy', 'kiwisolver', 'fonttools', 'pillow'];
const isVerbose = process.argv.includes('--problems');

function readPrograms() {
  return ['python', 'javascript'].flatMap((file) => {
    const text = readFileSync(new URL(`first-try/${file}.md`, import.meta.url), 'utf8');
    return [...text.matchAll(PROGRAM)].map(([, name, language, code, json]) => ({
      name,
      language,
      code,
      ...JSON.parse(json),
    }));
  });
}

/** What is wrong with a result; empty if the program works. */
async function problemsOf(program, sandbox) {
  const result = await sandbox.execute(program.code, { stdin: program.stdin ?? '' });
  const output = `${result.stdout}\n${result.stderr}`;
  const { error_guidance: guidance, trap_reason } = result.metadata;
  if (!result.success)
    return [
      guidance?.error_type ?? trap_reason ?? 'failed',
      guidance?.error_message ?? '',
      ...(guidance?.actionable_guidance ?? [output]),
    ];
  const written = new Set([...result.files_created, ...result.files_modified]);
  return [
    ...program.output
      .filter((pattern) => !new RegExp(pattern).test(output))
      .map((pattern) => `wrong output: no ${pattern} in ${output}`),
    ...(program.files ?? []).filter((path) => !written.has(path)).map((path) => `${path} is not written`),
  ];
}

async function outcome(program, packages) {
  const sandbox = await createSandbox({
    runtime: program.language,
    ...(packages.length > 0 && program.language === 'python' && { packages }),
  });
  try {
    const problems = await problemsOf(program, sandbox);
    if (problems.length === 0) return 'works';
    if (isVerbose)
      process.stderr.write(`${program.language}: ${program.name}\n  ${problems.join('\n  ')}\n\n`);
    return problems[0].startsWith('wrong output') ? 'wrong' : problems[0];
  } finally {
    await sandbox.close();
  }
}

export async function table() {
  const wheels = ADDED.map(findWheel).filter((path) => path !== undefined);
  const sets = { 'plain installation': [], 'numpy, pandas, matplotlib and Pillow added': wheels };
  const programs = readPrograms();
  const rows = [];
  for (const program of programs) {
    const outcomes = [];
    for (const packages of Object.values(sets)) outcomes.push(await outcome(program, packages));
    rows.push([program.name, program.language, ...outcomes]);
  }
  const count = (column) => `**${rows.filter((row) => row[column] === 'works').length} of ${rows.length}**`;
  return markdown(
    'Programs at first try',
    'Programs for ordinary tasks (`bench/first-try/`), as models write them, with default settings. A program works if it succeeds and its output and files are as expected. Otherwise the table names the type of the guidance. The programs were written without knowledge of the rules of the guidance, and none was changed to fit the sandbox.',
    ['program', 'language', ...Object.keys(sets)],
    [['**all**', '', count(2), count(3)], ...rows],
  );
}
