/** What programs display, through the tools and resources of the server. */
import type { Client } from '@modelcontextprotocol/client';
import type { HttpServer } from 'llm-wasm-sandbox/mcp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ResultCache } from '../../src/mcp/result-cache.ts';
import { call, httpClient, startHttp } from '../support/mcp.ts';

/** A program that displays a table, HTML, and images of 2 × 2 and 2000 × 1 pixels. */
const PROGRAM = `
import struct, zlib
def png(width, height):
    chunk = lambda kind, data: struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
    header = struct.pack('>IIBBBBB', width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress((b'\\0' + b'\\x80' * width) * height)
    return b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', header) + chunk(b'IDAT', rows) + chunk(b'IEND', b'')
display([{'city': 'Rome', 'people': 2.7}])
display('<b>page</b>', mime='text/html')
display(png(2, 2), mime='image/png')
open('wide.png', 'wb').write(png(2000, 1))
None`;

interface Listed {
  readonly id: string;
  readonly mime: string;
  readonly uri: string;
}

describe('results over MCP', () => {
  let server: HttpServer;
  let client: Client;
  let session_id = '';
  let listed: Listed[] = [];
  let text = '';

  beforeAll(async () => {
    server = await startHttp();
    client = await httpClient(server, 'modern');
    const created = await call(client, 'create_session', { language: 'python' });
    session_id = String(created.structured['session_id']);
    const answer = await call(client, 'execute_code', { code: PROGRAM, language: 'python', session_id });
    listed = answer.structured['results'] as Listed[];
    ({ text } = answer);
  });
  afterAll(async () => {
    await client.close();
    await server.close();
  });

  test('execute_code lists descriptions with URIs, and shows Markdown in the text', () => {
    expect(listed).toMatchObject([
      { id: 'r1', mime: 'text/markdown' },
      { id: 'r2', mime: 'text/html', size_bytes: 11 },
      { id: 'r3', mime: 'image/png', width: 2, height: 2 },
      { id: 'r4', mime: 'image/png', width: 2000, height: 1, path: 'wide.png' },
    ]);
    expect(listed.map(({ uri }) => uri)).toEqual(
      ['r1', 'r2', 'r3', 'r4'].map((id) => `result://${session_id}/${id}`),
    );
    expect(text).toContain('| Rome | 2.7 |');
    expect(text).toContain('r3: image/png, 2 × 2 pixels');
    expect(text).toContain(`view_result(ids=["…"], session_id="${session_id}")`);
  });

  test('execute_code does not repeat a plain value, and has no list without results', async () => {
    const answer = await call(client, 'execute_code', { code: '6 * 7', language: 'python' });
    expect(answer.structured).not.toHaveProperty('results');
    expect(answer.text).not.toContain('results:');
  });

  test('view_result returns images as images and other results as text, without structured content', async () => {
    const answer = await call(client, 'view_result', { ids: ['r1', 'r2', 'r3'], session_id });
    expect(answer.content).toMatchObject([{ type: 'text' }, { type: 'image', mimeType: 'image/png' }]);
    expect(answer.text).toContain('<b>page</b>');
    expect(answer.structured).toEqual({});
  });

  test('view_result names images that clients cannot show, and ids that do not exist', async () => {
    const wide = await call(client, 'view_result', { ids: ['r4'], session_id });
    expect(wide.content).toHaveLength(1);
    expect(wide.text).toContain('more than 1568 pixels');
    const missing = await call(client, 'view_result', { ids: ['r99'], session_id });
    expect([missing.isError, missing.text.includes('r4, r3, r2, r1')]).toEqual([true, true]);
    expect((await call(client, 'view_result', { ids: ['r1'] })).isError).toBe(true);
  });

  test('resources serve every result', async () => {
    const read = async (uri: string) => (await client.readResource({ uri })).contents[0]!;
    expect(await read(listed[0]!.uri)).toMatchObject({ mimeType: 'text/markdown' });
    expect(await read(listed[1]!.uri)).toMatchObject({ mimeType: 'text/html', text: '<b>page</b>' });
    for (const { uri } of listed.slice(2)) {
      const { mimeType, blob } = (await read(uri)) as { mimeType: string; blob: string };
      expect([mimeType, Buffer.from(blob, 'base64').subarray(1, 4).toString()]).toEqual(['image/png', 'PNG']);
    }
    await expect(read('result://default/r1')).rejects.toThrow('no longer cached');
    await expect(read(`result://${session_id}/r99`)).rejects.toThrow('no longer cached');
  });
});

describe('inline images', () => {
  test('are blocks of execute_code, which then has no structured content', async () => {
    const server = await startHttp({ inline_images: true });
    const client = await httpClient(server, 'modern');
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === 'execute_code')).not.toHaveProperty('outputSchema');
    const answer = await call(client, 'execute_code', { code: PROGRAM, language: 'python' });
    expect(answer.content.map(({ type }) => type)).toEqual(['text', 'image']);
    expect(answer.structured).toEqual({});
    await client.close();
    await server.close();
  });
});

describe('cached results', () => {
  test('are limited in number and size, and the oldest are evicted', () => {
    const cache = new ResultCache();
    const result = { id: 'r1', is_main_result: false, mime: 'text/html', size_bytes: 1 };
    for (let i = 0; i < 150; i++) cache.add('s', { ...result, html: 'x' });
    expect([cache.ids('s').length, cache.ids('s')[0], cache.get('s', 'r1')]).toEqual([
      100,
      'r150',
      undefined,
    ]);
    cache.add('s', { ...result, html: 'x'.repeat(20_000_000) });
    cache.add('t', { ...result, html: 'x'.repeat(20_000_000) });
    expect([cache.ids('s'), cache.ids('t')]).toEqual([[], ['r152']]);
    expect(cache.get('s', 'r152')).toBeUndefined();
  });
});
