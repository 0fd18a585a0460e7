/** What must hold for the result of every call, whatever the program does, and what one attack expects in addition. */
import { GRACE, type Policy, type SandboxResult, TRAPS } from '@llm-wasm-sandbox/core/internal';
import type { Pattern } from './attack.ts';
import { mismatch } from './match.ts';
import { SECRET } from './surroundings.ts';

/** A thread that does not respond is terminated a few seconds after its limit. */
const WATCHDOG_MS = 8_000;

/** Limits on what a guest can report about the value of its last expression. */
const MAX_TYPE_LENGTH = 200;
const MAX_RESULT_LENGTH = 200_000;

type Limits = Pick<
  Policy,
  'fuel_budget' | 'timeout_seconds' | 'memory_bytes' | 'stdout_max_bytes' | 'stderr_max_bytes'
>;

interface Expectation {
  readonly outcomes?: readonly string[];
  readonly expect?: Pattern;
}

/** How a run ended: its trap reason, the type of its error, or `finished`. */
export function outcomeName({ metadata }: SandboxResult): string {
  return metadata.trap_reason ?? metadata.error?.type ?? 'finished';
}

/** Problems with a result; empty if the attack failed. */
export function checkResult(
  result: SandboxResult,
  limits: Limits,
  { outcomes, expect }: Expectation,
): string[] {
  const problems = generalProblems(result, limits);
  const outcome = outcomeName(result);
  if (outcomes !== undefined && !outcomes.includes(outcome))
    problems.push(`the run ended with ${outcome}, expected ${outcomes.join(' or ')}`);
  const found = expect === undefined ? undefined : mismatch(result, expect);
  if (found !== undefined) problems.push(found);
  return problems;
}

function generalProblems(result: SandboxResult, limits: Limits): string[] {
  const { trap_reason, trapped, trap_message } = result.metadata;
  const problems: string[] = [];
  const require = (holds: boolean, problem: string) => {
    if (!holds) problems.push(problem);
  };
  const atMost = (name: string, value: number, limit: number) =>
    require(value <= limit, `${name} is ${value}, above the limit of ${limit}`);
  require(trap_reason !== 'worker_lost', 'the worker thread was lost');
  require(!JSON.stringify(result).includes(SECRET), 'the result contains the secret of the host');
  atMost('fuel_consumed', result.fuel_consumed, limits.fuel_budget + GRACE.fuel);
  atMost('memory_used_bytes', result.memory_used_bytes, limits.memory_bytes);
  atMost('duration_ms', result.duration_ms, limits.timeout_seconds * 1000 + WATCHDOG_MS);
  atMost('stdout in bytes', Buffer.byteLength(result.stdout), limits.stdout_max_bytes);
  atMost('stderr in bytes', Buffer.byteLength(result.stderr), limits.stderr_max_bytes);
  atMost('the length of result_type', result.metadata.result_type?.length ?? 0, MAX_TYPE_LENGTH);
  atMost(
    'the length of the result',
    JSON.stringify(result.metadata.result ?? null).length,
    MAX_RESULT_LENGTH,
  );
  require(trapped === (trap_reason !== null), `trapped is ${trapped} with trap_reason ${trap_reason}`);
  if (trap_reason !== null) {
    const { exit_code, message } = TRAPS[trap_reason];
    require(!result.success, `success with trap_reason ${trap_reason}`);
    require(result.exit_code === exit_code, `exit_code ${result.exit_code} with trap_reason ${trap_reason}`);
    require(Boolean(trap_message?.startsWith(message)), `trap_message ${trap_message} with ${trap_reason}`);
  } else
    require(result.success ===
      (result.exit_code === 0), `success ${result.success}, exit_code ${result.exit_code}`);
  return problems;
}
