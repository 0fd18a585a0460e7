/**
 * Libraries for requests that are not part of the sandbox: httpx, aiohttp, pandas and axios, as their registries have them. A test is skipped
 * if a registry cannot be reached.
 *
 * @module-tag full
 */
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { createSandbox, type SandboxResult } from 'llm-wasm-sandbox';
import { expect, test } from 'vitest';
import { runProcess } from '../support/cli.ts';
import { folderOfFile } from '../support/folders.ts';
import { startLoopbackServer } from '../support/loopback-server.ts';
import { sharedByFile } from '../support/shared.ts';

const folder = folderOfFile();
const server = await sharedByFile(startLoopbackServer());

const policy = () => ({
  network: { allow: [`${server.origin}/*`] },
  fuel_budget: 100_000_000_000,
  timeout_seconds: 120,
  memory_bytes: 512 * 2 ** 20,
});

const HTTPX =
  'httpx==0.28.1 anyio==4.15.1 httpcore==1.0.9 h11==0.16.0 idna certifi sniffio typing_extensions';

/** The wheels of httpx; undefined if they cannot be downloaded. */
async function downloadWheels(): Promise<string[] | undefined> {
  const args = ['-m', 'pip', 'download', '--quiet', '--no-deps', '-d', folder, ...HTTPX.split(' ')];
  const { status } = await runProcess('python3', args, { env: process.env as Record<string, string> });
  if (status !== 0) return undefined;
  return readdirSync(folder)
    .filter((name) => name.endsWith('.whl'))
    .map((name) => join(folder, name));
}

async function python(packages: readonly string[], code: string): Promise<SandboxResult> {
  await using sandbox = await createSandbox({ runtime: 'python', packages: [...packages], policy: policy() });
  return await sandbox.execute(code.replaceAll('ORIGIN', server.origin));
}

test('httpx sends requests, synchronously and asynchronously', { timeout: 180_000 }, async ({ skip }) => {
  const wheels = await downloadWheels();
  if (wheels === undefined) return skip('the wheels of httpx cannot be downloaded');
  const { stdout, stderr } = await python(
    wheels,
    `
import asyncio, httpx
with httpx.Client(headers={'X-Test': 'yes'}) as client:
    seen = client.post('ORIGIN/echo', json={'a': 1}).json()
    print(seen['method'], seen['body'], seen['headers']['x-test'])
    print(client.get('ORIGIN/redirect').status_code, client.get('ORIGIN/redirect', follow_redirects=True).json()['city'])
    print(client.get('ORIGIN/gzip').text)
    for url in 'ftp://example.org', '://example.org', 'http://', '/path':
        try:
            client.get(url)
        except httpx.UnsupportedProtocol as error:
            print(type(error).__name__)
    with client.stream('GET', 'ORIGIN/chunks') as response:
        print(b''.join(response.iter_bytes()))
    for path, problem in ('/missing', httpx.HTTPStatusError), ('/silent', httpx.ReadTimeout), ('/reset', httpx.ConnectError):
        try:
            client.get('ORIGIN' + path, timeout=0.2).raise_for_status()
        except problem as error:
            print(type(error).__name__)
async def main():
    async with httpx.AsyncClient() as client:
        responses = await asyncio.gather(*[client.get(f'ORIGIN/{i}') for i in range(4)])
        print([response.json()['url'] for response in responses])
        async with client.stream('GET', 'ORIGIN/big') as response:
            print(sum([len(part) async for part in response.aiter_bytes()]))
        try:
            await client.get('https://other.example/')
        except httpx.ConnectError as error:
            print('https://other.example/*' in str(error))
asyncio.run(main())
`,
  );
  expect(stderr).toBe('');
  expect(stdout.trimEnd().split('\n')).toEqual([
    'POST {"a":1} yes',
    '302 Berlin',
    'compressed text',
    'UnsupportedProtocol',
    'UnsupportedProtocol',
    'UnsupportedProtocol',
    'UnsupportedProtocol',
    "b'first second'",
    'HTTPStatusError',
    'ReadTimeout',
    'ConnectError',
    "['/0', '/1', '/2', '/3']",
    '1048576',
    'True',
  ]);
});

const AIOHTTP =
  'aiohttp==3.14.3 multidict==7.0.0 yarl==1.25.1 frozenlist==1.8.0 propcache==0.5.4 aiosignal==1.4.0 aiohappyeyeballs==2.7.1 attrs';

/** A folder with the Python modules of aiohttp, which need no compiled code; undefined if they cannot be downloaded. */
async function installAiohttp(): Promise<string | undefined> {
  const target = join(folder, 'aiohttp');
  const args = ['-m', 'pip', 'install', '--quiet', '--no-deps', '--no-compile', '--target', target];
  const { status } = await runProcess('python3', [...args, ...AIOHTTP.split(' ')], {
    env: process.env as Record<string, string>,
  });
  if (status !== 0) return undefined;
  const paths = readdirSync(target, { recursive: true }) as string[];
  for (const path of paths.filter((one) => one.endsWith('.so'))) rmSync(join(target, path));
  return target;
}

test('aiohttp sends requests', { timeout: 180_000 }, async ({ skip }) => {
  const modules = await installAiohttp();
  if (modules === undefined) return skip('aiohttp cannot be downloaded');
  const { stdout, stderr, metadata } = await python(
    [modules],
    `
import asyncio, aiohttp
async def parts():
    for part in b'one ', b'two':
        yield part
async def echo(session, **options):
    async with session.post('ORIGIN/echo', **options) as response:
        return await response.json()
async def address(session, path):
    async with session.get('ORIGIN' + path) as response:
        return (await response.json())['url']
async def failure(session, url, **options):
    try:
        async with session.get(url, **options) as response:
            await response.read()
    except (aiohttp.ClientError, TimeoutError) as error:
        print(type(error).__name__, '{0}/*'.format(url[:-1]) in str(error))
async def main():
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(headers={'X-Test': 'yes'}, cookie_jar=jar) as session:
        seen = await echo(session, json={'a': 1}, params={'q': 'a b'})
        print(seen['url'], seen['body'], seen['headers']['x-test'])
        print((await echo(session, data=parts()))['body'], (await echo(session, data=b'x', expect100=True))['body'])
        async with session.get('ORIGIN/redirect') as response:
            print([one.status for one in response.history], (await response.json())['city'])
        async with session.get('ORIGIN/gzip') as response:
            print(await response.text())
        async with session.get('ORIGIN/cookies') as response:
            print(response.cookies['b'].value, (await echo(session))['headers']['cookie'])
        async with session.get('ORIGIN/big') as response:
            sizes = [len(part) async for part in response.content.iter_chunked(100_000)]
            print(sum(sizes), max(sizes))
        async with session.head('ORIGIN/weather') as response:
            print(response.status, await response.read())
        print(await asyncio.gather(*[address(session, f'/{i}') for i in range(40)]) == [f'/{i}' for i in range(40)])
        await session.get('ORIGIN/endless')
        await failure(session, 'ORIGIN/missing', raise_for_status=True)
        await failure(session, 'ORIGIN/silent', timeout=aiohttp.ClientTimeout(total=0.2))
        await failure(session, 'ORIGIN/silent', timeout=aiohttp.ClientTimeout(sock_read=0.2))
        await failure(session, 'ORIGIN/reset')
        await failure(session, 'ORIGIN/broken')
        await failure(session, 'ORIGIN/echo', proxy='http://127.0.0.1:9')
        await failure(session, 'https://other.example/')
asyncio.run(main())
`,
  );
  expect(stderr).toBe('');
  expect(stdout.trimEnd().split('\n')).toEqual([
    '/echo?q=a+b {"a": 1} yes',
    'one two x',
    '[302] Berlin',
    'compressed text',
    '2 a=1; b=2',
    '1048576 100000',
    "200 b''",
    'True',
    'ClientResponseError False',
    'TimeoutError False',
    'SocketTimeoutError False',
    'ClientOSError False',
    'ClientPayloadError False',
    'ClientProxyConnectionError False',
    'ClientConnectorError True',
  ]);
  expect(metadata.network?.filter(({ outcome }) => outcome === 'refused')).toMatchObject([
    { url: 'https://other.example/' },
  ]);
});

const folders = (process.env['PIP_FIND_LINKS'] ?? '').split(/\s+/).filter((one) => existsSync(one));
const available = folders.flatMap((one) => readdirSync(one).map((name) => join(one, name)));
const pandas = ['numpy-2.4.6', 'pandas-3.0.2'].map((name) =>
  available.find((path) => basename(path).startsWith(`${name}-`) && path.endsWith('_wasm32.whl')),
);

test('pandas.read_csv reads a URL', { timeout: 180_000 }, async ({ skip }) => {
  if (pandas.includes(undefined)) return skip('PIP_FIND_LINKS names no folder with the wheels');
  const { stdout, stderr } = await python(
    pandas.map((path) => path!),
    "import pandas\nframe = pandas.read_csv('ORIGIN/csv')\nprint(frame['value'].sum(), list(frame.columns))",
  );
  expect(stderr).toBe('');
  expect(stdout).toBe("3 ['name', 'value']\n");
});

/** The files of axios and its dependencies; undefined if they cannot be downloaded. */
async function installAxios(): Promise<Record<string, string> | undefined> {
  const args = ['install', '--prefix', folder, '--no-save', '--ignore-scripts', '--silent', 'axios@1.21.1'];
  const { status } = await runProcess('npm', args, {
    env: process.env as Record<string, string>,
    cwd: folder,
  });
  if (status !== 0) return undefined;
  const paths = readdirSync(join(folder, 'node_modules'), { recursive: true }) as string[];
  const used = paths.filter(
    (path) =>
      /\.(?:[cm]?js|json)$/.test(path) &&
      !path.includes('.min.') &&
      statSync(join(folder, 'node_modules', path)).isFile(),
  );
  return Object.fromEntries(
    used.map((path) => [`node_modules/${path}`, readFileSync(join(folder, 'node_modules', path), 'utf8')]),
  );
}

test('axios sends requests', { timeout: 180_000 }, async ({ skip }) => {
  const files = await installAxios();
  if (files === undefined) return skip('axios cannot be downloaded');
  await using sandbox = await createSandbox({ runtime: 'javascript', policy: policy() });
  const { stdout, stderr } = await sandbox.execute(
    `
import axios from 'axios';
const { data, status } = await axios.post('ORIGIN/echo', { a: 1 }, { headers: { 'X-Test': 'yes' }, params: { q: 'a b' } });
console.log(status, data.method, data.url, data.body, data.headers['x-test']);
console.log((await axios.get('ORIGIN/redirect')).data.city, (await axios.get('ORIGIN/gzip')).data);
await axios.get('ORIGIN/missing').catch((error) => console.log(error.name, error.response.status, error.code));
await axios.get('ORIGIN/silent', { timeout: 100 }).catch((error) => console.log(error.code));
await axios.get('https://other.example/').catch((error) => console.log(error.code, error.message.includes('https://other.example/*')));
await axios.get('ORIGIN/metadata').catch((error) => console.log(error.code, error.message.includes('169.254.169.254')));
`.replaceAll('ORIGIN', server.origin),
    { files },
  );
  expect(stderr).toBe('');
  expect(stdout.trimEnd().split('\n')).toEqual([
    '200 POST /echo?q=a+b {"a":1} yes',
    'Berlin compressed text',
    'AxiosError 404 ERR_BAD_REQUEST',
    'ECONNABORTED',
    'EACCES true',
    'EACCES true',
  ]);
});
