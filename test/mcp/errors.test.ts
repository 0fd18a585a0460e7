import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call, stdioClient } from '../support/mcp.ts';

let client: Client;
beforeAll(async () => {
  ({ client } = await stdioClient('modern'));
  await call(client, 'create_session', { language: 'javascript', session_id: 'js' });
});
afterAll(() => client.close());

test('a Python call in a JavaScript session is rejected before anything runs', async () => {
  const { isError, text } = await call(client, 'execute_code', {
    code: 'x = 1',
    language: 'python',
    session_id: 'js',
  });
  expect(isError).toBe(true);
  expect(text).toMatch(/^session_mismatch: .*javascript.*create_session/);
  expect((await call(client, 'get_workspace_info', { session_id: 'js' })).structured).toMatchObject({
    calls: 0,
  });
});

test.each([
  ['a missing argument', 'execute_code', { code: '1' }, /language/],
  ['an unknown argument', 'execute_code', { code: '1', language: 'python', fuel: 3 }, /fuel/],
  ['an unknown language', 'execute_code', { code: '1', language: 'ruby' }, /language/],
  [
    'a fuel budget above the maximum',
    'execute_code',
    { code: '1', language: 'python', fuel_budget: 1e15 },
    /fuel_budget/,
  ],
  ['a timeout above the maximum', 'execute_code', { code: '1', language: 'python', timeout: 1e6 }, /timeout/],
  [
    'too little memory',
    'create_session',
    { language: 'python', memory_bytes: 1000 },
    /memory_bytes.*minimum/,
  ],
  [
    'a session id with path separators',
    'create_session',
    { language: 'python', session_id: '../up' },
    /session_id/,
  ],
  ['the reserved session id', 'create_session', { language: 'python', session_id: 'default' }, /default/],
  ['the id of an existing session', 'create_session', { language: 'python', session_id: 'js' }, /already/],
  ['an unknown session', 'list_files', { session_id: 'none' }, /session_not_found.*js/],
  ['an unknown checkpoint', 'rollback_session', { session_id: 'js', name: 'none' }, /checkpoint/],
  ['undo without an earlier call', 'rollback_session', { session_id: 'js' }, /undo/],
  ['a fork of the default workspace', 'fork_session', { session_id: 'default' }, /default/],
  [
    'a checkpoint of the default workspace',
    'checkpoint_session',
    { session_id: 'default' },
    /create_session/,
  ],
  ['invalid base64', 'write_file', { path: 'a', content: '%%', encoding: 'base64' }, /base64/],
  [
    'a long text that is almost base64',
    'write_file',
    { path: 'a', content: `${' '.repeat(1_000_000)}!`, encoding: 'base64' },
    /base64/,
  ],
])('%s is an error that the model can read', async (_, tool, args, message) => {
  const { isError, text } = await call(client, tool, args);
  expect(isError).toBe(true);
  expect(text).toMatch(message);
});

test('an unknown tool is a protocol error', async () => {
  await expect(client.callTool({ name: 'no_such_tool', arguments: {} })).rejects.toMatchObject({
    code: -32_602,
  });
});

test('error guidance is in the text and in structured content', async () => {
  const { text, structured } = await call(client, 'execute_code', {
    code: 'open("/etc/data.txt")',
    language: 'python',
  });
  const guidance = structured['error_guidance'] as { error_type: string; actionable_guidance: string[] };
  expect(guidance.actionable_guidance.length).toBeGreaterThan(0);
  expect(text).toContain(`How to fix ${guidance.error_type}:\n1. ${guidance.actionable_guidance[0]}`);
});

test('guidance and fuel analysis can be turned off for a server, and its texts promise none', async () => {
  const { client: plain } = await stdioClient('modern', [
    ...['mcp', '--no-error-guidance', '--no-fuel-analysis', '--log-level', 'silent'],
  ]);
  try {
    const { text, structured } = await call(plain, 'execute_code', { code: '1 / 0', language: 'python' });
    expect(structured).toMatchObject({ success: false, error_guidance: null, fuel_analysis: null });
    expect(text).not.toContain('How to fix');
    const { tools } = await plain.listTools();
    const descriptions = tools.map(({ description }) => description).join();
    expect(descriptions + plain.getInstructions()).not.toMatch(/steps to fix|error_guidance/);
    expect((await client.listTools()).tools[0]!.description).toContain('steps to fix it');
  } finally {
    await plain.close();
  }
});

test('the fuel line appears only when much of the budget was used', { tags: 'full' }, async () => {
  const args = { language: 'python', fuel_budget: 200e6 };
  const cheap = await call(client, 'execute_code', { ...args, code: '1' });
  expect(cheap.text).not.toContain('\nfuel:');
  expect(cheap.structured['fuel_analysis']).toMatchObject({ status: 'efficient', budget: 200e6 });
  const exhausted = await call(client, 'execute_code', { ...args, code: 'while True: pass' });
  const line = /^fuel: .*$/m.exec(exhausted.text)![0];
  expect(line).toMatch(/^fuel: 2\d\dM of 200M \(exhausted\)\. .*[^.]\.$/);
  expect(line.match(/%/g) ?? []).toHaveLength(0);
  const loop = 'total = 0\nfor i in range(100_000): total += i';
  const { fuel_consumed } = (await call(client, 'execute_code', { ...args, fuel_budget: 1e9, code: loop }))
    .structured;
  const budget = Math.round(Number(fuel_consumed) / 0.6);
  const moderate = await call(client, 'execute_code', { ...args, fuel_budget: budget, code: loop });
  const [found] = /^fuel: .*$/m.exec(moderate.text)!;
  expect(found).toMatch(/\(moderate\)\. Code used \d+% of fuel budget - .*[^.]\.$/);
  expect(found.match(/%/g)).toHaveLength(1);
});
