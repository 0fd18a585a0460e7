/** The command curl, compared with that of this machine if there is one. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createSandbox, type Sandbox } from 'llm-wasm-sandbox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { folderOfFile } from '../support/folders.ts';
import { type LoopbackServer, startLoopbackServer } from '../support/loopback-server.ts';

const CURL = '/usr/bin/curl';
const folder = folderOfFile();
let server: LoopbackServer;
let sandbox: Sandbox;

beforeAll(async () => {
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
  return new Promise((resolve) => {
    const env = { PATH: process.env['PATH'], LC_ALL: 'C.UTF-8' };
    const options = { cwd: folder, encoding: 'latin1', env } as const;
    const child = execFile(command!, ['-q', ...words], options, (error, stdout, stderr) =>
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
  ['-sS', 'http://127.0.0.1:1/'],
  ['-s', 'http://127.0.0.1:1/'],
  ['-sS', 'http://nowhere.invalid/'],
  ['-sS', 'ORIGIN/reset'],
  ['-sO', '-w', '%{filename_effective}\\n', 'ORIGIN/csv'],
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

  test('refuses patterns in URLs and files of cookies', async () => {
    for (const pattern of ['{csv,weather}', '[1-3]'])
      expect(await inSandbox(['curl', '-sS', `ORIGIN/${pattern}`])).toMatchObject({
        code: 3,
        stdout: '',
        stderr: expect.stringContaining('Use a loop of the shell'),
      });
    for (const words of [
      ['-c', 'jar'],
      ['-b', 'jar'],
    ])
      expect(await inSandbox(['curl', ...words, 'ORIGIN/csv'])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('files of cookies are not supported'),
      });
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
    await using closed = await createSandbox({ runtime: 'python' });
    const { stdout } = await closed.execute(
      "import subprocess\nran = subprocess.run(['curl', '-s', 'https://other.example/'], capture_output=True, text=True)\nprint(ran.returncode, ran.stderr)",
    );
    expect(stdout).toMatch(
      /^7 curl: \(7\) GET https:\/\/other.example\/ is not permitted: the sandbox has no network.*other.example\/\*\. Trying again will not help/,
    );
  });
});
