/** Tools that describe what programs can call. They exist only if the server has a tools configuration. */

import type { Toolset } from '@llm-wasm-sandbox/core/internal';
import {
  describeTool,
  formatItems,
  SandboxError,
  searchTools,
  suggestTools,
} from '@llm-wasm-sandbox/core/internal';
import * as z from 'zod';
import { defineTool, READ_ONLY, type ToolCall } from '../tool.ts';

const MAX_DESCRIBED = 10;

const toolset = ({ state }: ToolCall): Promise<Toolset> => state.gateway!.toolset();

export const searchToolsTool = defineTool({
  name: 'search_tools',
  title: 'Find tools that programs can call',
  description:
    'List the tools that programs in execute_code can call, each with its name, an example call and a description. Use it before you write a program that calls tools; describe_tools then returns their parameters. These tools cannot be called directly, only from a program.',
  input: z.strictObject({
    query: z
      .string()
      .max(500)
      .default('')
      .describe('Words to search for, e.g. "create issue"; empty lists all.'),
    limit: z.number().int().min(1).max(50).default(20).describe('Maximum number of results.'),
  }),
  output: z.object({
    tools: z.array(z.object({ name: z.string(), call: z.string(), description: z.string() })),
    total: z.number().int().describe('Number of available tools.'),
  }),
  annotations: READ_ONLY,
  run: async ({ query, limit }, call) => {
    const { catalog } = await toolset(call);
    const tools = searchTools(catalog, query, limit);
    const lines = tools.map((tool) => `${tool.call}: ${tool.description}`);
    const text = lines.length === 0 ? 'No matching tools.' : lines.join('\n');
    return {
      text: `${text}\n(${formatItems(catalog.length, 'tool')} available)`,
      structured: { tools, total: catalog.length },
    };
  },
});

export const describeToolsTool = defineTool({
  name: 'describe_tools',
  title: 'Describe tools for programs',
  description: `Return the parameters and results of up to ${MAX_DESCRIBED} tools that programs can call, as declarations for Python and TypeScript and as JSON Schema.`,
  input: z.strictObject({
    names: z
      .array(z.string().max(300))
      .min(1)
      .max(MAX_DESCRIBED)
      .describe('Names from search_tools, e.g. ["github.create_issue"].'),
  }),
  output: z.object({
    tools: z.array(
      z.object({
        name: z.string(),
        call: z.string(),
        pyi: z.string().describe('Declaration for Python.'),
        d_ts: z.string().describe('Declaration for TypeScript.'),
        input_schema: z.json(),
        output_schema: z.json(),
      }),
    ),
  }),
  annotations: READ_ONLY,
  run: async ({ names }, call) => {
    const { catalog } = await toolset(call);
    const tools = names.map((name) => {
      const described = describeTool(catalog, name);
      if (described === undefined)
        throw unknownTool(
          name,
          catalog.map((tool) => tool.name),
        );
      const { path: _, description: __, ...fields } = described;
      return fields;
    });
    return { text: tools.map(describedText).join('\n\n'), structured: { tools } };
  },
});

function describedText({ call, pyi, d_ts, input_schema, output_schema }: Record<string, unknown>): string {
  // biome-ignore lint/plugin: the schemas of a connected tool, within the limits of its server
  return `${call}\n${pyi}\n${d_ts}\ninput_schema: ${JSON.stringify(input_schema)}\noutput_schema: ${JSON.stringify(output_schema)}`;
}

function unknownTool(name: string, names: readonly string[]): SandboxError {
  const similar = suggestTools(name, names);
  const advice =
    similar.length > 0 ? `Did you mean ${similar.join(' or ')}?` : 'search_tools lists the available tools.';
  return new SandboxError('invalid_argument', `names: there is no tool "${name}". ${advice}`);
}
