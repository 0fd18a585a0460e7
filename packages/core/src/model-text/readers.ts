/** The readers of guidance that call tools: models that use the MCP server or the tools of an adapter. */
import type { GuidanceReader } from '../analysis/reader.ts';
import { formatLiteral } from '../quantities.ts';

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
