/** Tools with schemas of the real packages: Zod, Valibot, ArkType and the AI SDK. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createSandbox, type ToolsOption } from 'llm-wasm-sandbox';
import { expect, test } from 'vitest';
import { installPinned } from '../../scripts/install-pinned-packages.mjs';

const PACKAGES = [
  'valibot@1.5.0',
  '@valibot/to-json-schema@1.8.0',
  'arktype@2.2.9',
  'ai@6.0.326',
  'zod@4.6.7',
] as const;
const ENTRIES = [
  'valibot/dist/index.mjs',
  '@valibot/to-json-schema/dist/index.mjs',
  'arktype/out/index.js',
  'ai/dist/index.mjs',
  'zod/index.js',
];

const TYPED = /^weather\(args: { city: string; days\?: number }\)/m;
const UNTYPED = /^weather\(args\?: Record<string, unknown>\)/m;

test('schemas of Zod, Valibot, ArkType and the AI SDK check arguments and appear in declarations', async ({
  skip,
}) => {
  let modules = '';
  try {
    modules = join(installPinned('tool-schemas', PACKAGES), 'node_modules');
  } catch (cause) {
    skip((cause as Error).message);
  }
  // biome-ignore lint/suspicious/noExplicitAny: the packages are not dependencies of this one, so their types are not available
  const load = (entry: string): Promise<any> => import(pathToFileURL(join(modules, entry)).href);
  const [valibot, valibotJson, { type }, ai, { z }] = await Promise.all(ENTRIES.map(load));
  const valibotSchema = valibot.object({
    city: valibot.pipe(valibot.string(), valibot.minLength(2)),
    days: valibot.optional(valibot.number(), 1),
  });
  const zodSchema = z.object({ city: z.string().min(2), days: z.number().default(1) });
  const jsonSchema = {
    type: 'object',
    properties: { city: { type: 'string', minLength: 2 }, days: { type: 'number' } },
    required: ['city'],
  };
  const schemas: readonly (readonly [name: string, schema: object, declaration: RegExp])[] = [
    ['Zod', zodSchema, TYPED],
    ['Valibot', valibotSchema, UNTYPED],
    ['Valibot, convertible', valibotJson.toStandardJsonSchema(valibotSchema), TYPED],
    ['ArkType', type({ city: 'string >= 2', 'days?': 'number' }), TYPED],
    ['AI SDK', ai.jsonSchema(jsonSchema), TYPED],
    ['AI SDK with Zod', ai.zodSchema(zodSchema), TYPED],
  ];
  await using sandbox = await createSandbox({ runtime: 'javascript' });
  const execute = async ({ city, days = 1 }: { city: string; days?: number }) => `${city} ${days}`;
  const program = `const call = (args) => tools.weather(args).catch((error) => error.code);
console.log(await call({ city: 'Rome' }), await call({ city: 'R' }), await call({ city: 'Rome', days: 'x' }));
console.log(describe_tool('weather').d_ts);`;
  for (const [name, inputSchema, declaration] of schemas) {
    // `tool()` of the AI SDK returns the tool as it is passed to a model.
    const tools = { weather: ai.tool({ description: 'The weather.', inputSchema, execute }) } as ToolsOption;
    const { stdout, stderr } = await sandbox.execute(program, { tools });
    expect(stderr, name).toBe('');
    expect(stdout, name).toMatch(/^Rome 1 invalid_arguments invalid_arguments\n/);
    expect(stdout, name).toMatch(declaration);
  }
}, 300_000);
