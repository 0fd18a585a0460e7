/** The readers of guidance that call tools: models that use the MCP server or the tools of an adapter. */
import * as z from 'zod';
import type { GuidanceReader } from '../analysis/reader.ts';
import { formatBytes, formatFuel, formatLiteral } from '../quantities.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';

/** Tools have the arguments files and stdin; arguments of a program are part of its code. */
const inputs = { files: 'the argument files or the tool write_file', stdin: 'the argument stdin' } as const;

/** A client of the MCP server. */
export const MCP_READER: GuidanceReader = {
  raise: (limit, value, language) => {
    const change = `${limit}=${formatLiteral(value)}`;
    if (limit === 'fuel_budget') return `execute_code(code, ${change})`;
    if (limit === 'timeout_seconds') return `execute_code(code, timeout=${formatLiteral(value)})`;
    return limit === 'memory_bytes' ? `create_session(language='${language}', ${change})` : undefined;
  },
  inputs,
  hasSessions: true,
  hasFuelAnalysis: true,
  permitNetwork: () =>
    'Only the operator of the server can permit access over HTTP, with the setting allow_net',
};

/** A model with the tools of an adapter. `maximums` has the limits that execute_code has an argument for. */
export const adapterReader = (maximums: Readonly<Record<string, number | undefined>>): GuidanceReader => ({
  raise: (limit, value) => {
    const maximum = maximums[limit];
    return maximum === undefined
      ? undefined
      : `execute_code(code, ${limit}=${formatLiteral(Math.min(value, maximum))})`;
  },
  inputs,
  hasSessions: false,
  hasFuelAnalysis: true,
  permitNetwork: () => 'Only the operator of the sandbox can permit access over HTTP',
});

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
