/** Runs attacks that are programs, each in a sandbox of its own, and expressions, many in one guest. */

import type { RuntimeName } from '@llm-wasm-sandbox/core/internal';
import { createSandbox } from '@llm-wasm-sandbox/core/internal';
import type { Attack, ExpressionAttack, ProgramAttack } from './attack.ts';
import { checkResult, outcomeName } from './check-result.ts';
import { mismatch, show } from './match.ts';
import { ATTACK_PROGRAMS } from './programs/index.ts';
import type { Surroundings } from './surroundings.ts';

const DEFAULT_LIMITS = { fuel_budget: 2_000_000_000, timeout_seconds: 20 };

/** The problems that a program attack causes. */
export async function runProgramAttack(
  attack: Attack<ProgramAttack>,
  surroundings: Surroundings,
): Promise<string[]> {
  const runtime = attack.runtime!;
  await using sandbox = await createSandbox({ runtime, policy: { ...DEFAULT_LIMITS, ...attack.policy } });
  const code = surroundings.fill(attack.code);
  const neighbour = surroundings.checkNeighbour(runtime);
  const problems: string[] = [];
  for (let i = 0; i < (attack.repeat ?? 1); i++)
    problems.push(...checkResult(await sandbox.execute(code), sandbox.policy, attack));
  problems.push(...(await neighbour), ...(await surroundings.checkNextRun(sandbox)));
  return [...problems, ...surroundings.checkHost()];
}

/** Evaluates all expressions in one guest. Returns the problems of each attack, in order. */
export async function runExpressions(
  runtime: RuntimeName,
  attacks: readonly Attack<ExpressionAttack>[],
  surroundings: Surroundings,
): Promise<string[][]> {
  await using sandbox = await createSandbox({
    runtime,
    policy: { fuel_budget: 20_000_000_000, timeout_seconds: 60 },
  });
  const expressions = attacks.map(({ evaluate }) => surroundings.fill(evaluate));
  const result = await sandbox.execute(ATTACK_PROGRAMS[runtime].evaluator(expressions));
  const shared = [
    ...checkResult(result, sandbox.policy, {}),
    ...(await surroundings.checkNextRun(sandbox)),
    ...surroundings.checkHost(),
  ];
  const values = readValues(result.stdout);
  return attacks.map(({ value: pattern }, i) => {
    const value = values.get(i);
    if (value === undefined)
      return [`not reached: the guest ended with ${outcomeName(result)}: ${show(result.stderr.slice(-200))}`];
    const found = mismatch(value, pattern);
    return found === undefined ? shared : [found, ...shared];
  });
}

function readValues(stdout: string): Map<number, unknown> {
  const values = new Map<number, unknown>();
  for (const line of stdout.split('\n')) {
    if (!line.startsWith('[')) continue;
    const [number, value] = JSON.parse(line) as [number, unknown];
    values.set(number, value);
  }
  return values;
}
