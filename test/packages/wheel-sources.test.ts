/** Downloads from a distribution like Pyodide's, served on the loopback interface. */
import {
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { sha256Hex } from '../../packages/core/src/framing/digest.ts';
import { parsePyodideLock } from '../../packages/core/src/packages/pyodide-lock.ts';
import { findWheel } from '../../packages/core/src/packages/wheel-sources.ts';
import { folderOfFile } from '../support/folders.ts';
import { wheel } from './wheel-fixtures.ts';

const folder = folderOfFile();
vi.stubEnv('LLM_WASM_SANDBOX_PACKAGES_DIR', join(folder, 'packages'));
const FILE = 'example-1.0-py3-none-any.whl';
let bytes: Buffer;
let server: Server;
const ranges: (string | undefined)[] = [];
/** Replaces the answers of the server. */
let answer: ((response: ServerResponse) => void) | undefined;

beforeAll(async () => {
  bytes = readFileSync(await wheel(folder, 'example', '1.0', { 'example.py': 'x = 1\n'.repeat(500) }));
  server = createServer((request, response) => {
    ranges.push(request.headers.range);
    if (answer !== undefined) return answer(response);
    if (request.url !== `/full/${FILE}`) return response.writeHead(404).end();
    const start = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
    if (start >= bytes.length) return response.writeHead(416).end();
    return response.writeHead(start > 0 ? 206 : 200).end(bytes.subarray(start));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
  vi.unstubAllEnvs();
});

const sourcesFor = (sha256: string, base?: string) => ({
  files: [],
  pip: false,
  pyodideUrl: base ?? `http://127.0.0.1:${(server.address() as AddressInfo).port}/full`,
  pyodideLock: parsePyodideLock(
    JSON.stringify({
      version: '0',
      packages: [{ name: 'Example', version: '1.0', file_name: FILE, sha256, imports: [], depends: [] }],
    }),
  ),
  onStep: () => {},
});
const requirement = { name: 'example', specifiers: '' };
const partialPath = () => join(folder, 'packages/downloads', sha256Hex(bytes));
const partial = (content: Uint8Array) => {
  mkdirSync(join(folder, 'packages/downloads'), { recursive: true });
  writeFileSync(partialPath(), content);
};

test('a wheel has the digest of the list, and an interrupted download is resumed', async () => {
  const { source, bytes: first } = await findWheel(requirement, sourcesFor(sha256Hex(bytes)));
  expect([source, Buffer.compare(first, bytes)]).toEqual(['pyodide', 0]);
  partial(bytes.subarray(0, 100));
  const { bytes: resumed } = await findWheel(requirement, sourcesFor(sha256Hex(bytes)));
  expect(Buffer.compare(resumed, bytes)).toBe(0);
  expect(ranges).toEqual([undefined, 'bytes=100-']);
});

test('a damaged or oversized partial download is not used again', async () => {
  partial(Buffer.alloc(100));
  await expect(findWheel(requirement, sourcesFor(sha256Hex(bytes)))).rejects.toThrow(/has the SHA-256/);
  expect((await findWheel(requirement, sourcesFor(sha256Hex(bytes)))).file).toBe(FILE);
  partial(Buffer.alloc(bytes.length + 10));
  expect((await findWheel(requirement, sourcesFor(sha256Hex(bytes)))).file).toBe(FILE);
});

test('a server that rejects every range is asked only once more, without a range', async () => {
  answer = (response) => response.writeHead(416).end();
  partial(bytes.subarray(0, 100));
  ranges.length = 0;
  await expect(findWheel(requirement, sourcesFor(sha256Hex(bytes)))).rejects.toThrow(/status 416/);
  expect(ranges).toEqual(['bytes=100-', undefined]);
  answer = undefined;
});

test.each([
  ['an answer', () => {}],
  ['the rest of a file', (response: ServerResponse) => response.writeHead(200).write('PK')],
])('a download from a server that does not send %s fails after the idle timeout', async (_, silent) => {
  answer = silent;
  const sources = { ...sourcesFor(sha256Hex(bytes)), idleTimeoutMs: 200 };
  await expect(findWheel(requirement, sources)).rejects.toThrow(/the server sent nothing for 0.2 s/);
  answer = undefined;
  rmSync(partialPath(), { force: true });
});

// guarantee: package-sources
test('a download from a server that sends a little again and again ends after the total timeout', async () => {
  answer = (response) => {
    response.writeHead(200);
    const timer = setInterval(() => response.write('P'), 10);
    response.on('close', () => clearInterval(timer));
  };
  const sources = { ...sourcesFor(sha256Hex(bytes)), downloadTimeoutMs: 300 };
  await expect(findWheel(requirement, sources)).rejects.toThrow(/the server did not send all within 0.3 s/);
  answer = undefined;
  rmSync(partialPath(), { force: true });
});

// guarantee: package-sources
test('redirects are followed within a server, but not without end, and not to other servers without https', async () => {
  let asked = 0;
  const other = createServer((_, response) => {
    asked++;
    response.end(bytes);
  });
  await new Promise<void>((done) => other.listen(0, '127.0.0.1', done));
  const redirects = [`/full/${FILE}`];
  answer = (response) => {
    const location = redirects.shift();
    if (location === undefined) response.end(bytes);
    else response.writeHead(302, { location }).end();
  };
  expect((await findWheel(requirement, sourcesFor(sha256Hex(bytes)))).file).toBe(FILE);
  redirects.push(`http://127.0.0.1:${(other.address() as AddressInfo).port}/${FILE}`);
  await expect(findWheel(requirement, sourcesFor(sha256Hex(bytes)))).rejects.toThrow(
    /redirects to http:\/\/127\.0\.0\.1:\d+, which is another server without https/,
  );
  expect(asked).toBe(0);
  redirects.push(...Array.from({ length: 100 }, () => `/full/${FILE}`));
  await expect(findWheel(requirement, sourcesFor(sha256Hex(bytes)))).rejects.toThrow(
    /redirects more than 5 times/,
  );
  answer = undefined;
  other.close();
});

test('a download that becomes too large is deleted, and one that is too large is not resumed', async () => {
  const limit = 512 * 1024 * 1024;
  answer = (response) => response.writeHead(206).end(Buffer.alloc(100));
  partial(Buffer.alloc(0));
  truncateSync(partialPath(), limit - 10);
  await expect(findWheel(requirement, sourcesFor(sha256Hex(bytes)))).rejects.toThrow(/too large/);
  expect(existsSync(partialPath())).toBe(false);
  answer = undefined;
  partial(Buffer.alloc(0));
  truncateSync(partialPath(), limit);
  ranges.length = 0;
  expect((await findWheel(requirement, sourcesFor(sha256Hex(bytes)))).file).toBe(FILE);
  expect(ranges).toEqual([undefined]);
});

// The device /dev/full, which only Linux has, has no space for any write.
test.runIf(existsSync('/dev/full'))('a disk that is full ends the download with an error', async () => {
  rmSync(partialPath(), { force: true });
  symlinkSync('/dev/full', partialPath());
  const full = findWheel(requirement, sourcesFor(sha256Hex(bytes)));
  await expect(full).rejects.toMatchObject({
    code: 'store_failed',
    message: expect.stringMatching(/not enough disk space in .* to download example-1\.0.*Free some space/),
  });
  rmSync(partialPath());
});

test('a folder can replace the URL', async () => {
  expect((await findWheel(requirement, sourcesFor(sha256Hex(bytes), folder))).source).toBe('pyodide');
});

test.each([
  ['another file', () => [requirement, sourcesFor('a'.repeat(64))], /expected a{64}/],
  [
    'another digest',
    () => [requirement, sourcesFor(sha256Hex(bytes)), 'b'.repeat(64)],
    /expected SHA-256 b{64}/,
  ],
  [
    'another version',
    () => [{ name: 'example', specifiers: '>=2' }, sourcesFor('a'.repeat(64))],
    /has version 1.0/,
  ],
  [
    'an unknown package',
    () => [{ name: 'other', specifiers: '' }, sourcesFor('a'.repeat(64))],
    /does not contain it/,
  ],
  [
    'a missing file',
    () => [
      requirement,
      sourcesFor('a'.repeat(64), `http://127.0.0.1:${(server.address() as AddressInfo).port}/no/`),
    ],
    /status 404/,
  ],
  [
    'no server',
    () => [requirement, sourcesFor('a'.repeat(64), 'http://127.0.0.1:1/')],
    /the network or the server is not reachable\).*Check the network/,
  ],
] as const)('%s is an error that says so', async (_, args, message) => {
  await expect(findWheel(...(args() as Parameters<typeof findWheel>))).rejects.toThrow(message);
});

test('a similar name is suggested only for a package that is unknown', async () => {
  const sources = { ...sourcesFor('a'.repeat(64)), suggest: () => ' Similar.' };
  await expect(findWheel(requirement, sources)).rejects.not.toThrow('Similar');
  await expect(findWheel({ name: 'exampel', specifiers: '' }, sources)).rejects.toThrow('Similar');
});

test('the error of a wheel that is not found names the sources', async () => {
  const none = { ...sourcesFor(''), pyodideUrl: undefined };
  await expect(findWheel(requirement, none)).rejects.toThrow(
    '(pip and the Pyodide distribution are turned off)',
  );
  await expect(findWheel(requirement, { ...none, files: ['other-1.0-py3-none-any.whl'] })).rejects.toThrow(
    '(it is not among the given wheels)',
  );
  const older = [join('wheels', `${requirement.name}-0.1-py3-none-any.whl`)];
  await expect(findWheel({ ...requirement, specifiers: '>=9' }, { ...none, files: older })).rejects.toThrow(
    '(the given wheels have only the versions 0.1)',
  );
});

test('pip finds another version in a folder of wheels if the one that Pyodide has cannot be downloaded', {
  tags: 'full',
}, async () => {
  const links = join(folder, 'links');
  mkdirSync(links, { recursive: true });
  await wheel(links, 'example', '2.0', { 'example.py': 'x = 2' });
  vi.stubEnv('PIP_CONFIG_FILE', '/dev/null');
  vi.stubEnv('PIP_INDEX_URL', 'http://127.0.0.1:1/simple');
  vi.stubEnv('PIP_FIND_LINKS', links);
  const sources = { ...sourcesFor('a'.repeat(64)), pyodideUrl: undefined, pip: true };
  expect(await findWheel(requirement, sources)).toMatchObject({
    file: 'example-2.0-py3-none-any.whl',
    source: 'pip',
  });
  await expect(findWheel({ name: 'example', specifiers: '>=3' }, sources)).rejects.toThrow(
    /No wheel of example>=3 .* \(pip: it has only the versions 2\.0\)/,
  );
  await expect(findWheel(requirement, { ...sources, failsFast: true, approved: [] })).rejects.toThrow(
    'To approve it, run "llm-wasm-sandbox packages lock example".',
  );
  const suggest = () => ' Did you mean sample?';
  await expect(findWheel({ name: 'exampel', specifiers: '' }, { ...sources, suggest })).rejects.toThrow(
    'Pyodide\'s list has no package exampel, and the package index of pip cannot be reached: check the spelling, the network and the settings of pip, or pass the path of a wheel to "llm-wasm-sandbox packages add". Did you mean sample?',
  );
});

test('the error of a wheel that is not approved says first how to approve it', async () => {
  const files = [join(folder, FILE)];
  const sources = { ...sourcesFor('a'.repeat(64)), pyodideUrl: undefined, files, approved: [] };
  await expect(findWheel(requirement, sources)).rejects.toThrow(
    `To approve it, run "llm-wasm-sandbox packages lock ${files[0]}".`,
  );
  const approved = [{ name: 'example', sha256: sha256Hex(bytes) }];
  expect((await findWheel(requirement, { ...sources, approved })).source).toBe('file');
});
