/** The module `node:test` reports like Node.js, and modules that need more than the sandbox offers say what to use. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { folderOfTest } from '../support/folders.ts';
import { code, javascript } from '../support/sandbox.ts';

const SUITE = code`
  const { test, describe, it, before, after, beforeEach, afterEach, mock } = require('node:test');
  const assert = require('node:assert');
  test('passes', () => assert.strictEqual(1, 1));
  test('passes later', async () => { await new Promise((resolve) => setTimeout(resolve, 5)); });
  test('fails', () => { assert.strictEqual(1, 2); });
  test('throws', () => { throw new TypeError('boom'); });
  test('throws text', () => { throw 'text'; });
  test('is skipped', { skip: true }, () => {});
  test('is skipped for a reason', { skip: 'no data # yet' }, () => {});
  test('is to do', { todo: true }, () => { throw new Error('later'); });
  test('has subtests', async (t) => {
    await t.test('first', () => {});
    await t.test('second', (inner) => { inner.diagnostic('a remark'); });
  });
  test('has a failed subtest', async (t) => {
    await t.test('bad', () => { assert.deepStrictEqual({ a: 1, b: ['x'] }, { a: 2, b: ['x'] }); });
  });
  test('calls back', (t, done) => { setTimeout(done, 1); });
  test('calls back with an error', (t, done) => { done(new Error('from callback')); });
  test('mocks', (t) => {
    const object = { method: () => 1 };
    const mocked = t.mock.method(object, 'method', () => 2);
    assert.strictEqual(object.method(), 2);
    assert.strictEqual(mocked.mock.callCount(), 1);
  });
  describe('suite', () => {
    const log = [];
    before(() => log.push('before'));
    beforeEach(() => log.push('each'));
    afterEach(() => log.push('end'));
    after(() => console.log(log.join()));
    it('one', () => { log.push('one'); });
    it('two', () => { log.push('two'); });
    it.skip('three', () => {});
    it.todo('four');
    describe('inner', () => { it('five', () => {}); });
  });
  describe('failing suite', () => { it('bad', () => { throw new Error('inside'); }); });
  describe('suite with a failing hook', () => { beforeEach(() => { throw new Error('hook'); }); it('never', () => {}); });
`;

/** Removes what depends on time, on paths and on the runner: durations, locations, stacks, and the program's own output. */
function normalized(report: string): string {
  const lines: string[] = [];
  let stackIndent: number | undefined;
  for (const line of report.split('\n')) {
    const indent = /^ */.exec(line)![0].length;
    if (stackIndent !== undefined && indent > stackIndent) continue;
    stackIndent = /^ *stack: \|-$/.test(line) ? indent : undefined;
    if (stackIndent !== undefined || /^ *location:|^before,/.test(line)) continue;
    lines.push(line.replace(/duration_ms:? [\d.]+/, 'duration_ms'));
  }
  return lines.join('\n');
}

describe('node:test', () => {
  test('prints the report of Node.js and sets the exit code', async () => {
    const folder = folderOfTest();
    writeFileSync(`${folder}/main.cjs`, SUITE);
    // A test runner announces itself to the processes that it starts in this variable.
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const host = spawnSync(process.execPath, [`${folder}/main.cjs`], { cwd: folder, env, encoding: 'utf8' });
    const result = await javascript(SUITE);
    expect(normalized(result.stdout), result.stderr).toBe(normalized(host.stdout));
    expect([result.exit_code, host.status]).toEqual([1, 1]);
    expect(result.stdout).toContain("location: '/app/main.js:5:1'");
    expect(result.stdout).toContain('before,each,one,end,each,two,end,each,end,each,end');
  });

  test('reports success, tests that never end and time limits', async () => {
    await using sandbox = await createSandbox({ runtime: 'javascript', auto_persist_globals: true });
    const good = await sandbox.execute(`import test from 'node:test'; await test('one', () => {});`);
    expect(good.exit_code, good.stderr).toBe(0);
    expect(good.stdout).toContain('# pass 1\n# fail 0\n');
    const pending = await sandbox.execute(`require('node:test')('waits', () => new Promise(() => {})); 0`);
    expect(pending.exit_code).toBe(1);
    expect(pending.stdout).toContain("failureType: 'cancelledByParent'");
    expect(pending.stdout).toContain('# cancelled 1\n');
    const slow = await sandbox.execute(
      `require('node:test')('slow', { timeout: 5 }, () => new Promise((resolve) => setTimeout(resolve, 50)));`,
    );
    expect(slow.stdout).toContain("failureType: 'testTimeoutFailure'\n  error: 'test timed out after 5ms'");
    expect(slow.exit_code).toBe(1);
  });
});

describe('AsyncLocalStorage', () => {
  test('returns no store after waiting for a value that is not a promise, and none that belongs to other code', async () => {
    const program = code`
      import { AsyncLocalStorage } from 'node:async_hooks';
      const storage = new AsyncLocalStorage();
      const seen = [];
      const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
      await Promise.all([
        storage.run('a', async () => { await 5; seen.push(storage.getStore() ?? 'none'); }),
        storage.run('b', async () => { await wait(1); seen.push(storage.getStore()); }),
        (async () => { await wait(1); seen.push(storage.getStore() ?? 'none'); })(),
      ]);
      setTimeout(() => seen.push(storage.getStore() ?? 'none'), 1);
      await wait(5);
      seen
    `;
    const result = await javascript(program);
    expect(result.metadata.result, result.stderr).toEqual(['none', 'b', 'none', 'none']);
  });

  test('does not hide unhandled rejections or change the order of promise jobs', async () => {
    const program = code`
      const { AsyncLocalStorage } = require('async_hooks');
      const log = [];
      const storage = new AsyncLocalStorage();
      async function steps(name) { for (let i = 0; i < 2; i++) { await Promise.resolve(); log.push(name + i); } }
      storage.run(1, () => { steps('a'); steps('b'); });
      steps('c');
      process.on('unhandledRejection', (reason) => console.log(log.join(), reason.message));
      storage.run(1, () => { Promise.resolve(Promise.reject(new Error('lost'))); });
    `;
    const result = await javascript(program);
    expect(result.stdout, result.stderr).toBe('a0,b0,c0,a1,b1,c1 lost\n');
  });
});

describe('process.exit', () => {
  test('leaves no promise jobs for the next call of a session', async () => {
    await using sandbox = await createSandbox({ runtime: 'javascript', auto_persist_globals: true });
    const first = await sandbox.execute(
      `Promise.resolve().then(() => console.log('job')); (async () => { await null; console.log('async'); })(); process.exit(2);`,
    );
    const second = await sandbox.execute(
      `Promise.resolve().then(() => console.log('own')); console.log('next');`,
    );
    expect([first.exit_code, first.stdout]).toEqual([2, '']);
    expect([second.exit_code, second.stdout]).toEqual([0, 'next\nown\n']);
  });
});

describe('modules that need more than the sandbox offers', () => {
  test('throw an error with a code and an alternative when a function is called', async () => {
    const program = code`
      const calls = [
        () => require('child_process').fork('x.js'), () => require('http').get('http://x'), () => require('net').connect(1),
        () => require('dns').lookup('x', () => {}), () => new (require('worker_threads').Worker)('x.js'),
        () => require('vm').runInNewContext('1'), () => require('v8').getHeapStatistics(),
        () => require('v8').serialize({}), () => require('path').win32.join('a'),
        () => require('crypto').generateKeyPairSync('rsa'), () => new (require('util').MIMEType)('a/b'), () => new (require('crypto').Sign)('sha256'),
        () => new (require('crypto').X509Certificate)('x'), () => require('crypto').checkPrimeSync(7n),
        () => require('path/win32').win32.parse('a'), () => require('url').pathToFileURL('x', { windows: true }), () => require('cluster').fork(),
        () => new (require('inspector').Session)(), () => require('zlib').brotliCompressSync('x'),
        () => require('async_hooks').createHook({}), () => require('node:test').run(),
        () => require('node:test').mock.timers.enable(), () => require('url').fileURLToPath('file:///C:/a', { windows: true }),
      ];
      console.log(JSON.stringify(calls.map((call) => { try { call(); return []; } catch (error) { return [error.code, error.message]; } })));
    `;
    const result = await javascript(program);
    const errors = JSON.parse(result.stdout) as [string, string][];
    expect(errors).toHaveLength(23);
    for (const [errorCode, message] of errors) {
      expect(errorCode).toBe('ERR_FEATURE_UNAVAILABLE_ON_PLATFORM');
      expect(message).toMatch(/ is not available in the sandbox\. [A-Z].*\.$/);
    }
  });
});
