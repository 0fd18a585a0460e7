/**
 * Packages on demand over standard input and output: the person at the client is asked once.
 *
 * @module-tag full
 */
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { beforeAll, describe, expect, test } from 'vitest';
import { onlyPackagesFrom } from '../packages/available-wheels.ts';
import { wheel } from '../packages/wheel-fixtures.ts';
import { runCliHere } from '../support/cli.ts';
import { setEnvironment } from '../support/environment.ts';
import { folderOfFile } from '../support/folders.ts';
import { CLI, call, type Era, httpClient, startHttp } from '../support/mcp.ts';

const folder = folderOfFile();
const index = join(folder, 'index');
const env = onlyPackagesFrom(index, folder);
setEnvironment(env);

beforeAll(async () => {
  mkdirSync(index);
  for (const name of ['first', 'second', 'absent'])
    await wheel(index, name, '1.0', { [`${name}.py`]: 'x = 1\n' });
  expect(await runCliHere(['packages', 'lock', index], join(folder, 'store'))).toMatchObject({ status: 0 });
  rmSync(join(index, 'absent-1.0-py3-none-any.whl'));
});

/**
 * A client in whose server no packages are added. `decision` is the answer of the person, who can also decline to answer or close
 * the form; without it, nobody can be asked.
 */
async function start(era: Era, decision?: 'allow' | 'deny' | 'decline' | 'cancel') {
  rmSync(join(folder, 'packages', 'packages.json'), { force: true });
  const capabilities = decision === undefined ? {} : { elicitation: { form: {} } };
  const mode = era === 'modern' ? ({ pin: '2026-07-28' } as const) : 'legacy';
  const client = new Client({ name: 'test', version: '1' }, { capabilities, versionNegotiation: { mode } });
  const asked: string[] = [];
  if (decision !== undefined)
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      asked.push(params.message);
      if (decision === 'decline' || decision === 'cancel') return { action: decision };
      return { action: 'accept' as const, content: { decision } };
    });
  const args = [CLI, 'mcp', '--log-level', 'silent', '--optimization', 'demand'];
  const inherited = { PATH: process.env['PATH'] ?? '', HOME: folder, ...env };
  await client.connect(new StdioClientTransport({ command: process.execPath, args, env: inherited }));
  const run = (code: string) => call(client, 'execute_code', { code, language: 'python' });
  return { client, asked, run };
}

describe('packages on demand over standard input and output', () => {
  test.each<Era>(['modern', 'legacy'])('are added after the person has agreed once (%s)', async (era) => {
    const { client, asked, run } = await start(era, 'allow');
    expect((await run('import first; print(first.x)')).text).toMatch(/first 1\.0 was added/);
    // The search fails, because no wheel exists, but nobody is asked about it.
    expect((await run('import absent')).text).toMatch(/absent could not be added: No wheel/);
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatch(/not installed: first 1\.0 \(\d+ bytes\)\.\nDownload them/);
    await client.close();
  });

  test.each([
    ['modern', 'deny'],
    ['modern', 'decline'],
    ['modern', 'cancel'],
    ['legacy', 'decline'],
    ['legacy', 'cancel'],
  ] as const)(
    'are not added if the person does not agree, who is not asked again (%s, %s)',
    async (era, answer) => {
      const { client, asked, run } = await start(era, answer);
      const { text } = await run('import first');
      expect(text).toContain('to add it, run "llm-wasm-sandbox packages add first"');
      expect(text).toContain("No module named 'first'");
      expect((await run('import second')).text).toContain('packages add second');
      expect(asked).toHaveLength(1);
      expect(existsSync(join(folder, 'packages', 'packages.json'))).toBe(false);
      expect((await run('print(1)')).text).toContain('1');
      await client.close();
    },
  );

  test('are not added if nobody can be asked', async () => {
    const { client, run } = await start('legacy');
    for (const code of ['import first', '!pip install first']) {
      const { text } = await run(code);
      expect(text).toContain('this client cannot ask a person for consent');
      expect(text).not.toContain('declined');
      expect(text).toContain('"llm-wasm-sandbox packages add first"');
    }
    expect((await run('print(1)')).text).toContain('1');
    await client.close();
  });
});

test('packages are not added over HTTP by default', async () => {
  await using server = await startHttp();
  await using client = await httpClient(server, 'modern');
  const { text, structured } = await call(client, 'execute_code', {
    code: 'import first',
    language: 'python',
  });
  expect(text).toContain("No module named 'first'");
  expect(structured['packages_added']).toBeUndefined();
});
