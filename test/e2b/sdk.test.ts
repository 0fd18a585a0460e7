/** The published SDKs of E2B, unchanged, against `serve --e2b`. */
import type { HttpServer } from 'llm-wasm-sandbox/mcp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startHttp } from '../support/mcp.ts';
import { connection, loadSdk, type Sdk } from './load-sdk.ts';

const ANN = 'ann-secret-0123456789';
const BOB = 'bob-secret-0123456789';
const TIMEOUT_MS = 300_000;

let server: HttpServer;
let e2b: Sdk;
let ann: { apiUrl: string; sandboxUrl: string; apiKey: string };
let Sandbox: Sdk;
let sandbox: Sdk;

beforeAll(async () => {
  e2b = await loadSdk();
  Sandbox = e2b.Sandbox;
  server = await startHttp({ e2b: true, tokens: [`ann=${ANN}`, `bob=${BOB}`], rate_per_minute: 100_000 });
  ann = connection(server, ANN);
  sandbox = await Sandbox.create({ ...ann, envs: { CITY: 'Bern' }, metadata: { user: 'ann b', ü: 'é' } });
}, TIMEOUT_MS);
afterAll(async () => {
  await sandbox?.kill();
  await server?.close();
}, TIMEOUT_MS);

describe('runCode', { timeout: TIMEOUT_MS }, () => {
  test('keeps variables and streams output', async () => {
    await sandbox.runCode('x = 20');
    const lines: string[] = [];
    const execution = await sandbox.runCode('import os\nprint(os.environ["CITY"], "é€😀")\nx + 1', {
      onStdout: ({ line }: { line: string }) => lines.push(line),
    });
    expect(execution.text).toBe('21');
    expect(execution.logs).toEqual({ stdout: ['Bern é€😀\n'], stderr: [] });
    expect(lines.join('')).toBe('Bern é€😀\n');
    expect(execution.executionCount).toBe(2);
  });

  test('reports exceptions with guidance', async () => {
    const { error } = await sandbox.runCode('1 / 0');
    expect(error).toMatchObject({ name: 'ZeroDivisionError', value: 'division by zero' });
    expect(error.traceback).toMatch(/line 1[\s\S]*How to fix it:\n1\. /);
  });

  test('returns tables, HTML and images in their formats', async () => {
    const code = 'display([{"a": 1}, {"a": 2}])\ndisplay("<b>x</b>", mime="text/html")';
    const { results } = await sandbox.runCode(code);
    expect(results[0].data).toEqual({ a: [1, 2] });
    expect(results[1]).toMatchObject({ html: '<b>x</b>', isMainResult: false });
  });

  // guarantee: e2b
  // proves: A program cannot write lines of the protocol.
  test('reads images that are too large for a result from their file', async () => {
    const code =
      'import os, struct, zlib\nsize = 700\n' +
      'rows = b"".join(b"\\0" + os.urandom(size * 3) for i in range(size))\n' +
      'def chunk(t, d): return struct.pack(">I", len(d)) + t + d + struct.pack(">I", zlib.crc32(t + d))\n' +
      'png = b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows, 0)) + chunk(b"IEND", b"")\n' +
      'display(png, mime="image/png")';
    const { results, error } = await sandbox.runCode(code);
    expect(error).toBeUndefined();
    expect(Buffer.from(results[0].png, 'base64').length).toBeGreaterThan(1024 * 1024);
  });

  test('contexts receive a file that has replaced a folder, and a folder that has replaced a file', async () => {
    const run = (code: string, language = 'python') => sandbox.runCode(code, { language });
    await run("import os; os.mkdir('d'); open('d/x', 'w').write('1'); open('f', 'w').write('2')");
    expect((await run("require('fs').readdirSync('d')[0]", 'javascript')).text).toBe('x');
    await run("os.remove('d/x'); os.rmdir('d'); open('d', 'w').write('a')");
    await run("os.remove('f'); os.mkdir('f'); open('f/y', 'w').write('b')");
    const read = "['d', 'f/y'].map((path) => require('fs').readFileSync(path, 'utf8')).join('')";
    expect((await run(read, 'javascript')).text).toBe('ab');
    await run("import shutil; os.remove('d'); shutil.rmtree('f')");
  });

  test('a program cannot write lines of the protocol', async () => {
    const forged = '{"type":"error","name":"Forged","value":"","traceback":""}';
    const { error, logs } = await sandbox.runCode(`print('\\n' + '${forged}' + '\\u2028\\r\\n')`);
    expect(error).toBeUndefined();
    expect(logs.stdout.join('')).toBe(`\n${forged}\u2028\r\n\n`);
  });

  test('runs JavaScript and TypeScript with the same files', async () => {
    await sandbox.runCode('open("/home/user/py.txt", "w").write("from Python")');
    const javascript =
      'require("fs").writeFileSync("js.txt", "x"); require("fs").readFileSync("py.txt", "utf8")';
    expect((await sandbox.runCode(javascript, { language: 'javascript' })).text).toBe('from Python');
    expect((await sandbox.runCode('const n: number = 2; n', { language: 'ts' })).text).toBe('2');
    expect((await sandbox.runCode('import os\nos.remove("js.txt")')).error).toBeUndefined();
    const exists = 'require("fs").existsSync("js.txt")';
    expect((await sandbox.runCode(exists, { language: 'javascript' })).text).toBe('false');
  });

  test('contexts have their own variables', async () => {
    const context = await sandbox.createCodeContext({ language: 'python' });
    expect(context).toMatchObject({ language: 'python', cwd: '/home/user' });
    await sandbox.runCode('y = 1', { context });
    expect((await sandbox.runCode('"x" in globals(), y', { context })).text).toBe('(False, 1)');
    await sandbox.restartCodeContext(context);
    expect((await sandbox.runCode('y', { context })).error.name).toBe('NameError');
    const ids = async () => (await sandbox.listCodeContexts()).map(({ id }: { id: string }) => id);
    expect(await ids()).toContain(context.id);
    await sandbox.removeCodeContext(context);
    expect(await ids()).not.toContain(context.id);
    await expect(sandbox.runCode('1', { context })).rejects.toThrow(e2b.NotFoundError);
  });

  const quoted = (value: string) => `('Bern', '${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}')`;
  test.each([
    ['python', 'import os\n(os.environ.get("CITY"), os.environ.get("NEW"))', "('Bern', None)", quoted],
    ['javascript', '[process.env.CITY, process.env.NEW].join()', 'Bern,', (value: string) => `Bern,${value}`],
    ['bash', 'echo "$CITY,$NEW"', 'Bern,', (value: string) => `Bern,${value}`],
  ])('has environment variables of one call in %s', async (language, code, before, after) => {
    const read = async (envs?: Record<string, string>) => {
      const { text, logs } = await sandbox.runCode(code, { language, envs });
      return (text ?? logs.stdout.join('')).trim();
    };
    const value = `it's "x" $HOME \\n é`;
    expect(await read()).toBe(before);
    expect(await read({ NEW: value })).toBe(after(value));
    expect(await read()).toBe(before);
    const run = (envs: Record<string, string>) => sandbox.runCode(code, { language, envs });
    await expect(run({ 'a b': '1' })).rejects.toThrow(/env_vars/);
    expect(await read({ CITY: 'Basel' })).toBe(before.replace('Bern', 'Basel'));
    expect(await read()).toBe(before);
  });

  test('a context starts in its folder, in every language, also when it starts again', async () => {
    const pwd = {
      python: 'import os; print(os.getcwd(), os.environ.get("MODE"))',
      javascript: 'console.log(process.cwd(), process.env.MODE)',
      typescript: 'const at: string = process.cwd(); console.log(at, process.env.MODE)',
      bash: 'echo "$(pwd) $MODE"',
    };
    for (const [language, code] of Object.entries(pwd)) {
      const cwd = `/home/user/contexts/${language}`;
      const context = await sandbox.createCodeContext({ language, cwd });
      expect(context).toMatchObject({ language, cwd });
      const { logs, executionCount } = await sandbox.runCode(code, { context, envs: { MODE: 'first' } });
      expect(logs).toEqual({ stdout: [`${cwd} first\n`], stderr: [] });
      expect(executionCount).toBe(1);
      expect(await sandbox.listCodeContexts()).toContainEqual({ id: context.id, language, cwd });
      await sandbox.restartCodeContext(context);
      expect((await sandbox.runCode(code, { context })).logs.stdout[0]).toMatch(`${cwd} `);
      await sandbox.removeCodeContext(context);
    }
    expect((await sandbox.runCode(pwd.python)).logs.stdout).toEqual(['/home/user None\n']);
  });

  test('the folder of a context can exist, be behind a link and have modules', async () => {
    await sandbox.files.write('modules/deep/given.py', 'value = 7');
    await sandbox.runCode('import os\nos.symlink("modules", "way")');
    const context = await sandbox.createCodeContext({ cwd: 'way/./deep' });
    expect(context.cwd).toBe('/home/user/way/deep');
    const code = 'import os, given\nopen("made", "w").write("x"); (given.value, os.getcwd())';
    expect((await sandbox.runCode(code, { context })).text).toBe("(7, '/home/user/modules/deep')");
    expect(await sandbox.files.read('modules/deep/made')).toBe('x');
    await sandbox.removeCodeContext(context);
  });

  test('a context has its folder after a pause, and starts in the home folder without it', async () => {
    const one = await Sandbox.create(ann);
    const kept = await one.createCodeContext({ cwd: '/home/user/kept' });
    const lost = await one.createCodeContext({ cwd: '/home/user/lost' });
    await one.runCode('import os; x = 1', { context: kept });
    await one.files.remove('lost');
    await one.pause();
    const again = await Sandbox.connect(one.sandboxId, ann);
    expect(await again.listCodeContexts()).toContainEqual(kept);
    expect((await again.runCode('x, os.getcwd()', { context: kept })).text).toBe("(1, '/home/user/kept')");
    const code = 'import os; os.getcwd()';
    expect((await again.runCode(code, { context: lost })).text).toBe('/home/user');
    await again.pause({ keepMemory: false });
    const restarted = await Sandbox.connect(one.sandboxId, ann);
    expect((await restarted.runCode(code, { context: kept })).text).toBe('/home/user/kept');
    await restarted.kill();
  });

  test('a context has no folder outside of the workspace, and none that is a file', async () => {
    await sandbox.files.write('plain', 'text');
    await sandbox.runCode('import os\nos.symlink("/tmp", "out")');
    const before = await sandbox.listCodeContexts();
    for (const cwd of ['/tmp', '/', '/home/user/../other', '../..', '/home/username', 'a\0b'])
      await expect(sandbox.createCodeContext({ cwd })).rejects.toThrow(/is not a path in \/home\/user/);
    for (const cwd of ['plain', 'plain/below', 'out', 'out/below'])
      await expect(sandbox.createCodeContext({ cwd })).rejects.toThrow(/is not a folder/);
    await expect(sandbox.createCodeContext({ cwd: '/tmp' })).rejects.toBeInstanceOf(e2b.SandboxError);
    expect(await sandbox.listCodeContexts()).toEqual(before);
  });

  test('runs a cell that is indented as a whole', async () => {
    expect((await sandbox.runCode("\n    if True:\n        s = 'a'\n\n    s * 2\n    ")).text).toBe('aa');
    expect((await sandbox.runCode('1\n  2')).error.name).toBe('IndentationError');
  });

  test('runs magic commands of IPython, and reports those that do not exist', async () => {
    const cell = '%matplotlib inline\n%load_ext autoreload\n%autoreload 2\nhome = %env HOME\nhome';
    expect((await sandbox.runCode(cell)).text).toBe('/home/user');
    const timed = await sandbox.runCode('%%time\n21 * 2');
    expect(timed.text).toBe('42');
    expect(timed.logs.stdout.join('')).toMatch(/^CPU times: .*\nWall time: .*\n$/);
    const { error, logs } = await sandbox.runCode('print(1)\n%nosuch');
    expect(error).toMatchObject({ name: 'UsageError', value: 'Line magic function `%nosuch` not found.' });
    expect(logs.stdout).toEqual(['1\n']);
  });

  test('has /home/user as the home folder of every program', async () => {
    const code =
      "import os\nopen('/home' + '/user/composed', 'w').write('x'); os.getcwd(), os.path.expanduser('~')";
    expect((await sandbox.runCode(code)).text).toBe("('/home/user', '/home/user')");
    const { stdout } = await sandbox.commands.run(
      'pwd; cd /; find ~ -name composed; python3 -c "import os; print(os.getcwd())"',
    );
    expect(stdout).toBe('/home/user\n/home/user/composed\n/\n');
    const copy = await sandbox.fork();
    const [fork] = Array.isArray(copy) ? copy : [copy];
    expect((await fork.commands.run('pwd')).stdout).toBe('/home/user\n');
    await fork.kill();
  });

  test('refuses languages that do not exist', async () => {
    await expect(sandbox.runCode('1', { language: 'r' })).rejects.toThrow(/language: "r" is not available/);
    await expect(sandbox.runCode('1', { language: 'r' })).rejects.toThrow(e2b.SandboxError);
  });

  test('a client that gives up cancels its program', async () => {
    await expect(sandbox.runCode('while True: pass', { timeoutMs: 300 })).rejects.toThrow(e2b.TimeoutError);
    expect((await sandbox.runCode('x')).text).toBe('20');
  });
});

describe('files', { timeout: TIMEOUT_MS }, () => {
  test('are written as form, stream and gzip, and read in every format', async () => {
    const written = await sandbox.files.write('a/ü.txt', 'text');
    expect(written).toEqual({ name: 'ü.txt', type: 'file', path: '/home/user/a/ü.txt', metadata: undefined });
    expect(await sandbox.files.read('/home/user/a/ü.txt')).toBe('text');
    await sandbox.files.write([
      { path: 'm/1.bin', data: new Uint8Array([0, 255]).buffer },
      { path: 'm/2.txt', data: new Blob(['two']) },
    ]);
    expect([...(await sandbox.files.read('m/1.bin', { format: 'bytes' }))]).toEqual([0, 255]);
    expect(await (await sandbox.files.read('m/2.txt', { format: 'blob' })).text()).toBe('two');
    await sandbox.files.write('s.txt', new Blob(['streamed']).stream());
    expect(await new Response(await sandbox.files.read('s.txt', { format: 'stream' })).text()).toBe(
      'streamed',
    );
    await sandbox.files.write('z.txt', 'zipped', { gzip: true });
    expect(await sandbox.files.read('z.txt')).toBe('zipped');
    await sandbox.files.write('empty', '');
    expect(await sandbox.files.read('empty')).toBe('');
  });

  test('are refused outside of the home folder, and beyond the quota', async () => {
    await expect(sandbox.files.read('missing')).rejects.toThrow(e2b.FileNotFoundError);
    await expect(sandbox.files.read('/etc/passwd')).rejects.toThrow(e2b.FileNotFoundError);
    await expect(sandbox.files.read('../../etc/passwd')).rejects.toThrow(e2b.FileNotFoundError);
    await expect(sandbox.files.write('/etc/passwd', '')).rejects.toThrow(e2b.InvalidArgumentError);
    await expect(sandbox.files.read('a', { user: 'root' })).rejects.toThrow(e2b.InvalidArgumentError);
    await expect(sandbox.files.write('big', 'x'.repeat(5_000_000))).rejects.toThrow(/413: Payload Too Large/);
    const zeros = new Uint8Array(100_000_000);
    await expect(sandbox.files.write('bomb', zeros.buffer, { gzip: true })).rejects.toThrow(
      e2b.NotEnoughSpaceError,
    );
  });

  test('have signed URLs', async () => {
    const upload = await sandbox.uploadUrl('up.txt', { useSignatureExpiration: 60 });
    const form = new FormData();
    form.append('file', new Blob(['uploaded']), 'another name');
    expect((await fetch(upload, { method: 'POST', body: form })).status).toBe(200);
    const download = await sandbox.downloadUrl('up.txt');
    expect(await (await fetch(download)).text()).toBe('uploaded');
    for (const change of ['js.txt', 'up.txt/../a'])
      expect((await fetch(download.replace('up.txt', encodeURIComponent(change)))).status).toBe(401);
    expect((await fetch(download, { method: 'POST', body: 'x' })).status).toBe(401);
    const expired = await sandbox.downloadUrl('up.txt', { useSignatureExpiration: -10 });
    expect((await fetch(expired)).status).toBe(401);
  });
});

describe('folders', { timeout: TIMEOUT_MS }, () => {
  test('are made, listed, moved and removed', async () => {
    expect(await sandbox.files.makeDir('d/e')).toBe(true);
    expect(await sandbox.files.makeDir('d/e')).toBe(false);
    await sandbox.files.write('d/e/f.txt', 'abc');
    const paths = async (path: string, depth?: number) =>
      (await sandbox.files.list(path, { depth })).map((one: { path: string }) => one.path);
    expect(await paths('d')).toEqual(['/home/user/d/e']);
    expect(await paths('d', 2)).toEqual(['/home/user/d/e', '/home/user/d/e/f.txt']);
    expect(await sandbox.files.getInfo('d/e/f.txt')).toMatchObject({
      name: 'f.txt',
      type: 'file',
      size: 3,
      permissions: '-rw-r--r--',
      modifiedTime: expect.any(Date),
    });
    expect(await sandbox.files.rename('d/e', 'x/y')).toMatchObject({ path: '/home/user/x/y', type: 'dir' });
    expect((await sandbox.runCode('import os; os.listdir("x/y"), os.listdir("d")')).text).toBe(
      "(['f.txt'], [])",
    );
    expect(await sandbox.files.exists('x/y/f.txt')).toBe(true);
    await sandbox.files.remove('x');
    expect(await sandbox.files.exists('x/y/f.txt')).toBe(false);
    for (const call of [
      () => sandbox.files.list('missing'),
      () => sandbox.files.rename('missing', 'y'),
      () => sandbox.files.getInfo('/etc'),
    ])
      await expect(call()).rejects.toThrow(e2b.FileNotFoundError);
    await sandbox.files.write('file', '');
    for (const call of [
      () => sandbox.files.makeDir('file/in'),
      () => sandbox.files.rename('d', 'd/in'),
      () => sandbox.files.list('file'),
      () => sandbox.files.makeDir('../up'),
    ])
      await expect(call()).rejects.toThrow(e2b.InvalidArgumentError);
  });

  test('report what changes in them, whoever changes it', async () => {
    const seen: string[] = [];
    const add = ({ type, name }: { type: string; name: string }) => seen.push(`${type} ${name}`);
    await sandbox.files.makeDir('w/sub');
    const shallow: string[] = [];
    const handle = await sandbox.files.watchDir('w', add, { recursive: true });
    const other = await sandbox.files.watchDir('w', ({ name }: { name: string }) => shallow.push(name));
    await sandbox.files.write('w/a', '1');
    await sandbox.runCode('open("w/sub/b", "w").write("2")');
    await sandbox.commands.run('echo 3 > w/c');
    await expect
      .poll(() => seen, { timeout: 20_000 })
      .toEqual(
        expect.arrayContaining(['create a', 'write a', 'create sub/b', 'write sub/b', 'create c', 'write c']),
      );
    await sandbox.files.rename('w/a', 'w/z');
    await sandbox.files.remove('w/sub');
    await expect
      .poll(() => seen, { timeout: 20_000 })
      .toEqual(expect.arrayContaining(['rename a', 'create z', 'remove sub', 'remove sub/b']));
    await expect
      .poll(() => shallow, { timeout: 20_000 })
      .toEqual(expect.arrayContaining(['a', 'c', 'z', 'sub']));
    expect(shallow).not.toContain('sub/b');
    await handle.stop();
    await other.stop();
    await expect(sandbox.files.watchDir('missing', add)).rejects.toThrow(e2b.FileNotFoundError);
  });
});

describe('commands', { timeout: TIMEOUT_MS }, () => {
  test('run in bash with the files and variables of the sandbox', async () => {
    await sandbox.files.write('in.txt', 'b\na\n');
    const command =
      'sort /home/user/in.txt | tr a-z A-Z; echo "$CITY $X"; echo problem >&2; echo new > out.txt';
    const result = await sandbox.commands.run(command, { envs: { X: '1 2' } });
    expect(result).toMatchObject({ exitCode: 0, stdout: 'A\nB\nBern 1 2\n', stderr: 'problem\n' });
    expect((await sandbox.runCode('open("out.txt").read()')).text).toBe('new\\n');
    await sandbox.files.makeDir('folder');
    expect((await sandbox.commands.run('pwd', { cwd: 'folder' })).stdout).toBe('/home/user/folder\n');
    const programs = await sandbox.commands.run('python3 -c "print(6 * 7)"; node -e "console.log(1)"');
    expect(programs.stdout).toBe('42\n1\n');
  });

  test('report their exit code, also in the message of the error', async () => {
    await expect(sandbox.commands.run('exit 3')).rejects.toMatchObject({
      constructor: e2b.CommandExitError,
      exitCode: 3,
      message: 'exit status 3',
    });
    await expect(sandbox.commands.run('nosuchcommand')).rejects.toMatchObject({
      exitCode: 127,
      message: 'exit status 127',
      stderr: expect.stringContaining('nosuchcommand: command not found'),
    });
    await expect(sandbox.commands.run('true', { user: 'root' })).rejects.toThrow(e2b.InvalidArgumentError);
    await expect(sandbox.commands.run('true', { cwd: 'missing' })).rejects.toThrow(e2b.NotFoundError);
  });

  test('stream output, read input and can be killed', async () => {
    const handle = await sandbox.commands.run('read line; echo "got $line"; cat', {
      background: true,
      stdin: true,
    });
    const { pid } = handle;
    expect(await sandbox.commands.list()).toMatchObject([{ pid, cmd: '/bin/bash' }]);
    await sandbox.commands.sendStdin(pid, 'first\n');
    await handle.sendStdin('second\n');
    await handle.closeStdin();
    expect((await handle.wait()).stdout).toBe('got first\nsecond\n');
    const lines: string[] = [];
    const forever = await sandbox.commands.run('echo started; sleep 1000', {
      background: true,
      onStdout: (text: string) => lines.push(text),
    });
    await expect.poll(() => lines.join(''), { timeout: 20_000 }).toBe('started\n');
    const connected = await sandbox.commands.connect(forever.pid);
    await forever.disconnect();
    expect(await connected.kill()).toBe(true);
    await expect(connected.wait()).rejects.toMatchObject({ exitCode: 137, error: 'signal: killed' });
    expect(await sandbox.commands.kill(forever.pid)).toBe(false);
    expect(await sandbox.commands.list()).toEqual([]);
  });

  test('end when their time is over', async () => {
    await expect(sandbox.commands.run('sleep 1000', { timeoutMs: 500 })).rejects.toThrow(e2b.TimeoutError);
    await expect.poll(() => sandbox.commands.list(), { timeout: 20_000 }).toEqual([]);
  });

  test('have no terminals', async () => {
    const terminal = sandbox.pty.create({ cols: 80, rows: 24, onData: () => {} });
    await expect(terminal).rejects.toThrow(/There are no terminals/);
    await expect(terminal).rejects.toThrow(e2b.SandboxError);
  });
});

describe('sandbox', { timeout: TIMEOUT_MS }, () => {
  test('has information and metrics, and is listed by its metadata', async () => {
    const { sandboxId } = sandbox;
    expect(await sandbox.getInfo()).toMatchObject({
      sandboxId,
      state: 'running',
      metadata: { user: 'ann b' },
    });
    expect(await sandbox.isRunning()).toBe(true);
    expect((await sandbox.getMetrics())[0]).toMatchObject({ cpuCount: 1, diskTotal: 64 * 1024 * 1024 });
    const now = Date.now();
    const metricsBetween = (from: number, to: number) =>
      sandbox.getMetrics({ start: new Date(now + from), end: new Date(now + to) });
    expect(await metricsBetween(-60_000, 0)).toHaveLength(1);
    expect(await metricsBetween(-120_000, -60_000)).toEqual([]);
    const listed = async (query: object) => (await Sandbox.list({ ...ann, query }).nextItems()).length;
    expect(await listed({ metadata: { user: 'ann b', ü: 'é' } })).toBe(1);
    expect(await listed({ metadata: { user: 'bob' } })).toBe(0);
    expect(await listed({ state: ['paused'] })).toBe(0);
  });

  test('lists come in pages', async () => {
    const others = await Promise.all([1, 2].map((n) => Sandbox.create({ ...ann, metadata: { n: `${n}` } })));
    const pages = Sandbox.list({ ...ann, limit: 2 });
    const found: string[] = [];
    while (pages.hasNext) for (const { sandboxId } of await pages.nextItems()) found.push(sandboxId);
    expect(new Set(found).size).toBe(3);
    expect(found).toHaveLength(3);
    await Promise.all(others.map((one) => one.kill()));
  });

  test('keeps variables and files while it is paused', async () => {
    const one = await Sandbox.create(ann);
    await one.runCode('kept = 7; open("f", "w").write("f")');
    expect(await one.pause()).toBe(true);
    expect(await one.pause()).toBe(false);
    expect(await one.isRunning()).toBe(false);
    await expect(one.runCode('1')).rejects.toThrow(e2b.TimeoutError);
    expect((await one.getInfo()).state).toBe('paused');
    const again = await Sandbox.connect(one.sandboxId, ann);
    expect((await again.runCode('kept, open("f").read()')).text).toBe("(7, 'f')");
    await again.pause({ keepMemory: false });
    await again.connect();
    expect((await again.runCode('"kept" in globals(), open("f").read()')).text).toBe("(False, 'f')");
    expect(await again.kill()).toBe(true);
    expect(await again.kill()).toBe(false);
    await expect(Sandbox.connect(one.sandboxId, ann)).rejects.toThrow(e2b.SandboxNotFoundError);
  });

  test('ends after its timeout, or is paused and resumes by itself', async () => {
    const one = await Sandbox.create({ ...ann, timeoutMs: 1000 });
    const two = await Sandbox.create({
      ...ann,
      timeoutMs: 1000,
      lifecycle: { onTimeout: 'pause', autoResume: true },
    });
    await two.runCode('kept = 1');
    await expect.poll(() => one.isRunning(), { timeout: 20_000, interval: 200 }).toBe(false);
    await expect(one.getInfo()).rejects.toThrow(e2b.SandboxNotFoundError);
    const state = async () => (await two.getInfo()).state;
    await expect.poll(state, { timeout: 20_000, interval: 200 }).toBe('paused');
    expect((await two.runCode('kept')).text).toBe('1');
    await two.setTimeout(60_000);
    expect(await state()).toBe('running');
    await two.kill();
  });

  test('can be forked, and restored from a snapshot after it has ended', async () => {
    const one = await Sandbox.create(ann);
    await one.runCode('n = 1; open("f", "w").write("f")');
    await one.runCode('let m = 5', { language: 'javascript' });
    const [fork, second] = await one.fork({ count: 2 });
    expect((await fork.runCode('n += 1; n')).text).toBe('2');
    expect((await second.runCode('m', { language: 'javascript' })).text).toBe('5');
    expect((await one.runCode('n')).text).toBe('1');
    const { snapshotId, names } = await one.createSnapshot({ name: 'first' });
    expect(names).toEqual(['first']);
    expect(await one.listSnapshots().nextItems()).toEqual([{ snapshotId, names }]);
    for (const sandboxOf of [one, fork, second]) await sandboxOf.kill();
    const restored = await Sandbox.create(snapshotId, ann);
    expect((await restored.runCode('n, open("f").read()')).text).toBe("(1, 'f')");
    await restored.kill();
    expect(await Sandbox.deleteSnapshot(snapshotId, ann)).toBe(true);
    expect(await Sandbox.deleteSnapshot(snapshotId, ann)).toBe(false);
  });

  test('belongs to its tenant', async () => {
    const bob = connection(server, BOB);
    const { sandboxId } = sandbox;
    await expect(Sandbox.connect(sandboxId, bob)).rejects.toThrow(e2b.SandboxNotFoundError);
    await expect(Sandbox.getInfo(sandboxId, bob)).rejects.toThrow(e2b.SandboxNotFoundError);
    expect(await Sandbox.kill(sandboxId, bob)).toBe(false);
    expect(await Sandbox.list(bob).nextItems()).toEqual([]);
    const unknown = { ...bob, apiKey: 'unknown-secret-0123456789' };
    await expect(Sandbox.create(unknown)).rejects.toThrow(e2b.AuthenticationError);
    await expect(Sandbox.create(unknown)).rejects.toThrow(/Set E2B_API_KEY to the secret of a token/);
  });
});
