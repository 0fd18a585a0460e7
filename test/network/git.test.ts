/** git and repositories behind HTTP: the requests are those of the sandbox's network. The server is the git of this machine. */
import { execFileSync, spawn } from 'node:child_process';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createSandbox, type Sandbox } from 'llm-wasm-sandbox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { folderOfFile } from '../support/folders.ts';

const hasGit = (() => {
  try {
    return execFileSync('git', ['--exec-path']).length > 0;
  } catch {
    return false;
  }
})();
const PASSWORD = 'the-real-password';
const AUTHORIZATION = `Basic ${Buffer.from(`me:${PASSWORD}`).toString('base64')}`;

/** Splits what a CGI program printed into headers and body, and sends it. */
function sendOutput(output: Buffer, response: ServerResponse): void {
  const end = output.indexOf('\r\n\r\n');
  let status = 200;
  for (const line of output.subarray(0, end).toString().split('\r\n')) {
    const [name = '', value = ''] = line.split(/: (.*)/);
    if (name === 'Status') status = Number.parseInt(value, 10);
    else response.setHeader(name, value);
  }
  response.writeHead(status).end(output.subarray(end + 4));
}

/** Below /private, requests need a password. /old leads to /. */
function answer(root: string, request: IncomingMessage, response: ServerResponse): void {
  const { pathname, search } = new URL(request.url!, 'http://host');
  const { method, headers } = request;
  if (pathname.startsWith('/private/') && headers.authorization !== AUTHORIZATION) {
    response.writeHead(401, { 'www-authenticate': 'Basic realm="here"' }).end();
    return;
  }
  if (pathname.startsWith('/old/')) {
    response.writeHead(301, { location: `${pathname.slice('/old'.length)}${search}` }).end();
    return;
  }
  const env: NodeJS.ProcessEnv = {
    PATH: process.env['PATH'],
    GIT_PROJECT_ROOT: root,
    GIT_HTTP_EXPORT_ALL: '1',
    REMOTE_USER: 'me',
    PATH_INFO: pathname.replace('/private/', '/'),
    QUERY_STRING: search.slice(1),
    REQUEST_METHOD: method,
    CONTENT_TYPE: headers['content-type'] ?? '',
    GIT_PROTOCOL: String(headers['git-protocol'] ?? ''),
  };
  const backend = spawn('git', ['http-backend'], { env });
  backend.stderr.resume();
  const output: Buffer[] = [];
  backend.stdin.on('error', () => {});
  request.pipe(backend.stdin);
  backend.stdout.on('data', (piece: Buffer) => output.push(piece));
  backend.on('close', () => sendOutput(Buffer.concat(output), response));
}

describe.skipIf(!hasGit)('git and repositories behind HTTP', () => {
  let server: Server;
  let sandbox: Sandbox;
  let origin: string;
  const natively = (...args: string[]) =>
    execFileSync('git', args, { stdio: ['ignore', 'pipe', 'ignore'] }).toString();
  const root = folderOfFile();
  const run = async (code: string) => sandbox.execute(`cd $(mktemp -d); O=${origin}\n${code}`);

  beforeAll(async () => {
    natively('init', '-q', '--bare', '-b', 'main', `${root}/r.git`);
    server = createServer((request, response) => answer(root, request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const allow = [`${origin}/*`];
    const network = { allow, limits: { requests: 1000 }, secrets: { TOKEN: { value: PASSWORD, allow } } };
    sandbox = await createSandbox({ runtime: 'bash', policy: { timeout_seconds: 300, network } });
  });
  afterAll(async () => {
    await sandbox[Symbol.asyncDispose]();
    await new Promise((resolve) => server.close(resolve));
  });

  test('are pushed to, cloned and fetched from', async () => {
    const { stdout, stderr } = await run(`
      git init -q w; cd w; seq 5000 > f; git add f; git commit -qm one; git push -q $O/r.git main
      git clone -q $O/r.git ../c; cd ../c; echo x >> f; git commit -qam two; git push -q; git -C ../w pull -q $O/r.git main
      git -C ../w rev-parse HEAD; git clone -q --depth 1 $O/old/r.git ../s; git -C ../s log --format=%s; git ls-remote $O/r.git | wc -l`);
    expect(stderr).toBe('');
    expect(stdout.split('\n')).toEqual([
      natively('-C', `${root}/r.git`, 'rev-parse', 'main').trim(),
      'two',
      '2',
      '',
    ]);
  });

  test.each([
    ['the URL', 'git clone -q "http://me:$TOKEN@${O#http://}/private/r.git" c'],
    [
      'a header',
      'git -c http.extraHeader="Authorization: Basic $(printf "me:$TOKEN" | base64 -w 0)" clone -q $O/private/r.git c',
    ],
    [
      'a helper',
      `git -c credential.helper='!f() { echo username=me; echo "password=$TOKEN"; }; f' clone -q $O/private/r.git c`,
    ],
  ])('receive a password that the guest never sees, from %s', async (_, command) => {
    const { stdout, stderr } = await run(`${command}; ls c; grep -r ${PASSWORD} c | wc -l; env | grep TOKEN`);
    expect(stderr).toBe('');
    expect(stdout).toMatch(/^f\n0\nTOKEN=secret_/);
  });

  test.each([
    ['a wrong password', 'git clone http://me:wrong@${O#http://}/private/r.git', 'Authentication failed'],
    ['no password', 'git clone $O/private/r.git', 'could not read Username'],
    ['no repository', 'git clone $O/none.git', "none.git/' not found"],
    [
      'an address without a rule',
      'git clone https://git.example/r.git',
      'adding https://git.example/* to policy.network.allow',
    ],
    ['ssh', 'git clone git@git.example:r.git', 'cannot run ssh'],
  ])('say what is wrong with %s', async (_, command, message) => {
    const { stderr, exit_code } = await run(command);
    expect([stderr.includes(message) ? message : stderr, exit_code]).toEqual([message, 128]);
  });
});
