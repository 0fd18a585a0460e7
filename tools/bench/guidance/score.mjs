/** Compares the guidance of a run with the expectations of its program. */
import { ALWAYS_FORBIDDEN } from './causes.mjs';

/** The checks of a program, in the order of the score table. */
export const CHECKS = ['class', 'line', 'names', 'fix', 'allowed'];

const adviceOf = (guidance) => [
  guidance.error_message,
  ...guidance.actionable_guidance,
  ...(guidance.code_examples ?? []),
];

/** `on line 3: x = 1` or `at or after line 3, in f`; not a position in the text that the program parsed. */
const LOCATION = /\b(?:on|at|after) line (\d+)(?=:|, in |$| of )/;

/** The line of the program that the guidance names first. */
function namedLine(guidance) {
  for (const text of guidance.actionable_guidance) {
    const found = LOCATION.exec(text);
    if (found !== null) return Number(found[1]);
  }
  return undefined;
}

/**
 * The outcome of each check: true, false, or null if the program has no expectation. `problems` explains every false. A
 * program that succeeds fails all checks.
 */
export function score(program, result) {
  const guidance = result.metadata.error_guidance;
  if (result.success || guidance === undefined) {
    const problem = result.success ? 'the program succeeded' : 'there is no guidance';
    const line = program.lines.length === 0 ? null : false;
    const checks = { class: false, line, names: false, fix: false, allowed: !result.success };
    return { checks, problems: [problem] };
  }
  const text = adviceOf(guidance).join('\n');
  const problems = [];
  const check = (isRight, problem) => {
    if (!isRight) problems.push(problem);
    return isRight;
  };
  const isNamed = program.says === undefined || program.says.test(text);
  const line = namedLine(guidance);
  const missing = program.names.filter((name) => !text.includes(name));
  const missingFix = program.fix.filter((pattern) => !pattern.test(text));
  // Advice about fuel is advice too.
  const fuel = result.metadata.fuel_analysis?.recommendation ?? '';
  const given = [...program.forbidden, ...ALWAYS_FORBIDDEN].filter((pattern) =>
    pattern.test(`${text}\n${fuel}`),
  );
  const checks = {
    class: check(
      program.types.includes(guidance.error_type) && isNamed,
      `class: ${guidance.error_type}${isNamed ? '' : ' without the cause'}, expected ${program.cause}`,
    ),
    line:
      program.lines.length === 0
        ? null
        : check(program.lines.includes(line), `line: ${line}, expected ${program.lines.join(' or ')}`),
    names: check(missing.length === 0, `names: ${missing.join(', ')} missing`),
    fix: check(missingFix.length === 0, `fix: ${missingFix.join(', ')} missing`),
    allowed: check(given.length === 0, `forbidden: ${given.join(', ')}`),
  };
  return { checks, problems };
}

/** Shares of the programs that pass each check, from 0 to 1. */
export function totals(scores) {
  return Object.fromEntries(
    CHECKS.map((name) => {
      const applicable = scores.filter(({ checks }) => checks[name] !== null);
      const passed = applicable.filter(({ checks }) => checks[name]);
      return [name, { passed: passed.length, applicable: applicable.length }];
    }),
  );
}
