import type { GuestError } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { javascript } from '../support/sandbox.ts';

describe('error details of a JavaScript program', () => {
  test.each<[string, Partial<GuestError>]>([
    ['const a = 1;\na.b.c;', { type: 'TypeError', line: 2, raised: false }],
    ["new RegExp('(');", { type: 'SyntaxError', thrower: 'RegExp', raised: false }],
    ["JSON.parse('x');", { type: 'SyntaxError', line: 1, raised: false }],
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

  test('reports failure for an error that cannot be described', async () => {
    const program =
      "const e = new Error('x');\nObject.defineProperty(e, 'stack', { get() { throw 1; } });\nthrow e;";
    expect((await javascript(program)).exit_code).toBe(1);
  });
});
