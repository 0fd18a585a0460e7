import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Execution, FileType, type OutputMessage, Result, Sandbox } from 'llm-wasm-sandbox/adapters/e2b';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { folderOfTest } from '../support/folders.ts';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await Sandbox.create({
    timeoutMs: 600_000,
    envs: { CITY: 'Bern' },
    metadata: { purpose: 'test' },
    policy: { fuel_budget: 200_000_000 },
  });
});
afterAll(() => sandbox.kill());

describe('runCode', () => {
  test('keeps variables and returns output and the last value', async () => {
    await sandbox.runCode('x = 20');
    const chunks: OutputMessage[] = [];
    const execution = await sandbox.runCode('import os\nprint(os.environ["CITY"])\nx + 1', {
      onStdout: (message) => chunks.push(message),
    });
    expect(execution).toBeInstanceOf(Execution);
    expect(execution.text).toBe('21');
    expect(execution.logs).toEqual({ stdout: ['Bern\n'], stderr: [] });
    expect(chunks.map(({ line }) => line).join('')).toBe('Bern\n');
    expect(chunks[0]).toMatchObject({ error: false });
    expect(execution.executionCount).toBe(2);
    expect(JSON.parse(JSON.stringify(execution))).toMatchObject({ results: [{ text: '21' }] });
  });

  test('reports exceptions and limits as errors', async () => {
    const errors: unknown[] = [];
    const execution = await sandbox.runCode('1 / 0', { onError: (error) => errors.push(error) });
    expect(execution.error).toMatchObject({ name: 'ZeroDivisionError', value: 'division by zero' });
    expect(execution.error!.traceback).toContain('line 1');
    expect(errors).toEqual([execution.error]);
    const { error } = await sandbox.runCode('while True: pass');
    expect(error).toMatchObject({ name: 'OutOfFuel', value: expect.stringContaining('OutOfFuel') });
    expect((await sandbox.runCode('raise SystemExit(3)')).error).toMatchObject({
      name: 'SystemExit',
      value: '3',
    });
  });

  test('runs programs as they are written for notebooks, with files in /home/user', async () => {
    await sandbox.files.write('/home/user/in.txt', 'hello');
    const cell = "%matplotlib inline\n!pip install requests\nprint(open('/home/user/in.txt').read(), 1 / 0)";
    const { error } = await sandbox.runCode(cell);
    expect(error).toMatchObject({ name: 'ZeroDivisionError' });
    expect(error!.traceback).toMatch(/line 3[\s\S]*How to fix it:\n1\. /);
    const js = "require('fs').readFileSync('/home/user/in.txt', 'utf8')";
    expect((await sandbox.runCode(js, { language: 'js' })).text).toContain('hello');
    expect(await sandbox.files.exists('/home/user/in.txt')).toBe(true);
    expect((await sandbox.files.list('/home/user')).map(({ name }) => name)).toContain('in.txt');
    await sandbox.files.remove('/home/user/in.txt');
  });

  test.each(['!', '%'])('prints what %spip install says, which is no result', async (prefix) => {
    const { logs, results, error } = await sandbox.runCode(
      `${prefix}pip install requests\n${prefix}pip install numpy`,
    );
    expect(logs.stdout).toEqual(['Requirement already satisfied: requests\n']);
    expect(logs.stderr.join('')).toMatch(/^ERROR: cannot install numpy: .* packages add numpy\n$/);
    expect([results, error]).toEqual([[], undefined]);
  });

  test('prints what pip says with packages on demand, which is no result', async () => {
    const other = await Sandbox.create({ packages: 'auto' });
    const { logs, results } = await other.runCode('!pip install requests');
    expect(logs.stdout).toEqual(['Requirement already satisfied: requests\n']);
    expect(results).toEqual([]);
    await other.kill();
  });

  test('imports the packages of the options', async () => {
    const folder = folderOfTest();
    mkdirSync(join(folder, 'ours'));
    writeFileSync(join(folder, 'ours', '__init__.py'), 'answer = 42');
    const other = await Sandbox.create({ packages: [folder] });
    expect((await other.runCode('import ours; ours.answer')).text).toBe('42');
    await other.kill();
    await expect(Sandbox.create({ packages: ['no-such-package'] })).rejects.toThrow('no-such-package');
  });

  test('returns what programs display in its formats', async () => {
    const seen: Result[] = [];
    const code = 'display([{"a": 1}, {"a": 2}])\ndisplay("<b>x</b>", mime="text/html")';
    const { results } = await sandbox.runCode(code, { onResult: (result) => seen.push(result) });
    expect(seen).toEqual(results);
    expect(results[0]).toMatchObject({ data: { a: [1, 2] }, isMainResult: false });
    expect(results[0]!.formats()).toEqual(expect.arrayContaining(['markdown', 'data']));
    expect(results[1]).toMatchObject({ html: '<b>x</b>' });
    expect(results[1]!.formats()).toEqual(['html']);
  });

  test('reads images that are too large for a result from their file', async () => {
    const code =
      'import os, struct, zlib\nsize = 700\n' +
      'rows = b"".join(b"\\0" + os.urandom(size * 3) for i in range(size))\n' +
      'def chunk(t, d): return struct.pack(">I", len(d)) + t + d + struct.pack(">I", zlib.crc32(t + d))\n' +
      'png = b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows, 0)) + chunk(b"IEND", b"")\n' +
      'display(png, mime="image/png")';
    const big = await Sandbox.create();
    try {
      const { results, error } = await big.runCode(code);
      expect(error).toBeUndefined();
      expect(Buffer.from(results[0]!.png!, 'base64').length).toBeGreaterThan(1024 * 1024);
    } finally {
      await big.kill();
    }
  });
});

describe('contexts', () => {
  test('have their own variables and the same files', async () => {
    const context = await sandbox.createCodeContext({ language: 'python' });
    expect(context).toMatchObject({ language: 'python', cwd: '/home/user' });
    await sandbox.runCode('y = 1; open("shared.txt", "w").write("one")');
    const missing = await sandbox.runCode('y', { context });
    expect(missing.error?.name).toBe('NameError');
    expect((await sandbox.runCode('open("shared.txt").read()', { context })).text).toBe('one');
    await sandbox.runCode('import os; os.remove("shared.txt"); open("two.txt", "w").write("2")', { context });
    const other =
      'const { existsSync, readFileSync } = require("node:fs");\nconsole.log(existsSync("shared.txt"), readFileSync("two.txt", "utf8"))';
    const { logs } = await sandbox.runCode(other, { language: 'javascript' });
    expect(logs.stdout).toEqual(['false 2\n']);
    expect((await sandbox.runCode('const n: number = 4; n', { language: 'typescript' })).text).toBe('4');

    await sandbox.runCode('z = 1', { context });
    await sandbox.restartCodeContext(context);
    expect((await sandbox.runCode('z', { context })).error?.name).toBe('NameError');
    expect((await sandbox.runCode('open("two.txt").read()', { context })).text).toBe('2');
    await sandbox.removeCodeContext(context);
    expect((await sandbox.listCodeContexts()).map(({ id }) => id)).not.toContain(context.id);
    await expect(sandbox.runCode('1', { context })).rejects.toMatchObject({ code: 'session_not_found' });
  });
});

test('a context starts in its folder, which is created if it does not exist', async () => {
  await using other = await Sandbox.create();
  const bash = await other.createCodeContext({ language: 'bash', cwd: '/home/user/a/b' });
  expect(bash.cwd).toBe('/home/user/a/b');
  const { logs, executionCount } = await other.runCode('pwd; echo -n x > here', { context: bash });
  expect([logs.stdout, executionCount]).toEqual([['/home/user/a/b\n'], 1]);
  expect((await other.runCode('open("a/b/here").read()')).text).toBe('x');
  await other.restartCodeContext(bash);
  expect((await other.runCode('pwd', { context: bash })).logs.stdout).toEqual(['/home/user/a/b\n']);
  await expect(async () => other.createCodeContext({ cwd: '/tmp' })).rejects.toThrow(/not a path in the/);
  await expect(other.createCodeContext({ cwd: 'a/b/here' })).rejects.toMatchObject({ code: 'invalid_path' });
});

test('contexts receive a file that has replaced a folder, and a folder that has replaced a file', async () => {
  await using other = await Sandbox.create();
  await other.runCode("import os; os.mkdir('d'); open('d/x', 'w').write('1'); open('f', 'w').write('2')");
  const javascript = { language: 'javascript' };
  expect((await other.runCode("require('fs').readdirSync('d')[0]", javascript)).text).toBe('x');
  await other.runCode(
    "os.remove('d/x'); os.rmdir('d'); open('d', 'w').write('a'); os.remove('f'); os.mkdir('f'); open('f/y', 'w').write('b')",
  );
  const read = "['d', 'f/y'].map((path) => require('fs').readFileSync(path, 'utf8')).join('')";
  expect((await other.runCode(read, javascript)).text).toBe('ab');
});

describe('files', () => {
  test('are written, read, listed, renamed and removed', async () => {
    const { files } = sandbox;
    expect(await files.write('d/a.txt', 'hello')).toEqual({
      name: 'a.txt',
      type: 'file',
      path: '/home/user/d/a.txt',
    });
    await files.write([
      { path: 'd/e/b.bin', data: new Uint8Array([1, 2]).buffer },
      { path: '/home/user/d/c.txt', data: new Blob(['blob']) },
    ]);
    expect(await files.read('d/a.txt')).toBe('hello');
    expect(await files.read('d/e/b.bin', { format: 'bytes' })).toEqual(new Uint8Array([1, 2]));
    expect(await (await files.read('d/c.txt', { format: 'blob' })).text()).toBe('blob');
    const stream = await files.read('d/c.txt', { format: 'stream' });
    expect(await new Response(stream).text()).toBe('blob');
    expect((await files.list('d')).map(({ name, type }) => [name, type])).toEqual([
      ['a.txt', 'file'],
      ['c.txt', 'file'],
      ['e', FileType.DIR],
    ]);
    expect((await files.list('/app', { depth: 3 })).map(({ path }) => path)).toContain(
      '/home/user/d/e/b.bin',
    );
    expect([await files.exists('d'), await files.exists('d/a.txt'), await files.exists('d/x')]).toEqual([
      true,
      true,
      false,
    ]);
    expect(await files.rename('d/a.txt', 'd/z.txt')).toMatchObject({ name: 'z.txt', size: 5 });
    await files.remove('d/e');
    expect((await files.list('d')).map(({ name }) => name)).toEqual(['c.txt', 'z.txt']);
    await expect(files.remove('d/e')).rejects.toMatchObject({ code: 'file_not_found' });
    await expect(files.read('none')).rejects.toMatchObject({ code: 'file_not_found' });
    await expect(files.read('/home/other/x')).rejects.toMatchObject({ code: 'invalid_path' });
  });
});

describe('sandbox', () => {
  test('rejects unavailable features with a reason', async () => {
    await expect(sandbox.commands['run']!()).rejects.toThrow(
      'commands.run is not available: there are no processes',
    );
    await expect(sandbox.files.makeDir('x')).rejects.toThrow('files.makeDir is not available');
    await expect(Sandbox.connect('x')).rejects.toThrow('connect is not available');
    expect(() => sandbox.getHost(80)).toThrow('no network');
    await expect(sandbox.runCode('1', { language: 'r' })).rejects.toThrow('language: "r" is not available');
    await expect(sandbox.runCode('1', { envs: { A: 'b' } as never })).rejects.toThrow(
      'envs.A: set environment variables with Sandbox.create({ envs })',
    );
    await expect(Sandbox.create('base' as never)).rejects.toThrow('Templates are not available');
    await expect(Sandbox.create({ allowInternetAccess: true as never })).rejects.toThrow('no network');
    await expect(Sandbox.create({ mcp: {} } as never)).rejects.toMatchObject({ code: 'invalid_argument' });
  });

  test('ends when it is killed or its time is up', async () => {
    const other = await Sandbox.create();
    expect(await other.getInfo()).toMatchObject({ state: 'running', sandboxId: other.sandboxId });
    const running = other.runCode('while True: pass');
    const failed = expect(running).rejects.toMatchObject({ code: 'sandbox_closed' });
    expect(await other.kill()).toBe(true);
    await failed;
    expect(await other.kill()).toBe(false);
    expect(await other.isRunning()).toBe(false);
    await expect(other.runCode('1')).rejects.toMatchObject({ code: 'sandbox_closed' });
    const brief = await Sandbox.create();
    await brief.setTimeout(1);
    await expect.poll(() => brief.isRunning(), { timeout: 60_000 }).toBe(false);
  });

  test('constructs results as E2B does', () => {
    const result = new Result({ text: '1', chart: { type: 'line' } }, true);
    expect([result.formats(), result.toJSON()]).toEqual([['text', 'chart'], { text: '1' }]);
  });
});
