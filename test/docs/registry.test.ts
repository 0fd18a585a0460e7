import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { environmentName, SETTING_NAMES } from '../../src/mcp/settings.ts';
import { call, stdioClient } from '../support/mcp.ts';

const read = (name: string) =>
  JSON.parse(readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8')) as Record<string, unknown>;

/** What the registry's schema of 2025-12-11 and the rules of the official registry ask of an entry such as ours. */
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

test('the entry for the registry has the form the registry asks for', () => {
  expect(entrySchema.safeParse(read('server.json')).error).toBeUndefined();
});

test('the entry is about this package, this version and the name that the package proves', () => {
  const { name, version, mcpName } = read('package.json');
  expect(entry).toMatchObject({ name: mcpName, version });
  expect(listed).toMatchObject({ identifier: name, version });
});

test('the entry names variables that the server knows, and arguments that start it', async () => {
  const known = SETTING_NAMES.map(environmentName);
  for (const { name } of listed.environmentVariables) expect(known).toContain(name);
  const { client } = await stdioClient(
    'modern',
    listed.packageArguments.map(({ value }) => value),
  );
  expect((await call(client, 'list_runtimes')).isError).toBe(false);
  await client.close();
});
