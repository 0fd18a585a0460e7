/** @module-tag full */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { environmentName } from '../../packages/server/src/server/resolve-settings.ts';
import { SETTING_NAMES } from '../../packages/server/src/server/settings.ts';
import { call, stdioClient } from '../support/mcp.ts';

const read = (name: string) =>
  JSON.parse(readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8')) as Record<string, unknown>;

/** The parts of the registry's schema of 2025-12-11 that apply to this entry, with the rules of the official registry. */
const exactVersion = z
  .string()
  .max(255)
  .regex(/^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/);
const input = z.strictObject({
  name: z.string().optional(),
  type: z.enum(['positional', 'named']).optional(),
  value: z.string().optional(),
  description: z.string().optional(),
  isRequired: z.boolean().optional(),
});
const entrySchema = z.strictObject({
  $schema: z.literal('https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json'),
  name: z
    .string()
    .min(3)
    .max(200)
    .regex(/^[a-zA-Z0-9-]+(?:\.[a-zA-Z0-9-]+)+\/[a-zA-Z0-9._-]+$/),
  title: z.string().min(1).max(100),
  description: z.string().min(1).max(100),
  version: exactVersion,
  packages: z.tuple([
    z.strictObject({
      registryType: z.literal('npm'),
      identifier: z.string().regex(/^(?:@[a-z0-9-]+\/)?[a-z0-9][a-z0-9._-]*$/),
      version: exactVersion,
      runtimeHint: z.literal('npx'),
      transport: z.strictObject({ type: z.literal('stdio') }),
      packageArguments: z.array(input.required({ type: true, value: true })),
      environmentVariables: z.array(input.required({ name: true })),
    }),
  ]),
});

const entry = entrySchema.parse(read('server.json'));
const [listed] = entry.packages;

test('server.json matches the schema of the registry', () => {
  expect(entrySchema.safeParse(read('server.json')).error).toBeUndefined();
});

test('server.json names this package, its version and its mcpName', () => {
  const { name, version, mcpName } = read('packages/cli/package.json');
  expect(entry).toMatchObject({ name: mcpName, version });
  expect(listed).toMatchObject({ identifier: name, version });
});

test('server.json names existing environment variables and arguments that start the server', async () => {
  const known = SETTING_NAMES.map(environmentName);
  for (const { name } of listed.environmentVariables) expect(known).toContain(name);
  const { client } = await stdioClient(
    'modern',
    listed.packageArguments.map(({ value }) => value),
  );
  expect((await call(client, 'list_runtimes')).isError).toBe(false);
  await client.close();
});
