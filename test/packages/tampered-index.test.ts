/**
 * Packages on demand from a package index that is reachable and lies: what was approved is used, anything else changes nothing.
 *
 * @module-tag full
 */
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createSandbox } from 'llm-wasm-sandbox';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { sha256Hex } from '../../packages/core/src/framing/digest.ts';
import { runCliHere } from '../support/cli.ts';
import { setEnvironment } from '../support/environment.ts';
import { folderOfFile } from '../support/folders.ts';
import { wheel } from './wheel-fixtures.ts';

const folder = folderOfFile();
const FILE = 'parcel-1.0-py3-none-any.whl';
setEnvironment({
  LLM_WASM_SANDBOX_PACKAGES_DIR: join(folder, 'packages'),
  LLM_WASM_SANDBOX_PYODIDE_URL: join(folder, 'no-distribution'),
  PIP_CONFIG_FILE: '/dev/null',
  PIP_NO_CACHE_DIR: '1',
  PIP_FIND_LINKS: '',
  PIP_INDEX_URL: '',
});

let server: Server;
let approved: Buffer;
let changed: Buffer;
let other: Buffer;
/** What the index does: the digest in its link, and the bytes or the address that it sends. */
let index: { digest?: string; bytes?: Buffer; redirect?: string };
const served: string[] = [];

/** Bytes of a wheel that is built in a folder of its own. */
async function wheelBytes(place: string, name: string, text: string): Promise<Buffer> {
  mkdirSync(join(folder, place));
  return readFileSync(await wheel(join(folder, place), name, '1.0', { [`${name}.py`]: text }));
}

beforeAll(async () => {
  approved = await wheelBytes('approved', 'parcel', 'x = "approved"\n');
  changed = await wheelBytes('changed', 'parcel', 'x = "changed"\n');
  other = await wheelBytes('other', 'stranger', 'x = "other"\n');
  const locked = await runCliHere(['packages', 'lock', join(folder, 'approved')], join(folder, 'store'));
  expect(locked).toMatchObject({ status: 0 });
  server = createServer((request, response) => {
    served.push(request.url!);
    if (request.url === '/simple/parcel/') {
      const fragment = index.digest === undefined ? '' : `#sha256=${index.digest}`;
      return response
        .writeHead(200, { 'content-type': 'text/html' })
        .end(`<!DOCTYPE html><html><body><a href="/files/${FILE}${fragment}">${FILE}</a></body></html>`);
    }
    if (request.url === '/files/stranger-1.0-py3-none-any.whl') return response.writeHead(200).end(other);
    if (request.url !== `/files/${FILE}`) return response.writeHead(404).end();
    if (index.redirect !== undefined) return response.writeHead(302, { location: index.redirect }).end();
    return response.writeHead(200, { 'content-type': 'application/zip' }).end(index.bytes);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  process.env['PIP_INDEX_URL'] = `http://127.0.0.1:${(server.address() as AddressInfo).port}/simple`;
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
});

const added = join(folder, 'packages', 'packages.json');
beforeEach(() => {
  rmSync(added, { force: true });
  served.length = 0;
});

async function importParcel() {
  await using sandbox = await createSandbox({ runtime: 'python', packages: 'auto' });
  return await sandbox.execute('import parcel\nparcel.x');
}

test('a wheel that was approved is added', async () => {
  index = { digest: sha256Hex(approved), bytes: approved };
  const { metadata } = await importParcel();
  expect(metadata.result).toBe('approved');
  expect(metadata.packages_added).toMatchObject([{ name: 'parcel', version: '1.0' }]);
});

const LIES: Record<string, [lie: () => typeof index, problem: RegExp]> = {
  'that was changed after it was approved': [
    () => ({ digest: sha256Hex(changed), bytes: changed }),
    /unknown digest/,
  ],
  'whose link has no digest': [() => ({ bytes: changed }), /unknown digest/],
  'that does not have the digest of its link': [
    () => ({ digest: sha256Hex(approved), bytes: changed }),
    /parcel.*(?:hash|HASH|digest|match)/s,
  ],
  'that is cut off': [() => ({ digest: sha256Hex(approved), bytes: approved.subarray(0, 200) }), /parcel/],
  'that is another file after a redirect': [
    () => ({ redirect: '/files/stranger-1.0-py3-none-any.whl' }),
    /parcel/,
  ],
};

test.each(Object.entries(LIES))('a wheel %s changes nothing', async (_, [lie, problem]) => {
  index = lie();
  const { success, metadata, stderr } = await importParcel();
  expect(served.length).toBeGreaterThan(0);
  expect(success).toBe(false);
  expect(stderr).toContain("No module named 'parcel'");
  expect(metadata.packages_added).toMatchObject([{ problem: expect.stringMatching(problem) }]);
  expect(existsSync(added)).toBe(false);
  // The next import of the approved file works.
  index = { digest: sha256Hex(approved), bytes: approved };
  expect((await importParcel()).metadata.result).toBe('approved');
});
