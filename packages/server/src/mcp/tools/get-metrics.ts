/** The tool that reports usage statistics of the tenant. */
import * as z from 'zod';
import { defineTool, READ_ONLY } from '../tool.ts';

const percentiles = z.object({ p50: z.number(), p95: z.number(), p99: z.number() });
const counts = z.record(z.string(), z.number());

export const getMetrics = defineTool({
  name: 'get_metrics',
  title: 'Usage statistics',
  description:
    'Show statistics about your executions since the server started: how many succeeded, how many failed and for which reason, and how long they took. Includes percentiles of time and fuel. Use it to see what is slow or fails often.',
  input: z.strictObject({}),
  output: z.object({
    uptime_seconds: z.number(),
    tool_calls: z.number().int(),
    tool_errors: z.number().int(),
    executions: z.number().int(),
    succeeded: z.number().int(),
    failed: z.number().int(),
    outcomes: counts,
    languages: counts,
    error_types: counts,
    fuel_consumed: z.number(),
    duration_ms: percentiles,
    queue_ms: percentiles,
    fuel: percentiles,
    sessions: z.number().int(),
    running: z.number().int(),
  }),
  annotations: READ_ONLY,
  run: async (_, { tenant, state }) => {
    const structured = {
      uptime_seconds: Math.round((Date.now() - state.startedAt) / 1000),
      ...tenant.stats.report(),
      sessions: (await tenant.sessions.list()).length,
      running: tenant.calls.count(),
    };
    const text = Object.entries(structured)
      // biome-ignore lint/plugin: counters of the tenant
      .map(([name, value]) => `${name}: ${typeof value === 'object' ? JSON.stringify(value) : value}`)
      .join('\n');
    return { text, structured };
  },
});
