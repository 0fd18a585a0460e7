/** `redteam`: replays known attacks against this installation and prints a verdict for each. */

import { installedRuntimes } from '@llm-wasm-sandbox/core/internal';
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
  const { ATTACKS, describeAttack, jsonReport, runAttacks, textReport } = await import(
    '@llm-wasm-sandbox/redteam'
  );
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
  if (json) console.log(JSON.stringify(jsonReport(verdicts), null, 2));
  else console.log(textReport(verdicts, performance.now() - started, formatTable));
  if (verdicts.some(({ problems }) => problems.length > 0)) process.exitCode = 1;
}

export default {
  options: [
    new Option('--category <NAME...>', 'Run only attacks of these categories').choices(CATEGORIES),
    new Option('--only <TEXT>', 'Run only attacks whose id contains this text'),
    new Option('--list', 'List the attacks without running them'),
    new Option('--json', 'Print the verdicts as JSON'),
  ],
  examples: ['redteam', 'redteam --category escape server', 'redteam --only bridge --json'],
  action: (_, flags) => replay(flags),
} satisfies CommandDetails<RedteamFlags>;
