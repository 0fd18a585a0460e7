import { createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { GRACE } from '../../packages/core/src/engine/run-context.ts';
import { code, javascript } from '../support/sandbox.ts';

describe('JavaScript program', () => {
  test('prints and returns the value of its last expression', async () => {
    const result = await javascript("console.log('hello')\n6 * 7");
    expect(result).toMatchObject({ success: true, stdout: 'hello\n', stderr: '', exit_code: 0 });
    expect(result.metadata).toMatchObject({ trapped: false, result: 42, result_type: 'number' });
  });

  test.each([
    ['[1, 2.5, "x", null, { a: true }]', [1, 2.5, 'x', null, { a: true }]],
    ["'☃'.repeat(3)", '☃☃☃'],
    ['({ a: 1, b: undefined })', { a: 1 }],
    ['NaN', 'NaN'],
    ['10n ** 20n', '100000000000000000000n'],
    ['new Map([[1, 2]])', 'Map(1) { 1 => 2 }'],
    ['(class A { x = 1 }, new (class B { x = 1 })())', 'B { x: 1 }'],
    ['Symbol("s")', 'Symbol(s)'],
    ['new Date(0)', '1970-01-01T00:00:00.000Z'],
    ['async () => 1', '[AsyncFunction (anonymous)]'],
  ])('returns %s as JSON data or as text', async (expression, expected) => {
    expect((await javascript(expression)).metadata.result).toEqual(expected);
  });

  test.each([
    'const x = 1',
    '1; let x = 2',
    'for (const i of [1]) i',
    'if (true) { 5 }',
    'void 0',
    '',
    '// c',
  ])('has no result for %j', async (program) => {
    expect((await javascript(program)).metadata).not.toHaveProperty('result');
  });

  test('returns large or circular results as truncated text', async () => {
    const large = await javascript('Array.from({ length: 1e5 }, (_, i) => i)');
    expect(String(large.metadata.result).length).toBeLessThan(20_100);
    expect((await javascript('const a = {}; a.a = a')).metadata.result).toBe('<ref *1> { a: [Circular *1] }');
  });

  describe('that is a script', () => {
    test.each([
      ['for (i = 0, total = 0; i < 4; i++) total += i;\n[i, total]', [4, 6]],
      ['(function () { return this === globalThis })()', true],
      ['(function (n) { return n < 2 ? 1 : n * arguments.callee(n - 1) })(5)', 120],
      ['[010, "\\101"]', [8, 'A']],
      ['with ({ a: 1 }) { var b = a + 1 }\nb', 2],
      ['function f(a, a) { arguments[0] = 7; return [a, delete f] }\nf(1, 2)', [2, false]],
      ['async function f() { await null; late = 5; return late }\nf()', 5],
      ['const f = async (x) => await x;\ncount = 1;\nf(count)', 1],
      ['await (async () => { inner = 3 })();\ninner', 3],
      [`// ${'x'.repeat(300_001)}\nundeclared = 1`, 1],
    ])('runs in sloppy mode: %.60s', async (program, expected) => {
      expect((await javascript(program)).metadata).toMatchObject({ result: expected });
    });

    test("is strict after 'use strict'", async () => {
      const { metadata } = await javascript("'use strict';\nundeclared = 1");
      expect(metadata.error).toMatchObject({ type: 'ReferenceError', line: 2 });
    });
  });

  describe('that is a module', () => {
    test.each([
      'const x = await Promise.resolve(3);',
      'for (const x of [1]) { await x }',
      "import { EOL } from 'os';",
      'export const x = 1;',
      'import.meta.url;',
    ])('runs in strict mode: %s', async (start) => {
      const { metadata } = await javascript(`${start}\nundeclared = 1`);
      expect(metadata.error).toMatchObject({ type: 'ReferenceError', line: 2 });
      const octal = await javascript(`${start}\n010`);
      expect(octal.metadata.error).toMatchObject({ type: 'SyntaxError', line: 2 });
    });

    test('runs in strict mode because of its extension', async () => {
      const { metadata } = await javascript('undeclared = 1', { file_name: 'main.mjs' });
      expect(metadata.error).toMatchObject({ type: 'ReferenceError', line: 1 });
    });

    test('can await a value', async () => {
      expect((await javascript('await Promise.resolve(3)')).metadata.result).toBe(3);
    });

    test('cannot assign to its imports', async () => {
      const { metadata } = await javascript("import { EOL } from 'os';\nEOL = 1");
      expect(metadata.error).toMatchObject({ type: 'TypeError', line: 2 });
    });
  });

  test('shares variables with scripts and modules of its session', async () => {
    const sandbox = await createSandbox({ runtime: 'javascript', auto_persist_globals: true });
    const results: unknown[] = [];
    for (const program of [
      "import { EOL, platform } from 'os';\nexport const size = EOL.length;\nfunction strict() { return this }",
      'total = size; [typeof platform, strict() === undefined]',
      "import { tmpdir } from 'os';\ntotal++;\n[total, tmpdir()]",
      'var EOL = total; platform = tmpdir = "mine"; [EOL, platform, tmpdir]',
      'const x = await total; [x, EOL, platform]',
    ])
      results.push((await sandbox.execute(program)).metadata.result);
    await sandbox.close();
    expect(results.slice(1)).toEqual([
      ['function', true],
      [2, '/tmp'],
      [2, 'mine', 'mine'],
      [2, 2, 'mine'],
    ]);
  });

  test('returns the resolved value if it ends with a promise', async () => {
    const result = await javascript('async function main() { return { done: true } }\nmain()');
    expect(result.metadata.result).toEqual({ done: true });
  });

  test('gets a stack trace with its own lines and columns and no frames of the runtime', async () => {
    const result = await javascript(code`
      function f(x) {
        return x.nope.nope;
      }

      f(1);
    `);
    expect(result.exit_code).toBe(1);
    expect(result.stderr).toBe(
      "Uncaught TypeError: cannot read property 'nope' of undefined\n" +
        '    at f (/app/main.js:2:10)\n    at <eval> (/app/main.js:5:1)\n',
    );
    expect(result.metadata.error).toMatchObject({ type: 'TypeError', line: 2, column: 10 });
  });

  test('gets the position of a syntax error', async () => {
    const result = await javascript('let a = 1;\nlet b = = 2;');
    expect(result.metadata.error).toMatchObject({ type: 'SyntaxError', line: 2 });
    expect(result.stderr).toContain('Uncaught SyntaxError');
  });

  test('can throw any value', async () => {
    expect((await javascript('throw "text"')).metadata.error).toMatchObject({
      type: 'string',
      message: 'text',
    });
    expect((await javascript('throw null')).exit_code).toBe(1);
    expect((await javascript('throw { get name() { throw 1 } }')).exit_code).toBe(1);
    expect((await javascript('throw new Proxy(new Error("x"), { get() { throw 1 } })')).exit_code).toBe(1);
  });

  test('fails with the stack of an unhandled rejection', async () => {
    const result = await javascript(
      'Promise.reject(new Error("lost"));\nsetTimeout(() => console.log("late"), 5)',
    );
    expect(result).toMatchObject({ success: false, exit_code: 1, stdout: '' });
    expect(result.stderr).toBe('Uncaught (in promise) Error: lost\n    at <eval> (/app/main.js:1:20)\n');
    expect(result.metadata.error).toMatchObject({ type: 'Error', message: 'lost', line: 1 });
  });

  test('does not fail for a rejection that is handled in the same turn', async () => {
    const result = await javascript('const p = Promise.reject(1); await null; p.catch(() => {}); "fine"');
    expect(result.metadata.result).toBe('fine');
  });

  test('fails with an exception in a timer', async () => {
    const result = await javascript('setTimeout(() => { throw new RangeError("tick") }, 1)');
    expect(result.metadata.error).toMatchObject({
      type: 'RangeError',
      line: 1,
      stack: '    at <anonymous> (/app/main.js:1:30)',
    });
  });

  test('fails if it waits for a promise that is never settled', async () => {
    const result = await javascript('await new Promise(() => {})');
    expect(result.exit_code).toBe(13);
    expect(result.stderr).toContain('can never settle');
  });

  test('ends like Node.js if only a function or its last expression waits for such a promise', async () => {
    const waiting = 'async function main() { await new Promise(() => {}); }';
    expect(await javascript(`${waiting} main();`)).toMatchObject({ exit_code: 0, stderr: '' });
    expect(await javascript(`${waiting} main()`)).toMatchObject({ exit_code: 0, stderr: '', success: true });
    const exits = await javascript(
      'process.on("exit", (code) => console.log(code)); process.exitCode = 4; await new Promise(() => {})',
    );
    expect(exits).toMatchObject({ exit_code: 4, stdout: '4\n' });
  });

  test('ends when it calls std.exit', async () => {
    const result = await javascript('std.out.puts("before"); std.exit(3); console.log("after")');
    expect(result).toMatchObject({ exit_code: 3, stdout: 'before' });
    expect((await javascript('setTimeout(() => std.exit(4), 1)')).exit_code).toBe(4);
  });

  test('sees no state of earlier programs, even after one that was stopped', async () => {
    await using sandbox = await createSandbox({ runtime: 'javascript' });
    await sandbox.execute(
      'globalThis.x = 1; Array.prototype.map = null; setInterval(() => {}, 1); std.exit(0)',
    );
    const result = await sandbox.execute('[typeof x, typeof [].map]');
    expect(result.metadata.result).toEqual(['undefined', 'function']);
  });

  test('gets different random numbers in every run and the current time', async () => {
    const program = '[Math.random(), Date.now(), new Date().getTimezoneOffset(), crypto.randomUUID()]';
    const before = Date.now();
    const [a, b] = await Promise.all([javascript(program), javascript(program)]);
    const [first, second] = [a.metadata.result, b.metadata.result] as [number, number, number, string][];
    expect(first![0]).not.toBe(second![0]);
    expect(first![3]).not.toBe(second![3]);
    expect(first![1]).toBeGreaterThanOrEqual(before - 1000);
    expect(first![1]).toBeLessThanOrEqual(Date.now() + 1000);
    expect(first![2]).toBe(0);
  });

  test('consumes the same fuel every time', async () => {
    const program =
      'const a = Array.from({ length: 1000 }, () => Math.random()); setTimeout(() => console.log(a.length), 2)';
    const runs = await Promise.all([javascript(program), javascript(program), javascript(program)]);
    expect(new Set(runs.map((run) => run.fuel_consumed)).size).toBe(1);
  });
});

describe('JavaScript timers', () => {
  test('run in the order of their times, with promise jobs in between', async () => {
    const { stdout } = await javascript(code`
      setTimeout(() => console.log('last'), 500);
      setTimeout((a, b) => { console.log('5', a, b); queueMicrotask(() => console.log('job')) }, 5, 'x', 'y');
      setTimeout(() => console.log('5 again'), 5);
      setImmediate(() => console.log('immediate'));
      const never = setTimeout(() => console.log('never'), 1);
      clearTimeout(never);
      let n = 0;
      const interval = setInterval(() => { console.log('i', ++n); if (n === 2) clearInterval(interval) }, 8);
      queueMicrotask(() => console.log('micro'));
      console.log('sync');
    `);
    expect(stdout.trim().split('\n')).toEqual([
      'sync',
      'micro',
      'immediate',
      '5 x y',
      'job',
      '5 again',
      'i 1',
      'i 2',
      'last',
    ]);
  });

  test('wait without consuming fuel', async () => {
    const result = await javascript('await new Promise((done) => setTimeout(done, 200)); os.sleep(100)');
    expect(result.fuel_consumed).toBeLessThan(2_000_000);
  });
});

describe('limits of a JavaScript program', () => {
  test('deep recursion throws a RangeError that the program can catch', async () => {
    const result = await javascript(
      'let n = 0; const f = () => { n++; f() }; try { f() } catch (e) { [e.name, n > 5000] }\n;[n > 5000]',
    );
    expect(result.metadata.result).toEqual([true]);
    expect((await javascript('const f = () => f(); f()')).metadata.error).toMatchObject({
      type: 'RangeError',
    });
  });

  test.each([
    'JSON.parse("[".repeat(1e6))',
    '(0, eval)("(".repeat(1e5))',
    'let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); p.x',
    'const o = { toString() { return "" + this } }; "" + o',
    'function f() { "a".replace(/a/, f) } f()',
  ])('%s throws an exception', async (program) => {
    expect((await javascript(program)).metadata.error).toMatchObject({ type: 'RangeError' });
  });

  test.each(['new Array(1e9).fill(0)', 'const a = []; for (;;) a.push(new ArrayBuffer(1e6))'])(
    '%s throws an exception because memory is exhausted',
    async (program) => {
      const policy = { memory_bytes: 64 * 1024 * 1024 };
      await using sandbox = await createSandbox({ runtime: 'javascript', policy });
      const result = await sandbox.execute(`try { ${program} } catch (e) { console.log(e.name, e.message) }`);
      expect(result.stdout).toBe('InternalError out of memory\n');
    },
  );

  test.each([
    ['for (;;);', 'out_of_fuel'],
    ['try { for (;;); } finally { console.log("no") }', 'out_of_fuel'],
    ['const next = () => Promise.resolve().then(next); next()', 'out_of_fuel'],
    ['new Array(2e8) + ""', 'out_of_fuel'],
  ])('%s is stopped at the fuel budget', async (program, reason) => {
    await using sandbox = await createSandbox({ runtime: 'javascript', policy: { fuel_budget: 50_000_000 } });
    const result = await sandbox.execute(program);
    expect(result).toMatchObject({
      success: false,
      stdout: '',
      metadata: { trapped: true, trap_reason: reason },
    });
    // The budget and the grace are each exceeded by the instructions up to the next check.
    expect(result.fuel_consumed).toBeLessThanOrEqual(50_000_000 + GRACE.fuel + 2 * 100);
  });

  test('reaching a limit reports the line and function', async () => {
    await using sandbox = await createSandbox({ runtime: 'javascript', policy: { fuel_budget: 50_000_000 } });
    const result = await sandbox.execute(
      'let n = 0;\nfunction burn() {\n  for (;;) {\n    n += Math.sqrt(n);\n  }\n}\nburn();',
    );
    expect(result.metadata.error).toMatchObject({
      type: 'OutOfFuel',
      message: 'the fuel budget of 50000000 is used up',
    });
    expect(result.stderr).toMatch(
      / at burn \(\/app\/main.js:\d+:\d+\)\n {4}at <eval> \(\/app\/main.js:7:1\)/,
    );
  });

  test('reaching a limit in a call to the host reports only the limit', async () => {
    await using sandbox = await createSandbox({ runtime: 'javascript', policy: { fuel_budget: 50_000_000 } });
    const result = await sandbox.execute(
      "const { createHash } = require('crypto');\nfor (;;) createHash('sha256').update('x'.repeat(1e5)).digest();",
    );
    expect(result.stderr).toMatch(/^Uncaught OutOfFuel: the fuel budget of 50000000 is used up\n/);
    expect(result.metadata.stopped_at).toMatchObject({ line: 2 });
  });

  test.each(['await new Promise((done) => setTimeout(done, 60_000))', 'os.sleep(60_000)', 'for (;;);'])(
    '%s ends at the time limit',
    async (program) => {
      await using sandbox = await createSandbox({
        runtime: 'javascript',
        policy: { timeout_seconds: 0.3, fuel_budget: 1e12 },
      });
      const result = await sandbox.execute(program);
      expect(result.metadata).toMatchObject({ trapped: true, trap_reason: 'timeout' });
    },
  );
});
