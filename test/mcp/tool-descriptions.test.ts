import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stdioClient } from '../support/mcp.ts';
import { PROMPT_BUDGETS, policy } from './budgets.ts';

type ListedTool = Awaited<ReturnType<Client['listTools']>>['tools'][number];

let client: Client;
let tools: ListedTool[];
beforeAll(async () => {
  ({ client } = await stdioClient('legacy'));
  ({ tools } = await client.listTools());
});
afterAll(() => client.close());

/** English text has about four characters per token. */
const estimateTokens = (text: string) => Math.ceil(text.length / 4);

/** All text that a model reads about a tool: its description and those of its parameters. */
function modelText({ description = '', inputSchema }: ListedTool): string {
  const parameters = Object.values(
    (inputSchema.properties ?? {}) as Record<string, { description?: string }>,
  );
  return [description, ...parameters.map((one) => one.description ?? '')].join('\n');
}

describe('tool descriptions', () => {
  test('stay within their token budgets', () => {
    const over = tools
      .map(
        (tool) =>
          [
            tool.name,
            estimateTokens(modelText(tool)),
            PROMPT_BUDGETS[tool.name] ?? PROMPT_BUDGETS['*']!,
          ] as const,
      )
      .filter(([, found, allowed]) => found > allowed);
    expect(over).toEqual([]);
    expect(client.getInstructions()!.length).toBeLessThanOrEqual(2048);
  });

  test('name requireVendor, and a higher budget only for runs that it helps', () => {
    const { description } = tools.find(({ name }) => name === 'execute_code')!;
    expect(description).toContain('requireVendor');
    expect(description).toMatch(/for large data or heavy imports[^;\n]*, pass a higher fuel_budget/);
    expect(description).toMatch(/; if a loop never ends, fix it/);
  });

  test('give no example value above the maximums of the server', async () => {
    const maximums = { 'max-fuel-budget': 11e9, 'max-timeout-seconds': 31, 'max-memory-bytes': 300e6 };
    const flags = Object.entries(maximums).flatMap(([name, value]) => [`--${name}`, String(value)]);
    const { client: other } = await stdioClient('legacy', ['mcp', '--log-level', 'silent', ...flags]);
    const listed = (await other.listTools()).tools;
    await other.close();
    let examples = 0;
    for (const { description, inputSchema } of listed) {
      expect(description).not.toContain('20_000_000_000');
      for (const schema of Object.values(inputSchema.properties ?? {})) {
        const { maximum, description: what = '' } = schema as { maximum?: number; description?: string };
        const example = /e\.g\. (\d+)\.$/.exec(what)?.[1];
        if (example === undefined || maximum === undefined) continue;
        expect(Number(example)).toBeLessThanOrEqual(maximum);
        examples++;
      }
    }
    expect(examples).toBe(5);
  });

  test('take at most 4,000 tokens with the schemas and the instructions', () => {
    expect(estimateTokens(JSON.stringify(tools) + client.getInstructions()!)).toBeLessThanOrEqual(4000);
  });

  test('of the set minimal mention only its 3 tools, in at most 1,200 tokens', async () => {
    const minimal = ['mcp', '--log-level', 'silent', '--tools', 'minimal'];
    const { client: other } = await stdioClient('legacy', minimal);
    const listed = (await other.listTools()).tools;
    const { prompts } = await other.listPrompts();
    const texts = [JSON.stringify(listed), other.getInstructions()!];
    for (const { name, arguments: args = [] } of prompts) {
      const given = Object.fromEntries(
        args.map((one) => [one.name, one.name === 'language' ? 'python' : 'x']),
      );
      texts.push(JSON.stringify(await other.getPrompt({ name, arguments: given })));
    }
    await other.close();
    expect(listed).toHaveLength(3);
    const missing = tools.map(({ name }) => name).filter((name) => !listed.some((one) => one.name === name));
    expect(missing.filter((name) => texts.some((text) => text.includes(name)))).toEqual([]);
    expect(estimateTokens(texts[0]!)).toBeLessThanOrEqual(1200);
  });

  test('come with a title, annotations and descriptions of parameters', () => {
    for (const tool of tools) {
      expect(tool.name).toMatch(/^[a-z][a-z_]{2,31}$/);
      expect(tool.title).toBeTruthy();
      const { openWorldHint, readOnlyHint, destructiveHint } = tool.annotations!;
      expect(openWorldHint).toBe(false);
      // The default of destructiveHint is true.
      expect(readOnlyHint === true || destructiveHint !== undefined, tool.name).toBe(true);
      for (const [name, schema] of Object.entries(tool.inputSchema.properties ?? {}))
        expect(schema, `${tool.name}.${name}`).toHaveProperty('description');
      expect(tool.inputSchema['additionalProperties']).toBe(false);
      expect(tool.outputSchema).toBeUndefined();
    }
  });

  test('have the schemas of results with --tools all, which structured content follows either way', async () => {
    const { client: other } = await stdioClient('legacy', ['mcp', '--log-level', 'silent', '--tools', 'all']);
    const listed = (await other.listTools()).tools;
    expect(listed.map(({ name }) => name)).toEqual(tools.map(({ name }) => name));
    // Structured content would hide the image.
    const without = listed.filter(({ outputSchema }) => outputSchema === undefined);
    expect(without.map(({ name }) => name).sort()).toEqual(['read_file', 'view_result']);
    for (const one of [client, other])
      expect((await one.callTool({ name: 'list_files', arguments: {} })).structuredContent).toMatchObject({
        total: 0,
      });
    await other.close();
  });

  test('cover every specified tool', () => {
    expect(tools.map(({ name }) => name).sort()).toEqual([
      'cancel_execution',
      'checkpoint_session',
      'create_session',
      'destroy_session',
      'execute_code',
      'fork_session',
      'get_active_sessions',
      'get_metrics',
      'get_workspace_info',
      'list_available_packages',
      'list_files',
      'list_runtimes',
      'read_file',
      'reset_all_sessions',
      'reset_workspace',
      'rollback_session',
      'view_result',
      'write_file',
    ]);
  });

  const descriptionOf = (name: string) => tools.find((tool) => tool.name === name)!.description!;

  test('of execute_code covers when to use it, when not, patterns, pitfalls with solutions, and limits', () => {
    const text = descriptionOf('execute_code');
    for (const part of [
      '{"code":"print(sum(range(1, 101)))","language":"python"}',
      'TypeError: value is not iterable',
      "const [files, err] = os.readdir('/app')",
      'FileNotFoundError',
      "'/app/data.txt'",
      'OutOfFuel',
      'create_session(fuel_budget=20_000_000_000)',
      'Not for network',
      'numpy, pandas, matplotlib and Pillow, are added when a program imports them',
      'Excel (openpyxl',
      'CSV (papaparse)',
      'typically 2 to 8 s of computation',
      'One-off',
      'File processing',
      'Stateful',
    ])
      expect(text).toContain(part);
    const { fuel_budget, timeout_seconds, memory_bytes } = policy.parse({});
    expect(text).toContain(`${fuel_budget / 1e9}B fuel`);
    expect(text).toContain(`${timeout_seconds} s`);
    expect(text).toContain(`${memory_bytes / 2 ** 20} MiB memory`);
  });

  test('of create_session covers the decision tree, persistence, the lifecycle and limits', () => {
    const text = descriptionOf('create_session');
    for (const part of [
      'When to use a session',
      'auto_persist_globals',
      'Lifecycle',
      'fuel_budget',
      'memory_bytes',
      'destroy_session',
    ])
      expect(text).toContain(part);
  });

  test('contain no words in capitals for emphasis', () => {
    for (const tool of tools) expect(modelText(tool)).not.toMatch(/\bMUST\b|\bNEVER\b|\bALWAYS\b|IMPORTANT/);
  });
});

test('figures in descriptions follow the settings', async () => {
  const other = await stdioClient('legacy', [
    'mcp',
    '--log-level',
    'silent',
    '--fuel-budget',
    '3G',
    '--timeout-seconds',
    '7',
    '--max-sessions',
    '4',
  ]);
  const listed = (await other.client.listTools()).tools;
  const text = (name: string) => listed.find((tool) => tool.name === name)!.description!;
  expect(text('execute_code')).toContain('3B fuel');
  expect(text('execute_code')).toContain('7 s (up to');
  expect(text('create_session')).toContain('At most 4 at a time');
  await other.client.close();
});
