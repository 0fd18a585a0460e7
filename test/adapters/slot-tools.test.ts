/** OpenAI's local shell tool and Anthropic's client tools, with the published packages. */
import { createSandbox, type Session } from 'llm-wasm-sandbox';
import { anthropicBash, anthropicTextEditor, openAiShell } from 'llm-wasm-sandbox/adapters';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { INSTALL_TIMEOUT_MS, install, runSlotExample, typeErrors } from './framework-project.ts';

const OPENAI = ['@openai/agents@0.20.0', 'zod@4.6.7'];
const ANTHROPIC = ['@anthropic-ai/sdk@1.10.0', 'zod@4.6.7'];

const TYPED_SHELL = `
import { type Shell, shellTool } from '@openai/agents';
import { createSandbox } from 'llm-wasm-sandbox';
import { openAiShell } from 'llm-wasm-sandbox/adapters';
const shell: Shell = openAiShell(await createSandbox({ runtime: 'bash', session_id: 'x' }));
shellTool({ shell });
`;

const TYPED_ANTHROPIC = `
import Anthropic from '@anthropic-ai/sdk';
import { createSandbox } from 'llm-wasm-sandbox';
import { anthropicBash, anthropicTextEditor } from 'llm-wasm-sandbox/adapters';
const session = await createSandbox({ runtime: 'bash', session_id: 'x' });
const tools = [anthropicBash(session), anthropicTextEditor(session)];
await new Anthropic().beta.messages.toolRunner({ model: '', max_tokens: 1, messages: [], tools });
`;

describe('tools with the packages', { timeout: INSTALL_TIMEOUT_MS }, () => {
  test('the shell of OpenAI has the type of the package', (context) => {
    expect(typeErrors(install('openai-agents', OPENAI, context), TYPED_SHELL)).toBe('');
  });

  test('the shell of OpenAI runs the commands of a model', (context) => {
    expect(runSlotExample('openai-shell', install('openai-agents', OPENAI, context))).toBe('0 42\n0\n');
  });

  test('the tools of Anthropic have the types of the package', (context) => {
    expect(typeErrors(install('anthropic', ANTHROPIC, context), TYPED_ANTHROPIC)).toBe('');
  });

  test('the tools of Anthropic are called by the tool runner', (context) => {
    expect(runSlotExample('anthropic', install('anthropic', ANTHROPIC, context)).split('\n--\n')).toEqual([
      'The file /app/a/answer.py was written.',
      'The file /app/a/answer.py was changed.',
      '',
      '/app/a\n42\n1\n\nExit code 1',
      'Error: There is no file or folder none.txt.\n',
    ]);
  });
});

describe('tool', () => {
  let session: Session;
  beforeAll(async () => {
    const policy = { fuel_budget: 1_000_000_000_000 };
    session = await createSandbox({ runtime: 'bash', auto_persist_globals: true, policy });
  });
  afterAll(() => session.close());

  test('shell ends at its timeout and cuts output', async () => {
    const { output } = await openAiShell(session).run({
      commands: ['echo abcdef; echo bad >&2; exit 2', 'while :; do :; done', 'echo never'],
      timeoutMs: 3000,
      maxOutputLength: 3,
    });
    expect(output).toEqual([
      { stdout: 'abc', stderr: 'bad', outcome: { type: 'exit', exitCode: 2 } },
      { stdout: '', stderr: expect.any(String), outcome: { type: 'timeout' } },
    ]);
  });

  test('bash keeps its variables until it is restarted', async () => {
    const { run, parse } = anthropicBash(session);
    await run(parse({ command: 'y=7; echo f > file' }));
    expect(await run(parse({ command: 'echo $y' }))).toBe('7\n');
    await run(parse({ restart: true }));
    expect(await run(parse({ command: 'echo [$y]; cat file' }))).toBe('[]\nf\n');
    expect(() => parse({})).toThrow('input');
  });

  test('text_editor views, inserts and replaces', async () => {
    const { run, parse } = anthropicTextEditor(session);
    const call = (input: object) => run(parse({ path: 't/x.txt', ...input }));
    await call({ command: 'create', file_text: 'one\ntwo\ntwo\n' });
    await call({ command: 'insert', insert_line: 1, insert_text: 'new\n' });
    await call({ command: 'insert', insert_line: 4, insert_text: 'last' });
    expect(await call({ command: 'view' })).toBe('1: one\n2: new\n3: two\n4: two\n5: last');
    expect(await call({ command: 'view', view_range: [2, -1] })).toMatch(/^2: new\n/);
    expect(await call({ command: 'view', path: '/app/t' })).toBe('/app/t/x.txt');
    await expect(call({ command: 'str_replace', old_str: 'two', new_str: '' })).rejects.toThrow(
      'more than once',
    );
    await expect(call({ command: 'str_replace', old_str: 'ten', new_str: '' })).rejects.toThrow(
      'does not occur',
    );
    await expect(async () => call({ command: 'undo_edit' })).rejects.toThrow(
      'input.command: must be "view", "create", "str_replace" or "insert"',
    );
    await expect(call({ command: 'view', view_range: [9, 10] })).rejects.toThrow('the lines 1 to 5');
    await expect(call({ command: 'insert', insert_line: 9, insert_text: '' })).rejects.toThrow('5 lines');
    await expect(call({ command: 'create', path: '/etc/x', file_text: '' })).rejects.toThrow(
      'not in the workspace',
    );
  });
});
