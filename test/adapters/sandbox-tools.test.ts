import { createSandbox, type SandboxResult } from 'llm-wasm-sandbox';
import { type SandboxToolName, sandboxTools } from 'llm-wasm-sandbox/adapters';
import { describe, expect, test } from 'vitest';
import { sharedByFile } from '../support/shared.ts';

const sandbox = await sharedByFile(
  createSandbox({ runtime: 'python', policy: { fuel_budget: 100_000_000 } }),
);

const toolOf = (name: SandboxToolName, options = {}) =>
  sandboxTools(sandbox, options).find((tool) => tool.name === name)!;

describe('sandboxTools', () => {
  test('describes the arguments as Zod and as JSON Schema', () => {
    const { inputSchema, jsonSchema } = toolOf('execute_code');
    expect(inputSchema.safeParse({ code: '1' }).success).toBe(true);
    expect(jsonSchema).toMatchObject({
      type: 'object',
      required: ['code'],
      properties: { code: { type: 'string' } },
    });
  });

  test('names the limits of the sandbox and whether variables persist', async () => {
    expect(toolOf('execute_code').description).toMatch(/fresh interpreter[\s\S]*Limits: 100M fuel/);
    await using session = await createSandbox({ runtime: 'javascript', auto_persist_globals: true });
    const [tool] = sandboxTools(session);
    expect(tool!.description).toContain('persist between calls');
    expect(tool!.jsonSchema).toMatchObject({
      properties: { language: { enum: ['javascript', 'typescript'] } },
    });
  });

  test('returns only the tools that were asked for', () => {
    expect(sandboxTools(sandbox, { names: ['list_files'] }).map(({ name }) => name)).toEqual(['list_files']);
    expect(() => sandboxTools(sandbox, { names: ['shell' as never] })).toThrow(/names/);
  });

  test('lets the model raise a limit only up to the given maximum', async () => {
    const args = { code: '1', fuel_budget: 200_000_000 };
    expect(await toolOf('execute_code').execute(args)).toMatchObject({ isError: true });
    const raised = toolOf('execute_code', { max_fuel_budget: 200_000_000 });
    expect(await raised.execute(args)).toMatchObject({ isError: false });
    expect(await raised.execute({ ...args, fuel_budget: 200_000_001 })).toMatchObject({ isError: true });
  });

  test('reports a program that reaches a limit with guidance and fuel summary', async () => {
    let complete: SandboxResult | undefined;
    const tool = toolOf('execute_code', {
      onResult: (result: SandboxResult) => {
        complete = result;
      },
    });
    const { text, isError } = await tool.execute({ code: 'while True: pass' });
    expect(isError).toBe(false);
    expect(text).toMatch(
      /^Failed: Execution trapped: OutOfFuel[\s\S]*How to fix [\s\S]*\nfuel: \d+M of 100M \(exhausted\)/,
    );
    expect(complete?.metadata.trap_reason).toBe('out_of_fuel');
  });

  test('writes, lists and reads files that programs use', async () => {
    await toolOf('write_file').execute({ path: 'in/a.bin', content: 'AQI=', encoding: 'base64' });
    const code = 'open("out.txt", "w").write(str(list(open("in/a.bin", "rb").read())))';
    expect((await toolOf('execute_code').execute({ code })).text).toContain('files: created out.txt');
    expect((await toolOf('list_files').execute({ folder: 'in' })).text).toMatch(/^1 file .*\nin\/a\.bin /);
    expect(await toolOf('read_file').execute({ path: 'out.txt' })).toMatchObject({ text: '[1, 2]' });
  });

  test('returns mistakes of the model as results', async () => {
    expect(await toolOf('read_file').execute({ path: 'none.txt' })).toMatchObject({
      isError: true,
      text: expect.stringMatching(/^file_not_found: /),
    });
    expect(await toolOf('write_file').execute({ path: '../x', content: '' })).toMatchObject({
      isError: true,
      text: expect.stringMatching(/^invalid_path: /),
    });
    expect(await toolOf('list_files').execute(null)).toMatchObject({ isError: true });
  });

  test('shortens long output and lets the model read all of it', async () => {
    const tools = sandboxTools(sandbox, { max_output_chars: 200 });
    const [executeCode, readFile] = tools;
    const { text } = await executeCode!.execute({ code: 'print("\\n".join(map(str, range(1000))))' });
    const uri = /full text at (output:\S+)/.exec(text)![1]!;
    const page = await readFile!.execute({ path: uri, offset: 3882 });
    expect(page).toMatchObject({ isError: false, text: '998\n999\n' });
    expect(await readFile!.execute({ path: 'output://x/stdout' })).toMatchObject({ isError: true });
    expect((await readFile!.execute({ path: 'docs://PYTHON_CAPABILITIES/files' })).isError).toBe(false);
  });

  test('cancels a program with a signal', async () => {
    const signal = AbortSignal.abort();
    const cancelled = await toolOf('execute_code').execute({ code: 'while True: pass' }, { signal });
    expect(cancelled.text).toContain('Cancelled');
  });
});
