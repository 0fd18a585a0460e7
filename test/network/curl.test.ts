/** The commands curl and wget, compared with those of this machine if there are any. */
import { execFile } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSandbox, type Sandbox } from 'llm-wasm-sandbox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { folderOfFile } from '../support/folders.ts';
import { type LoopbackServer, startLoopbackServer } from '../support/loopback-server.ts';

const CURL = '/usr/bin/curl';
const WGET = '/usr/bin/wget';
const folder = folderOfFile();
/** An empty file: wget of the machine uses no settings of its user. */
const SETTINGS = join(folder, 'wgetrc');
let server: LoopbackServer;
let sandbox: Sandbox;

beforeAll(async () => {
  writeFileSync(SETTINGS, '');
  server = await startLoopbackServer({
    '/dated': (_, response) => {
      response.setHeader('date', 'Thu, 01 Jan 2026 00:00:00 GMT');
      response.setHeader('connection', 'close');
      response.setHeader('content-length', '3');
      response.end('abc');
    },
    '/nowhere': (_, response) => response.writeHead(302, { location: 'http://[' }).end(),
    '/login': (request, response) => {
      if (request.headers.authorization === undefined)
        response.setHeader('www-authenticate', 'Basic realm="here"').writeHead(401).end();
      else response.end(request.headers.authorization);
    },
    '/kept': (_, response) => response.writeHead(307, { location: '/echo' }).end(),
    '/expiring': (_, response) => {
      response.setHeader('set-cookie', ['sid=1; Path=/; HttpOnly', 'gone=1; Max-Age=0', 'deep=2; Path=/a']);
      response.end('ok');
    },
  });
  sandbox = await createSandbox({
    runtime: 'python',
    policy: {
      network: {
        allow: [`${server.origin}/*`, 'http://127.0.0.1:1/*', 'http://nowhere.invalid/*'],
        limits: { requests: 10_000 },
      },
    },
  });
});
afterAll(async () => {
  await sandbox[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command line in the sandbox. */
async function inSandbox(argv: readonly string[], input = ''): Promise<Ran> {
  const words = argv.map((word) => word.replaceAll('ORIGIN', server.origin));
  const { stdout, stderr } = await sandbox.execute(
    `import json, subprocess
ran = subprocess.run(${JSON.stringify(words)}, input=${JSON.stringify(input)}.encode(), capture_output=True)
print(json.dumps({'code': ran.returncode, 'stdout': ran.stdout.decode('latin-1'), 'stderr': ran.stderr.decode()}))`,
  );
  expect(stderr).toBe('');
  return JSON.parse(stdout) as Ran;
}

function onMachine(argv: readonly string[], input = ''): Promise<Ran> {
  const [command, ...words] = argv.map((word) => word.replaceAll('ORIGIN', server.origin));
  const isCurl = command === 'curl';
  return new Promise((resolve) => {
    const env = { PATH: process.env['PATH'], LC_ALL: 'C.UTF-8', WGETRC: SETTINGS };
    const options = { cwd: folder, encoding: isCurl ? 'latin1' : 'utf8', env } as const;
    const own = isCurl ? ['-q', ...words] : ['-t1', ...words];
    const child = execFile(command!, own, options, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
    );
    // A command can end before it reads its input.
    child.stdin!.on('error', () => {});
    child.stdin!.end(input);
  });
}

/** What differs from request to request, or is set by the host. */
const comparable = ({ code, stdout, stderr }: Ran): Ran => ({
  code,
  stdout: stdout
    .replaceAll(/-{24}[\da-f]{16}/g, 'BOUNDARY')
    .replaceAll(
      /"(?:content-length|connection|accept-encoding|transfer-encoding|expect|host)":"[^"]*",?/g,
      '',
    )
    .replaceAll(/"rawHeaders":\[.*?\],/g, '')
    .replaceAll(/(?:connection|keep-alive|date|transfer-encoding): .*\r\n/gi, '')
    .replaceAll(/,\}/g, '}'),
  stderr: stderr.replaceAll(/after \d+ m/g, 'after N m'),
});

const ECHO = 'ORIGIN/echo';
const SAME: readonly (readonly string[])[] = [
  ['-s', 'ORIGIN/csv'],
  ['-sS', 'ORIGIN/missing'],
  ['-sSf', 'ORIGIN/missing'],
  ['-sf', 'ORIGIN/missing'],
  ['-sS', '--fail-with-body', 'ORIGIN/missing'],
  ['-s', 'ORIGIN/redirect'],
  ['-sL', 'ORIGIN/redirect'],
  ['-sLi', 'ORIGIN/redirect'],
  ['-sSL', 'ORIGIN/loop'],
  ['-sSL', '--max-redirs', '2', 'ORIGIN/loop'],
  ['-si', 'ORIGIN/dated'],
  ['-sI', 'ORIGIN/dated'],
  ['-s', '--head', 'ORIGIN/missing'],
  ['-s', '-o', '/dev/null', '-w', '%{http_code}', 'ORIGIN/missing'],
  [
    '-s',
    '-o',
    '/dev/null',
    '-w',
    '%{http_code}\\n%{content_type}|%{size_download}\\t%{num_redirects}%%',
    '-L',
    'ORIGIN/redirect',
  ],
  ['-s', '-w', '\\n%{url_effective} %{method} %{scheme} %{exitcode} %{http_version}\\n', 'ORIGIN/csv'],
  ['-s', '-w', '%{redirect_url}', 'ORIGIN/redirect'],
  ['-s', '-w', '%header{date}', 'ORIGIN/dated'],
  ['-s', ECHO],
  ['-s', '-X', 'DELETE', ECHO],
  ['-sXPUT', '-d', 'a=1', ECHO],
  ['-s', '-d', 'a=1', '-d', 'b=2', ECHO],
  ['-s', '-d', '', ECHO],
  ['-s', '-d', '@-', ECHO],
  ['-s', '--data-binary', '@-', ECHO],
  ['-s', '--data-raw', '@literal', ECHO],
  ['-s', '--data-urlencode', 'q=a b&c=ä', ECHO],
  ['-s', '--data-urlencode', 'a b', '--data-urlencode', '=x y', ECHO],
  ['-s', '-G', '-d', 'a=1', '--data-urlencode', 'b=c d', ECHO],
  ['-s', '-G', '-d', 'b=2', `${ECHO}?a=1`],
  ['-s', '--json', '{"a":1}', ECHO],
  ['-s', '--json', '{"a":', '--json', '1}', '-H', 'Accept: text/plain', ECHO],
  ['-s', '-F', 'name=value', '-F', 'other=x;type=text/html', ECHO],
  ['-s', '-F', 'file=@-;filename=a.txt', ECHO],
  ['-s', '--form-string', 'name=@value', ECHO],
  ['-s', '-H', 'X-One: 1', '-H', 'x-two;', '-H', 'User-Agent:', ECHO],
  ['-s', '-u', 'user:pass', ECHO],
  ['-s', '-A', 'agent', '-e', 'http://a.example/', '-b', 'a=1; b=2', ECHO],
  ['-s', '-r', '0-3', ECHO],
  ['-s', '--oauth2-bearer', 'token', ECHO],
  ['-s', '--compressed', 'ORIGIN/gzip'],
  ['-s', 'ORIGIN/gzip'],
  ['-sL', '-d', 'a=1', 'ORIGIN/see-other'],
  ['-sL', '-d', 'a=1', 'ORIGIN/kept'],
  ['-sL', '-X', 'POST', '-d', 'a=1', 'ORIGIN/see-other'],
  ['-s', 'ORIGIN/csv', 'ORIGIN/weather'],
  ['-s', '-o', '/dev/null', 'ORIGIN/csv', 'ORIGIN/weather'],
  ['-s', '-c', '-', 'ORIGIN/expiring'],
  ['-sL', '-c', '-', '-b', '', 'ORIGIN/cookies', ECHO],
  ['-sS', 'http://127.0.0.1:1/'],
  ['-s', 'http://127.0.0.1:1/'],
  ['-sS', 'http://nowhere.invalid/'],
  ['-sS', 'ORIGIN/reset'],
  ...[
    ...['{csv,weather}', '{a,b}[1-3]', '[01-10:4]', '[a-g:3]', '[1-3:2]{x,y}', '[5-5]', '{one}', '{a,}'],
    ...['{a\\,b,c}', '[]', '\\{a', '{a', 'a}', 'a]', '{}', '{a,{b}}', '{a,b[1-2]}', '{a]}', '[1-', '[3-1]'],
    ...['[z-a]', '[a-Z]', '[x]', '[ab-c]', '[-1-2]', '[1-3x]', '[1-3:0]', '[1-3:9]', '[1-2:x]'],
  ].map((pattern) => ['-sS', '-o', '/dev/null', '-w', '%{http_code} %{url}\\n', `ORIGIN/${pattern}`]),
  ['-s', 'ORIGIN/{a'],
  ['-sS', 'ORIGIN/{csv,weather}', 'ORIGIN/gzip'],
  ['-s', '-o', 'of#1-#2-#3', '-w', '%{filename_effective}\\n', 'ORIGIN/{x,y}[1-2]'],
  ['-sO', '-w', '%{filename_effective}\\n', 'ORIGIN/{csv,a%2fb,%E0%}'],
  ['-sS', 'http://'],
  ['-sS', 'gopherx://a.example/'],
  ['-sS', '--max-time', 'x', 'ORIGIN/csv'],
  ['-sS', '--nonsense', 'ORIGIN/csv'],
  ['-s', '-o'],
  ['-s'],
  ['-s', '-T', '-', ECHO],
  ['-s', '-D', '-', '-o', '/dev/null', 'ORIGIN/dated'],
];

describe('curl', () => {
  test.skipIf(!existsSync(CURL)).each(SAME.map((words) => [words.join(' '), words] as const))(
    'prints what curl prints: %s',
    { tags: 'full' },
    async (_, words) => {
      const input = 'first line\nsecond line\r\n';
      const expected = comparable(await onMachine(['curl', ...words], input));
      expect(comparable(await inSandbox(['curl', ...words], input))).toEqual(expected);
    },
  );

  test('writes files', { tags: 'full' }, async () => {
    const words = ['-s', '-O', '--create-dirs', '-o', 'deep/a.json', 'ORIGIN/csv', 'ORIGIN/weather'];
    expect((await inSandbox(['curl', ...words])).code).toBe(0);
    const { stdout } = await sandbox.execute("print(open('csv').read(), open('deep/a.json').read())");
    expect(stdout).toBe('name,value\na,1\nb,2\n {"city":"Berlin","celsius":21}\n');
  });

  test('reports a redirect to what is not a URL', async () => {
    expect(await inSandbox(['curl', '-sSL', 'ORIGIN/nowhere'])).toEqual({
      code: 3,
      stdout: '',
      stderr: 'curl: (3) The redirect target URL could not be parsed\n',
    });
  });

  test('ends with the exit code of a timeout', async () => {
    const { code, stderr } = await inSandbox(['curl', '-sS', '--max-time', '0.2', 'ORIGIN/silent']);
    expect(code).toBe(28);
    expect(stderr).toMatch(
      /^curl: \(28\) Operation timed out after \d+ milliseconds with 0 bytes received\n$/,
    );
  });

  test('refuses -k and proxies', async () => {
    expect(await inSandbox(['curl', '-k', 'ORIGIN/csv'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('certificates are always verified'),
    });
    expect((await inSandbox(['curl', '-x', 'http://127.0.0.1:9', 'ORIGIN/csv'])).code).toBe(2);
  });

  // guarantee: network
  test('names the missing rule, also with -s, and says that trying again does not help', async () => {
    const sentence =
      /GET https:\/\/other.example\/a is not permitted: no rule matches it\. .*https:\/\/other.example\/\* .*Trying again will not help\./;
    for (const flags of [[], ['-s'], ['-sSfL']]) {
      const { code, stdout, stderr } = await inSandbox(['curl', ...flags, 'https://other.example/a']);
      expect([code, stdout]).toEqual([7, '']);
      expect(stderr).toMatch(sentence);
    }
    const wget = await inSandbox(['wget', '-q', '-O', '-', 'https://other.example/a']);
    expect(wget.code).toBe(4);
    expect(wget.stderr).toMatch(sentence);
    await using closed = await createSandbox({ runtime: 'python' });
    const { stdout } = await closed.execute(
      "import subprocess\nran = subprocess.run(['curl', '-s', 'https://other.example/'], capture_output=True, text=True)\nprint(ran.returncode, ran.stderr)",
    );
    expect(stdout).toMatch(
      /^7 curl: \(7\) GET https:\/\/other.example\/ is not permitted: the sandbox has no network.*other.example\/\*\. Trying again will not help/,
    );
  });
});

const WGET_SAME: readonly (readonly string[])[] = [
  ['-qO-', 'ORIGIN/csv'],
  ['-qO-', 'ORIGIN/redirect'],
  ['-qO-', 'ORIGIN/csv', 'ORIGIN/weather'],
  ['-qO-', '--post-data=a=1', ECHO],
  ['-qO-', '--method=PUT', '--body-data=x', ECHO],
  ['-qO-', '--header', 'X-A: b', '-U', 'agent', ECHO],
  ['-qO-', '--user=u', '--password=p', ECHO],
  ['-qO-', '--user=u', '--password=p', 'ORIGIN/login'],
  ['-qO-', '--auth-no-challenge', '--user=u', '--password=p', ECHO],
  ['-nv', 'ORIGIN/login'],
  ['-nv', 'ORIGIN/csv'],
  ['-nv', 'ORIGIN/a%2fb%20c'],
  ['-nv', 'ORIGIN/q?a=/b'],
  ['-nv', 'ORIGIN/missing'],
  ['-nv', '-O', 'out', 'ORIGIN/missing'],
  ['-nv', '--max-redirect=2', 'ORIGIN/loop'],
  ['-nv', '--spider', 'ORIGIN/csv'],
  ['-nv', '--spider', 'ORIGIN/missing'],
  ['-q', 'ORIGIN/missing'],
  ['-q', 'ORIGIN/nowhere'],
  ['-nv', 'http://127.0.0.1:1/'],
  ['-nv', 'ftpx://a.example/'],
  ['--nonsense', 'ORIGIN/csv'],
  ['-q'],
];

describe('wget', () => {
  test.skipIf(!existsSync(WGET)).each(WGET_SAME.map((words) => [words.join(' '), words] as const))(
    'prints what GNU Wget prints: %s',
    { tags: 'full' },
    async (_, words) => {
      const undated = ({ stderr, ...ran }: Ran) =>
        comparable({ ...ran, stderr: stderr.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g, 'DATE') });
      const expected = undated(await onMachine(['wget', ...words]));
      expect(undated(await inSandbox(['wget', ...words]))).toEqual(expected);
    },
  );

  test('writes all documents to the file of -O', { tags: 'full' }, async () => {
    await inSandbox(['wget', '-q', '-O', 'all', 'ORIGIN/csv', 'ORIGIN/missing', 'ORIGIN/weather']);
    const { stdout } = await sandbox.execute("print(open('all').read())");
    expect(stdout).toBe('name,value\na,1\nb,2\n{"city":"Berlin","celsius":21}\n');
  });

  test('prints and saves documents', async () => {
    expect(await inSandbox(['wget', '-q', '-O', '-', 'ORIGIN/redirect'])).toEqual({
      code: 0,
      stdout: '{"city":"Berlin","celsius":21}',
      stderr: '',
    });
    expect((await inSandbox(['wget', '-nv', '-P', 'got', 'ORIGIN/csv'])).stderr).toContain(
      '/csv [19/19] -> "got/csv" [1]',
    );
    expect((await inSandbox(['wget', '-q', '-P', 'got', 'ORIGIN/csv'])).code).toBe(0);
    const { stdout } = await sandbox.execute("import os\nprint(sorted(os.listdir('got')))");
    expect(stdout).toBe("['csv', 'csv.1']\n");
  });

  test('sends data, and ends with the exit codes of wget', { tags: 'full' }, async () => {
    const sent = await inSandbox(['wget', '-qO-', '--post-data=a=1', '--header=X-A: b', 'ORIGIN/echo']);
    expect(JSON.parse(sent.stdout)).toMatchObject({ method: 'POST', body: 'a=1', headers: { 'x-a': 'b' } });
    expect((await inSandbox(['wget', '-q', 'ORIGIN/missing'])).code).toBe(8);
    expect((await inSandbox(['wget', '-q', 'http://127.0.0.1:1/'])).code).toBe(4);
    expect((await inSandbox(['wget', '--nonsense', 'ORIGIN/csv'])).code).toBe(2);
    expect((await inSandbox(['wget', '--no-check-certificate', 'ORIGIN/csv'])).code).toBe(2);
    expect((await inSandbox(['wget', '-q', '--spider', 'ORIGIN/csv'])).code).toBe(0);
  });
});
