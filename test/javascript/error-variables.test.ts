/** The variables in `stopped_at` for uncaught exceptions, which are read when the error is created. */
import { createSandbox, memoryStore } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { code } from '../support/sandbox.ts';
import { sharedByFile } from '../support/shared.ts';

const sandbox = await sharedByFile(createSandbox({ runtime: 'javascript' }));

/** Line and variables of the place where the program failed. */
async function stop(program: string, language?: 'typescript') {
  const { metadata, exit_code } = await sandbox.execute(program, language && { language });
  expect(exit_code).toBe(1);
  const place = metadata.stopped_at;
  return place && { line: place.line, function: place.function, variables: place.variables };
}

describe('variables of an uncaught exception', () => {
  test.each([
    ['an Error', `const y = x * 2; throw new Error('a')`, { x: '21', y: '42' }],
    ['a failed read', 'let row = { x }; return row.y.z', { x: '21', row: '{x: 21}' }],
    ['a built-in function', `const text = 'x'; return JSON.parse(text)`, { x: '21', text: '"x"' }],
    ['an undefined function', 'return missing(x)', { x: '21' }],
    ['a rejected promise', 'return Promise.reject(new Error())', { x: '21' }],
    ['a finally block that changes them', 'try { null.x } finally { x = 0 }', { x: '21' }],
    ['a nested function', 'const k = [x]; (() => { const z = k; null.a })()', { z: '[21]', k: '[21]' }],
    ['a class of the program', 'const y = 1; throw new Failure(x)', { x: '21', y: '1' }],
  ])('are those of the function for %s', async (_, body, variables) => {
    const failure =
      'class Failure extends Error { constructor(m) { const own = 1; super(m); this.own = own } }\n';
    expect(await stop(`${failure}function f(x) { ${body} }\nf(21)`)).toMatchObject({ line: 2, variables });
  });

  test('are those of an async function, a generator and a timer', async () => {
    const asynchronous = `async function f(id) { await null; const late = 5; throw new Error() }\nf(7).then(() => {})`;
    expect((await stop(asynchronous))?.variables).toEqual({ id: '7', late: '5' });
    const generator = 'function* g(n) { yield 1; null.x }\nfor (const v of g(3)) { v }';
    expect((await stop(generator))?.variables).toEqual({ n: '3' });
    expect((await stop('setTimeout(() => { const late = 5; null.x }, 1)'))?.variables).toEqual({ late: '5' });
  });

  test('are those of a TypeScript function', async () => {
    const program = code`
      interface Row { name: string }
      function f(rows: Row[], at: number): string {
        const row = rows[at];
        return row.name;
      }
      f([], 3);
    `;
    const variables = { rows: '[]', at: '3', row: 'undefined' };
    expect(await stop(program, 'typescript')).toEqual({ line: 4, function: 'f', variables });
  });

  test('belong to the place where the error was created, also if it is thrown again elsewhere', async () => {
    const again = code`
      function f(x) { throw new Error('in') }
      function g(y) { try { f(y + 1) } catch (error) { const x = 9; throw error } }
      g(3)
    `;
    expect(await stop(again)).toEqual({ line: 1, function: 'f', variables: { x: '4' } });
    const early = 'function make(a) { const e = new Error(); a = 99; return e }\nconst e = make(1);\nthrow e';
    expect(await stop(early)).toEqual({ line: 1, function: 'make', variables: { a: '1' } });
    const moved = `function f(x) { const e = new Error(); e.stack = 'Error\\n    at f (/app/main.js:2:1)'; throw e }\nf(1)`;
    expect(await stop(moved)).toEqual({ line: 2, function: 'f', variables: {} });
  });

  test('do not include globals that the function cannot see', async () => {
    const shadowed = 'let x = 1, y = 2; function f() { x; let x = y }\nf()';
    expect((await stop(shadowed))?.variables).toEqual({ y: '2' });
  });

  test('do not include variables of blocks that may not be in scope', async () => {
    const loops = code`
      function f(n) {
        if (n < 0) { let never = 1 }
        for (let i = 0; i < 3; i++) {}
        for (let i = 10; i < n; i++) {

          if (i === 12) throw new Error()
        }
      }
      f(20)
    `;
    expect((await stop(loops))?.variables).toEqual({ n: '20' });
  });

  test('do not exist for values without a stack trace', async () => {
    for (const thrown of ['42', '{ x }', 'null', 'Object.create(Error.prototype)'])
      expect((await stop(`function f(x) { throw ${thrown} }\nf(1)`))?.variables ?? {}).toEqual({});
    expect(await stop('Error.stackTraceLimit = 0; function f(x) { null.x }\nf(1)')).toBeUndefined();
  });

  test('are those of the error that is reported, not of another one at the same line', async () => {
    const settled = code`
      async function f(n) { await null; throw new Error(n) }
      const [first, ...others] = [1, 2, 3].map(f);
      await Promise.allSettled(others);
      await first;
    `;
    expect((await stop(settled))?.variables).toMatchObject({ n: '1' });
  });

  test('are not shown after errors that were not observed', async () => {
    const program = (caught: number) => code`
      function f(n) { throw new Error('n') }
      for (let i = 0; i < ${caught}; i++) try { f(i) } catch {}
      f('last')
    `;
    expect((await stop(program(20)))?.variables).toMatchObject({ n: '"last"' });
    expect(await stop(program(200))).toEqual({ line: 1, function: 'f', variables: {} });
  });

  test('run no code of the program, and stay within their limits', async () => {
    const program = code`
      const effect = () => { console.log('effect'); throw 1 };
      function f(evil, trap, wide, long) {
        ${Array.from({ length: 60 }, (_, i) => `const v${i} = 'w'.repeat(300);`).join(' ')}

        throw new Error('a', { cause: [evil, trap, wide, long] });
      }
      Object.defineProperty(f, 'name', { get: effect });
      Object.defineProperty(Error.prototype, 'constructor', { get: effect });
      const evil = { get a() { effect() }, toString: effect, toJSON: effect, [Symbol.toPrimitive]: effect };
      const cyclic = { evil }; cyclic.self = cyclic;
      f(evil, new Proxy({}, { get: effect, ownKeys: effect }), cyclic, 'x'.repeat(1e6));
    `;
    const result = await sandbox.execute(program);
    expect(result.stdout).toBe('');
    const { variables } = result.metadata.stopped_at!;
    expect(variables).toMatchObject({ trap: '<Proxy>', evil: expect.stringMatching(/^\{/) });
    const texts = Object.entries(variables).flat();
    expect(texts.length).toBeLessThanOrEqual(40);
    expect(Math.max(...texts.map(({ length }) => length))).toBeLessThanOrEqual(200);
    expect(texts.join('').length).toBeLessThanOrEqual(2_000);
  });

  test('are those of the current program of a session, and the same in every run', async () => {
    const options = { runtime: 'javascript', store: memoryStore(), session_id: 'errors' } as const;
    await using session = await createSandbox(options);
    await session.execute('const old = (() => { const secret = 1; return new Error() })()');
    const failed = 'function f(x) { const y = { x }; throw new Error() }\nf(5)';
    const places = [await session.execute(failed), await session.execute(failed)];
    for (const { metadata } of places)
      expect(metadata.stopped_at?.variables).toEqual({ x: '5', y: '{x: 5}' });
    expect((await session.execute('throw old')).metadata.stopped_at).toBeUndefined();
  });
});
