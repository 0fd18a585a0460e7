/** The call that inspects a session, for example its variables. It runs in a copy of the interpreter, so nothing changes. */

import * as z from 'zod';
import type { CancelSignal } from '../concurrency/cancellation.ts';
import { type Variable, variable } from '../results/variable.ts';
import type { Call } from '../sandbox/call-options.ts';
import { OutputDelivery } from '../sandbox/output-delivery.ts';
import { ResultDelivery } from '../sandbox/result-delivery.ts';
import { Stdin } from '../sandbox/stdin.ts';
import { type Policy, programEnv, type RuntimeName } from '../schema.ts';
import type { SessionState } from '../stores/store.ts';
import type { SessionInput } from '../worker/protocol/messages.ts';

/** Upper bounds for the program. */
const LIMITS = { fuel_budget: 2_000_000_000, timeout_seconds: 10 } as const;

/** `policy` is that of the session. */
export function inspectionCall(
  runtime: RuntimeName,
  code: string,
  policy: Pick<Policy, 'env' | 'home' | 'fuel_budget' | 'timeout_seconds'>,
  signal: CancelSignal,
): Call {
  const output = new OutputDelivery();
  return {
    program: {
      code,
      language: runtime,
      env: programEnv(policy),
      args: [],
      inject_setup: true,
    },
    stdin: new Stdin(),
    onInputError: () => {},
    limits: {
      fuel_budget: Math.min(LIMITS.fuel_budget, policy.fuel_budget),
      timeout_seconds: Math.min(LIMITS.timeout_seconds, policy.timeout_seconds),
    },
    profile: false,
    files: undefined,
    onProgress: undefined,
    signal,
    output,
    results: new ResultDelivery(output),
    tools: undefined,
    packages: undefined,
    resumption: undefined,
  };
}

/** The interpreter that the call runs in. `id` is the key of the session. */
export function copyOf({ version, delta, tmp }: SessionState, id: string): SessionInput {
  return { id, version, delta, tmp, edits: { removed: [], entries: [] }, discardState: true };
}

/** The variables that the call reported; none if the report, which the program controls, has another form. */
export function reportedVariables(report: unknown): Variable[] {
  const parsed = z.array(variable).safeParse(report);
  return parsed.success ? parsed.data : [];
}
