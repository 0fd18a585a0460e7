/** `redteam`: replays known attacks against this installation and prints a verdict for each. */

import { escapeControls, formatDuration, installedRuntimes } from '@llm-wasm-sandbox/core/internal';
import type { Attack, Verdict } from '@llm-wasm-sandbox/redteam/attack';
import { CATEGORIES } from '@llm-wasm-sandbox/redteam/attack';
import { Option } from 'commander';
import type { CommandDetails } from '../command.ts';
import { UsageError } from '../exit-codes.ts';
import { formatTable } from '../format-table.ts';
import { commandLineScript } from '../package-info.ts';
import { Progress } from '../progress-line.ts';

interface RedteamFlags {
  readonly category?: readonly string[];
  readonly only?: string;
  readonly list?: boolean;
  readonly json?: boolean;
}

async function replay({ category, only, list, json }: RedteamFlags): Promise<void> {
  const { ATTACKS, runAttacks } = await import('@llm-wasm-sandbox/redteam');
  const installed = installedRuntimes();
  const attacks = ATTACKS.filter(
    (attack) =>
      (attack.runtime === undefined || installed.includes(attack.runtime)) &&
      (category === undefined || category.includes(attack.category)) &&
      (only === undefined || attack.id.includes(only)),
  );
  if (attacks.length === 0) throw new UsageError('No attack matches. List the ids with "redteam --list".');
  if (list) return void console.log(formatTable(['attack', 'known from'], attacks.map(describeAttack)));
  const started = performance.now();
  let ended = 0;
  const progress = new Progress(() => `${ended} of ${attacks.length} attacks`);
  const { serveHttp } = await import('@llm-wasm-sandbox/server/mcp');
  const { redactSettings, resolveSettings } = await import('@llm-wasm-sandbox/server/internal');
  const server = {
    serveHttp,
    shownSettings: (settings: Record<string, unknown>) => redactSettings(resolveSettings(settings)),
    cli: commandLineScript(),
  };
  const verdicts = await runAttacks(attacks, server, () => {
    ended++;
  });
  progress.end();
  if (json) console.log(JSON.stringify(report(verdicts), null, 2));
  else console.log(`${textReport(verdicts, performance.now() - started)}`);
  if (verdicts.some(({ problems }) => problems.length > 0)) process.exitCode = 1;
}

const describeAttack = ({ id, reference = '' }: Attack) => [id, reference];
const verdictOf = ({ problems }: Verdict) => (problems.length === 0 ? 'pass' : 'FAIL');

function textReport(verdicts: readonly Verdict[], durationMs: number): string {
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

function report(verdicts: readonly Verdict[]) {
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

export const redteamCommand: CommandDetails<RedteamFlags> = {
  options: [
    new Option('--category <NAME...>', 'Run only attacks of these categories').choices(CATEGORIES),
    new Option('--only <TEXT>', 'Run only attacks whose id contains this text'),
    new Option('--list', 'List the attacks without running them'),
    new Option('--json', 'Print the verdicts as JSON'),
  ],
  examples: ['redteam', 'redteam --category escape server', 'redteam --only bridge --json'],
  action: (_, flags) => replay(flags),
};
