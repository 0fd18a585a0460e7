/**
 * A package index that sends more than a machine has: pip ends with an error that says so, and leaves no files.
 *
 * @module-tag full
 */
import { mkdirSync, readdirSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createGzip } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { findWheel } from '../../packages/core/src/packages/wheel-sources.ts';
import { folderOfFile } from '../support/folders.ts';

const MiB = 1024 * 1024;
const temporary = join(folderOfFile(), 'temporary');
mkdirSync(temporary);
let server: Server;

/** Sends the same bytes until the client leaves. */
function sendEndlessly(response: ServerResponse, to: NodeJS.WritableStream, chunk: Buffer): void {
  const send = () => {
    while (!response.destroyed && to.write(chunk));
  };
  to.on('drain', send).on('error', () => {});
  send();
}

const ANSWERS: Record<string, (response: ServerResponse) => void> = {
  '/simple/bomb/'(response) {
    response.writeHead(200, { 'content-type': 'text/html', 'content-encoding': 'gzip' });
    const gzip = createGzip({ level: 1 });
    gzip.pipe(response);
    sendEndlessly(response, gzip, Buffer.alloc(MiB, ' '));
  },
  '/simple/parcel/'(response) {
    const file = 'parcel-1.0-py3-none-any.whl';
    response
      .writeHead(200, { 'content-type': 'text/html' })
      .end(`<!DOCTYPE html><a href="/${file}">${file}</a>`);
  },
  '/parcel-1.0-py3-none-any.whl'(response) {
    response.writeHead(200, { 'content-type': 'application/zip' });
    sendEndlessly(response, response, Buffer.alloc(MiB));
  },
};

beforeAll(async () => {
  server = createServer((request, response) => {
    const answer = ANSWERS[request.url!];
    if (answer === undefined) return response.writeHead(404).end();
    return answer(response);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  vi.stubEnv('PIP_INDEX_URL', `http://127.0.0.1:${port}/simple`);
  vi.stubEnv('PIP_CONFIG_FILE', '/dev/null');
  vi.stubEnv('PIP_FIND_LINKS', '');
  vi.stubEnv('PIP_NO_CACHE_DIR', '1');
  vi.stubEnv('TMPDIR', temporary);
});
afterAll(() => {
  vi.unstubAllEnvs();
  server.closeAllConnections();
  server.close();
});

const find = (name: string) =>
  findWheel(
    { name, specifiers: '' },
    {
      files: [],
      pip: true,
      failsFast: true,
      // Nothing listens here, so that only the index of the test is asked.
      pyodideUrl: 'http://127.0.0.1:1/',
      pyodideLock: { version: '0', packages: new Map() },
      onStep: () => {},
    },
  );

describe.runIf(process.platform === 'linux')('a package index', () => {
  // guarantee: package-sources
  // proves: A page of an index that unpacks without end, and a wheel without end, end with an error, and no file is left.
  test.each([
    ['a page that unpacks without end', 'bomb', /sent more than fits in 1 GiB of memory/],
    ['a wheel without end', 'parcel', /a file exceeds 512 MiB/],
  ])('that sends %s causes an error, and no file is left', async (_, name, problem) => {
    await expect(find(name)).rejects.toThrow(problem);
    expect(readdirSync(temporary)).toEqual([]);
  });
});
