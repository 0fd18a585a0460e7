/** The app of results as clients see it: negotiated, one document, and the data that it reads. */
import { createHash } from 'node:crypto';
import type { Client } from '@modelcontextprotocol/client';
import type { HttpServer } from 'llm-wasm-sandbox/mcp';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { folderOfTest } from '../support/folders.ts';
import { call, ERAS, type Era, httpClient, startHttp, stdioClient } from '../support/mcp.ts';
import { writeToolsConfig } from '../tools/tool-server.ts';

const URI = 'ui://llm-wasm-sandbox/result';
const MIME = 'text/html;profile=mcp-app';
/** What the app may add to the package. */
const MAX_BYTES = 100_000;

const ui = (mimeTypes: readonly string[]) => ({
  extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: [...mimeTypes] } },
});

describe.each(ERAS)('the app of results over http, %s era', (era) => testApp(era, 'http'));
describe.each(ERAS)('the app of results over stdio, %s era', { tags: 'full' }, (era) =>
  testApp(era, 'stdio'),
);

function testApp(era: Era, transport: 'http' | 'stdio'): void {
  let server: HttpServer | undefined;
  let withApps: Client;
  let without: readonly Client[];
  beforeAll(async () => {
    if (transport === 'http') server = await startHttp();
    const connect = async (capabilities: object) =>
      server === undefined
        ? (await stdioClient(era, undefined, capabilities)).client
        : httpClient(server, era, undefined, capabilities);
    withApps = await connect(ui([MIME]));
    // One client does not know the extension, and one knows apps of another type only.
    without = [await connect({}), await connect(ui(['text/uri-list']))];
  });
  afterAll(async () => {
    await Promise.all([withApps, ...without].map((client) => client.close()));
    await server?.close();
  });

  test('is named by the tools that run programs, for clients that declare apps', async () => {
    const { tools } = await withApps.listTools();
    const named = tools.filter(({ _meta }) => _meta !== undefined);
    expect(named.map(({ name, _meta }) => [name, _meta])).toEqual([
      ['execute_code', { ui: { resourceUri: URI } }],
    ]);
    for (const client of without) {
      const others = (await client.listTools()).tools;
      expect(others.every(({ _meta }) => _meta === undefined)).toBe(true);
      // All else is the same.
      expect(others).toEqual(tools.map(({ _meta, ...tool }) => tool));
    }
  });

  // guarantee: result-app
  // proves: Clients that do not declare apps can neither find nor read the app, and their tools and results are unchanged.
  test('is a resource that only these clients can read, and that is not listed', async () => {
    const { contents } = await withApps.readResource({ uri: URI });
    expect(contents).toEqual([
      expect.objectContaining({ uri: URI, mimeType: MIME, _meta: { ui: { csp: {}, prefersBorder: true } } }),
    ]);
    for (const client of [withApps, ...without]) {
      const { resources } = await client.listResources();
      expect(resources.filter(({ uri }) => uri.startsWith('ui:'))).toEqual([]);
    }
    for (const client of without) await expect(client.readResource({ uri: URI })).rejects.toThrow(URI);
  });

  // guarantee: result-app
  // proves: The app is one document whose policy allows its own script, styles and images that are data, and nothing else.
  test('is one small document that may load nothing and run only its own script', async () => {
    const [content] = (await withApps.readResource({ uri: URI })).contents;
    const { text } = content as { text: string };
    expect(Buffer.byteLength(text)).toBeLessThan(MAX_BYTES);
    const policy = /<meta http-equiv="Content-Security-Policy" content="([^"]*)">/.exec(text)![1]!;
    const [, script] = /<script type="module">([\s\S]*?)<\/script>/.exec(text)!;
    const digest = createHash('sha256').update(script!).digest('base64');
    expect(policy.split('; ')).toEqual([
      "default-src 'none'",
      `script-src 'sha256-${digest}'`,
      "style-src 'unsafe-inline'",
      'img-src data:',
      "base-uri 'none'",
      "form-action 'none'",
      "require-trusted-types-for 'script'",
      'trusted-types guest-html',
    ]);
    expect(text.match(/<script/g)).toHaveLength(1);
    expect(text).not.toMatch(/<link|@import|\bsrc="http|url\(["']?http/);
  });

  test('reads results in all of their forms', async () => {
    const code = 'display([{"a": 1, "b": "<b>"}])\ndisplay("<p>x</p>", mime="text/html")';
    const { structured } = await call(withApps, 'execute_code', { language: 'python', code });
    const forms = [];
    for (const { uri } of structured['results'] as { uri: string }[]) {
      const [content] = (await withApps.readResource({ uri: `${uri}.json` })).contents;
      const { mimeType, text } = content as { mimeType: string; text: string };
      expect(mimeType).toBe('application/json');
      forms.push(JSON.parse(text));
    }
    expect(forms).toEqual([
      expect.objectContaining({ data: '{"a":[1],"b":["<b>"]}', markdown: expect.any(String) }),
      expect.objectContaining({ html: '<p>x</p>' }),
    ]);
    await expect(withApps.readResource({ uri: 'result://default/none.json' })).rejects.toThrow('not exist');
  });
}

test('the app of results is also named by the tool that resumes programs', { tags: 'full' }, async () => {
  const server = await startHttp({ tools_config: writeToolsConfig(folderOfTest()) });
  const client = await httpClient(server, 'modern', undefined, ui([MIME]));
  onTestFinished(async () => {
    await client.close();
    await server.close();
  });
  const { tools } = await client.listTools();
  const named = tools.filter(({ _meta }) => _meta !== undefined).map(({ name }) => name);
  expect(named).toEqual(['execute_code', 'resume_execution']);
});
