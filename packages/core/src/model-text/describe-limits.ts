/** The limits that a policy sets, as data and as text. */
import * as z from 'zod';
import { formatBytes, formatFuel } from '../quantities.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';

export const policyLimits = z.object({
  fuel_budget: z.number(),
  memory_bytes: z.number(),
  timeout_seconds: z.number(),
  workspace_max_bytes: z.number(),
});
type PolicyLimits = z.infer<typeof policyLimits>;

export function sandboxLimits({ policy }: Pick<Sandbox, 'policy'>): PolicyLimits {
  const { fuel_budget, memory_bytes, timeout_seconds, workspace_max_bytes } = policy;
  return { fuel_budget, memory_bytes, timeout_seconds, workspace_max_bytes };
}

export function limitsText({ fuel_budget, memory_bytes, timeout_seconds }: PolicyLimits): string {
  return `${formatFuel(fuel_budget)} fuel and ${timeout_seconds} s per call, ${formatBytes(memory_bytes)} memory`;
}
