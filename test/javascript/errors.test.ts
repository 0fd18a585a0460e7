import type { GuestError } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { javascript } from '../support/sandbox.ts';

describe('error reporting in JavaScript', () => {
  test.each<[string, Partial<GuestError>]>([
    ['const a = 1;\na.b.c;', { type: 'TypeError', line: 2, raised: false }],
    ["new RegExp('(');", { type: 'SyntaxError', thrower: 'RegExp', raised: false }],
    ["JSON.parse('x');", { type: 'SyntaxError', line: 1, raised: false, near: 'x', position: 0, length: 1 }],
    [
      "JSON.parse('[1,\\n2,\\n' + 'x'.repeat(100) + ']');",
      { type: 'SyntaxError', near: `[1,\n2,\n${'x'.repeat(30)}`, position: 7, length: 108 },
    ],
    ["JSON.parse('1', () => { throw new SyntaxError('mine'); });", { type: 'SyntaxError', message: 'mine' }],
    ["throw new Error('x');", { type: 'Error', message: 'x', raised: true, line: 1 }],
    [
      "class Bad extends Error {}\nfunction f() {\n  throw new Bad('x');\n}\nf();",
      { type: 'Bad', raised: true, line: 3 },
    ],
    ["throw 'text';", { type: 'string', message: 'text', raised: true }],
    ["std.popen('ls', 'r');", { type: 'Error', raised: false, line: 1 }],
    ["const e = new Error('x');\ne.errno = 2;\ne.path = '/app/x';\nthrow e;", { errno: 2, path: '/app/x' }],
  ])('describes the error of %j', async (program, expected) => {
    expect((await javascript(program)).metadata.error).toMatchObject(expected);
  });

  test('leaves JSON.parse as the engine has it', async () => {
    const { stdout } = await javascript(`
      const seen = [JSON.parse('{"a":[1]}', (key, value) => (key === '0' ? 2 : value)), JSON.parse.length];
      const { parse } = JSON;
      for (const value of [parse(true), parse({ toString: () => '7' })]) seen.push(value);
      try { new JSON.parse('1'); } catch (error) { seen.push(error.name); }
      try { parse('{'); } catch (error) { seen.push(Object.keys(error).length, error.stack.includes('sandbox:')); }
      console.log(JSON.stringify(seen));`);
    expect(stdout).toBe('[{"a":[2]},2,true,7,"TypeError",0,false]\n');
  });

  test('prints exceptions of the web API with their message', async () => {
    const { stderr } = await javascript('structuredClone(() => 1);');
    expect(stderr).toMatch(
      /^Uncaught DOMException \[DataCloneError\]: \(\) => 1 could not be cloned\.\n {4}at /,
    );
  });

  test('reports failure for an error that cannot be described', async () => {
    const program =
      "const e = new Error('x');\nObject.defineProperty(e, 'stack', { get() { throw 1; } });\nthrow e;";
    expect((await javascript(program)).exit_code).toBe(1);
  });
});
