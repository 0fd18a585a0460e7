/** The verdicts of a replay, as text and as JSON. */
import { escapeControls, formatDuration } from '@llm-wasm-sandbox/core/internal';
import { type Attack, CATEGORIES, type Verdict } from './attack.ts';

type FormatTable = (header: readonly string[], rows: readonly (readonly string[])[]) => string;

export const describeAttack = ({ id, reference = '' }: Attack) => [id, reference];
const verdictOf = ({ problems }: Verdict) => (problems.length === 0 ? 'pass' : 'FAIL');

/** The verdicts as tables, which `formatTable` writes. */
export function textReport(
  verdicts: readonly Verdict[],
  durationMs: number,
  formatTable: FormatTable,
): string {
  const rows = verdicts.map((verdict) => [
    verdictOf(verdict),
    ...describeAttack(verdict.attack),
    formatDuration(verdict.durationMs),
  ]);
  const failed = verdicts.filter(({ problems }) => problems.length > 0);
  const details = failed.map(({ attack, problems }) =>
    [`\n${attack.id}`, ...problems.map((problem) => `  ${escapeControls(problem)}`)].join('\n'),
  );
  const summary = summarise(verdicts).map(({ category, attacks, failed }) => [
    category,
    String(attacks),
    String(attacks - failed),
    String(failed),
  ]);
  return [
    formatTable(['verdict', 'attack', 'known from', 'time'], rows),
    ...details,
    '',
    formatTable(['category', 'attacks', 'pass', 'fail'], summary),
    '',
    `${harmText(failed.length, verdicts.length)} (${formatDuration(durationMs)}).`,
  ].join('\n');
}

function harmText(failed: number, attacks: number): string {
  if (attacks === 1) return `The attack caused ${failed === 0 ? 'no harm' : 'harm'}`;
  return `${failed === 0 ? 'None of the' : `${failed} of`} ${attacks} attacks caused harm`;
}

const summarise = (verdicts: readonly Verdict[]) =>
  CATEGORIES.map((category) => {
    const own = verdicts.filter(({ attack }) => attack.category === category);
    return {
      category,
      attacks: own.length,
      failed: own.filter(({ problems }) => problems.length > 0).length,
    };
  }).filter(({ attacks }) => attacks > 0);

export function jsonReport(verdicts: readonly Verdict[]) {
  return {
    passed: verdicts.every(({ problems }) => problems.length === 0),
    categories: summarise(verdicts),
    attacks: verdicts.map(({ attack, problems, durationMs }) => ({
      id: attack.id,
      category: attack.category,
      runtime: attack.runtime ?? null,
      known_from: attack.reference ?? null,
      passed: problems.length === 0,
      problems,
      duration_ms: Math.round(durationMs),
    })),
  };
}
