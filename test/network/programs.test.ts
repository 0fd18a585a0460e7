/** Programs that send requests with the libraries of their language. */
import { EventEmitter, once } from 'node:events';
import { join } from 'node:path';
import { createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import type { PolicyInput, RuntimeName } from '../../packages/core/src/schema.ts';
import { folderOfFile } from '../support/folders.ts';
import { startLoopbackServer } from '../support/loopback-server.ts';
import { sharedByFile } from '../support/shared.ts';

const server = await sharedByFile(startLoopbackServer());
const folder = folderOfFile();

const permitted = (more: object = {}): PolicyInput => ({
  network: { allow: [`${server.origin}/*`], ...more },
});

async function run(runtime: RuntimeName, code: string, policy: PolicyInput = permitted()) {
  await using sandbox = await createSandbox({ runtime, policy });
  const text = code.replaceAll('ORIGIN', server.origin).replaceAll('PORT', String(server.port));
  return await sandbox.execute(text);
}

async function outputOf(runtime: RuntimeName, code: string, policy?: PolicyInput): Promise<string> {
  const { stdout, stderr } = await run(runtime, code, policy);
  expect(stderr).toBe('');
  return stdout;
}

describe('Python', () => {
  test('sends requests with urllib.request and http.client', async () => {
    const code = `
import http.client, json, urllib.error, urllib.request
print(json.load(urllib.request.urlopen('ORIGIN/weather?city=Berlin')))
sent = urllib.request.Request('ORIGIN/echo', data=b'a=1', headers={'X-Test': 'yes'}, method='PUT')
seen = json.load(urllib.request.urlopen(sent))
print(seen['method'], seen['body'], seen['headers']['x-test'])
print(urllib.request.urlopen('ORIGIN/redirect').url == 'ORIGIN/weather')
try:
    urllib.request.urlopen('ORIGIN/missing')
except urllib.error.HTTPError as error:
    print(error.code, error.read())
connection = http.client.HTTPConnection('127.0.0.1', PORT)
for path in '/chunks', '/csv':
    connection.request('GET', path)
    response = connection.getresponse()
    print(response.status, response.read())
`;
    expect(await outputOf('python', code)).toBe(
      [
        "{'city': 'Berlin', 'celsius': 21}",
        'PUT a=1 yes',
        'True',
        "404 b'nothing here'",
        "200 b'first second'",
        "200 b'name,value\\na,1\\nb,2\\n'",
        '',
      ].join('\n'),
    );
  });

  test('sends requests with requests and urllib3', { tags: 'full' }, async () => {
    const code = `
import requests, urllib3
print(requests.get('ORIGIN/weather', params={'q': 'a b'}).json())
def parts():
    yield b'one '
    yield b'two'
print(requests.post('ORIGIN/echo', data=parts()).json()['body'])
response = requests.get('ORIGIN/redirect')
print(response.status_code, [one.status_code for one in response.history])
print(requests.get('ORIGIN/gzip').text)
session = requests.Session()
session.get('ORIGIN/cookies')
print(session.get('ORIGIN/echo').json()['headers']['cookie'])
print([line for line in requests.get('ORIGIN/csv', stream=True).iter_lines()])
for path, problem in ('/missing', requests.HTTPError), ('/silent', requests.Timeout), ('/loop', requests.TooManyRedirects):
    try:
        requests.get('ORIGIN' + path, timeout=0.2).raise_for_status()
    except problem as error:
        print(type(error).__name__)
print(urllib3.PoolManager().request('GET', 'ORIGIN/csv').data)
`;
    expect(await outputOf('python', code)).toBe(
      [
        "{'city': 'Berlin', 'celsius': 21}",
        'one two',
        '200 [302]',
        'compressed text',
        'a=1; b=2',
        "[b'name,value', b'a,1', b'b,2']",
        'HTTPError',
        'ReadTimeout',
        'TooManyRedirects',
        "b'name,value\\na,1\\nb,2\\n'",
        '',
      ].join('\n'),
    );
  });

  test('gets exceptions that name the missing rule, and sockets that name the alternative', async () => {
    const code = `
import requests, socket, urllib.error, urllib.request
try:
    urllib.request.urlopen('https://other.example/a')
except urllib.error.URLError as error:
    print(isinstance(error.reason, PermissionError), 'adding https://other.example/* to' in str(error))
try:
    requests.get('ORIGIN/metadata')
except requests.ConnectionError as error:
    print('http://169.254.169.254/latest/meta-data/ is not permitted' in str(error))
for port, kind in (1, 'refused'), (2, 'refused'):
    try:
        urllib.request.urlopen(f'http://127.0.0.1:{port}/')
    except urllib.error.URLError as error:
        print(type(error.reason).__name__)
try:
    socket.create_connection(('other.example', 80))
except OSError as error:
    print('Use urllib.request' in str(error))
`;
    const policy = permitted({ allow: [`${server.origin}/*`, 'http://127.0.0.1:1/*'] });
    expect(await outputOf('python', code, policy)).toBe(
      'True True\nTrue\nConnectionRefusedError\nPermissionError\nTrue\n',
    );
  });

  test('explains a request that was refused', { tags: 'full' }, async () => {
    const { metadata } = await run('python', "import requests\nrequests.get('https://other.example/')");
    expect(metadata.error_guidance).toMatchObject({ error_type: 'RequestFailed' });
    expect(metadata.error_guidance!.actionable_guidance[0]).toMatch(
      /^GET https:\/\/other\.example\/ is not permitted: no rule matches it\. .* Trying again will not help\.$/,
    );
    expect(metadata.network).toMatchObject([{ outcome: 'refused', url: 'https://other.example/' }]);
  });

  // guarantee: network
  test('has no network without a permission, also in a later call of the session', async () => {
    const code = "import urllib.request\nurllib.request.urlopen('ORIGIN/weather')";
    const { metadata, stderr } = await run('python', code, {});
    expect(metadata.network).toBeUndefined();
    expect(metadata.error_guidance).toMatchObject({ error_type: 'UnsupportedFeature' });
    expect(stderr).not.toContain('permitted');
    const session = `forgetful-${server.port}`;
    const open = (policy: PolicyInput) =>
      createSandbox({ runtime: 'python', session_id: session, auto_persist_globals: true, policy });
    const text = code.replaceAll('ORIGIN', server.origin);
    {
      await using first = await open(permitted());
      expect((await first.execute(text)).success).toBe(true);
    }
    await using second = await open({});
    expect(second.policy.network).toBeUndefined();
    expect((await second.execute(text)).success).toBe(false);
  });

  test('counts waiting like waiting for tools', { tags: 'full' }, async () => {
    const policy = {
      ...permitted({ limits: { timeout_seconds: 5 } }),
      timeout_seconds: 2,
      max_wait_seconds: 0.3,
    };
    const code =
      "import urllib.request\ntry:\n    urllib.request.urlopen('ORIGIN/silent')\nexcept OSError as error:\n    print(error)";
    expect(await outputOf('python', code, policy)).toContain('max_wait_seconds');
  });
});

describe('JavaScript', () => {
  test('sends requests with fetch', async () => {
    const code = `
const response = await fetch('ORIGIN/echo?a=1', { method: 'POST', headers: { 'X-Test': 'yes' }, body: JSON.stringify({ a: 1 }) });
const seen = await response.json();
console.log(response.status, response.ok, response.headers.get('content-type'), seen.method, seen.body, seen.headers['x-test']);
const form = new FormData();
form.append('name', 'value');
const posted = await (await fetch(new Request('ORIGIN/echo', { method: 'POST', body: form }))).json();
console.log(posted.headers['content-type'].startsWith('multipart/form-data'), posted.body.includes('value'));
const moved = await fetch('ORIGIN/redirect');
console.log(moved.redirected, moved.url === 'ORIGIN/weather', (await moved.clone().json()).city, (await moved.json()).city);
const other = await (await fetch('ORIGIN/see-other', { method: 'POST', body: 'x' })).json();
console.log(other.method, other.body === '');
console.log((await fetch('ORIGIN/redirect', { redirect: 'manual' })).status);
console.log(await (await fetch('ORIGIN/gzip')).text(), (await fetch('ORIGIN/missing')).status);
console.log((await fetch('ORIGIN/cookies')).headers.getSetCookie());
console.log((await Promise.all([1, 2, 3].map((i) => fetch('ORIGIN/' + i).then((one) => one.json())))).map(({ url }) => url));
let size = 0;
for await (const part of (await fetch('ORIGIN/big')).body) size += part.length;
console.log(size);
`;
    expect(await outputOf('javascript', code)).toBe(
      [
        '200 true application/json POST {"a":1} yes',
        'true true',
        'true true Berlin Berlin',
        'GET true',
        '302',
        'compressed text 404',
        "[ 'a=1', 'b=2' ]",
        "[ '/1', '/2', '/3' ]",
        '1048576',
        '',
      ].join('\n'),
    );
  });

  test('gets the errors of fetch', async () => {
    const code = `
const fail = async (path, options) => {
  try {
    const response = await fetch(path, options);
    await response.text();
    console.log('no error');
  } catch (error) {
    console.log(error.name, error.cause?.code, error.message.slice(0, 70));
  }
};
await fail('https://other.example/');
await fail('ORIGIN/metadata');
await fail('ORIGIN/loop');
await fail('ORIGIN/redirect', { redirect: 'error' });
await fail('ORIGIN/reset');
await fail('ORIGIN/silent', { signal: AbortSignal.timeout(50) });
const aborter = new AbortController();
setTimeout(() => aborter.abort(), 30);
await fail('ORIGIN/stalled', { signal: aborter.signal });
`;
    expect(await outputOf('javascript', code)).toBe(
      [
        'TypeError EACCES fetch failed: GET https://other.example/ is not permitted: no rule mat',
        'TypeError EACCES fetch failed: GET http://169.254.169.254/latest/meta-data/ is not perm',
        'TypeError undefined fetch failed',
        'TypeError undefined fetch failed',
        'TypeError ECONNRESET fetch failed',
        'TimeoutError undefined The operation was aborted due to timeout',
        'AbortError undefined This operation was aborted',
        '',
      ].join('\n'),
    );
  });

  test('sends requests with http.get and http.request', async () => {
    const code = `
import http from 'node:http';
const text = (request) => new Promise((resolve, reject) => {
  request.on('error', reject);
  request.on('response', (response) => {
    let body = '';
    response.setEncoding('utf8');
    response.on('data', (part) => { body += part; });
    response.on('end', () => resolve([response.statusCode, body]));
  });
});
console.log(await text(http.get('ORIGIN/csv')));
const request = http.request({ host: '127.0.0.1', port: PORT, path: '/echo', method: 'POST', headers: { 'X-Test': 'yes' } });
request.write('one ');
request.end('two');
const [, body] = await text(request);
console.log(JSON.parse(body).body, JSON.parse(body).headers['x-test']);
await text(http.get('http://10.0.0.1/')).catch((error) => console.log(error.code, error.message.includes('not permitted')));
`;
    expect(await outputOf('javascript', code)).toBe(
      "[ 200, 'name,value\\na,1\\nb,2\\n' ]\none two yes\nEACCES true\n",
    );
  });

  test('has no network without a permission', async () => {
    const { metadata } = await run('javascript', "await fetch('ORIGIN/weather')", {});
    expect(metadata.error).toMatchObject({ message: expect.stringContaining('it has no network') });
    expect(metadata.network).toBeUndefined();
    const http = await run('javascript', "require('http').get('ORIGIN/weather')", {});
    expect(http.metadata.error).toMatchObject({
      message: expect.stringContaining('The sandbox has no network'),
    });
  });
});

describe('cancelled run', () => {
  test.each([
    ['javascript', "console.log('begin'); await fetch('ORIGIN/hold')"],
    ['python', "import urllib.request\nprint('begin', flush=True)\nurllib.request.urlopen('ORIGIN/hold')"],
  ] as const)('ends its requests (%s)', { tags: 'full' }, async (runtime, code) => {
    const events = new EventEmitter();
    const received = once(events, 'received');
    const closed = once(events, 'closed');
    await using holding = await startLoopbackServer({
      '/hold': (_, response) => {
        response.once('close', () => events.emit('closed'));
        events.emit('received');
      },
    });
    await using sandbox = await createSandbox({
      runtime,
      policy: { network: { allow: [`${holding.origin}/*`] } },
    });
    const running = sandbox.execute(code.replaceAll('ORIGIN', holding.origin));
    await received;
    running.cancel();
    const { metadata } = await running;
    expect(metadata.trap_reason).toBe('cancelled');
    expect(metadata.network).toMatchObject([{ method: 'GET', url: `${holding.origin}/hold` }]);
    expect(metadata.network![0]!.outcome).not.toBe('ok');
    // The server sees that the connection is closed.
    await closed;
  });
});

describe('deterministic mode', () => {
  test('needs a recording', async () => {
    await expect(
      createSandbox({ runtime: 'javascript', policy: { ...permitted(), deterministic: true } }),
    ).rejects.toThrow('requests must be recorded');
  });

  test.each([
    [
      'python',
      "import requests\nfor path in '/weather', '/big':\n    print(len(requests.get('ORIGIN' + path).text))",
    ],
    [
      'javascript',
      "for (const path of ['/weather', '/big']) console.log((await (await fetch('ORIGIN' + path)).text()).length)",
    ],
  ] as const)('repeats output and fuel from the recording (%s)', { tags: 'full' }, async (runtime, code) => {
    const file = join(folder, `${runtime}.har`);
    const live = await run(runtime, code, { ...permitted({ record: file }), deterministic: true });
    const count = server.requests.length;
    const again = await run(runtime, code, { ...permitted({ replay: file }), deterministic: true });
    expect(again).toMatchObject({ stdout: '30\n1048576\n', fuel_consumed: live.fuel_consumed });
    expect(live.stdout).toBe(again.stdout);
    expect(server.requests.length).toBe(count);
    const other = await run(runtime, code.replace('/weather', '/csv'), {
      ...permitted({ replay: file }),
      deterministic: true,
    });
    expect(other.metadata.network).toMatchObject([
      { outcome: 'refused', error: expect.stringContaining('not in the recording') },
    ]);
    const { actionable_guidance } = other.metadata.error_guidance!;
    expect(actionable_guidance).toContainEqual(expect.stringContaining('Send the requests of the recording'));
  });
});
