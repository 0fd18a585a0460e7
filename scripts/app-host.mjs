/**
 * A web page that shows MCP apps with the published host bridge (`AppBridge` of @modelcontextprotocol/ext-apps), for the browser
 * tests. The page is a client of the server under test, whose requests it sends through this server, because the server under test
 * refuses other origins. Apps run in a frame with an origin of its own and the policy that the extension prescribes.
 */
import { createServer, request as forward } from 'node:http';
import { join } from 'node:path';
import { build } from 'esbuild';
import { installPinned } from './install-pinned-packages.mjs';

const PACKAGES = [
  '@modelcontextprotocol/ext-apps@2.0.4',
  '@modelcontextprotocol/client@2.4.0',
  '@modelcontextprotocol/core@2.4.0',
  'zod@4.6.7',
];

/** The default policy of hosts. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self' 'unsafe-inline'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "media-src 'self' data:",
  "connect-src 'none'",
  "frame-src 'none'",
  "object-src 'none'",
  "base-uri 'self'",
].join('; ');

/** `openApp` calls a tool and shows its result in the app of the tool. `record` has what the app asked for. */
const PAGE_SCRIPT = `
import { AppBridge, getToolUiResourceUri, PostMessageTransport } from '@modelcontextprotocol/ext-apps/app-bridge';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const extensions = { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } };
const client = new Client({ name: 'host', version: '1' }, { capabilities: { extensions } });
const connected = client.connect(new StreamableHTTPClientTransport(new URL('/mcp', location.href)));
globalThis.record = { context: [], downloads: [], calls: [], sizes: 0 };
globalThis.callTool = async (name, args) => {
  await connected;
  return client.callTool({ name, arguments: args });
};
globalThis.openApp = async (name, args, { theme = 'light', capabilities, refuses, forge } = {}) => {
  await connected;
  const { tools } = await client.listTools();
  const tool = tools.find((one) => one.name === name);
  const uri = getToolUiResourceUri(tool);
  const { contents } = await client.readResource({ uri });
  await fetch('/app', { method: 'POST', body: contents[0].text });
  const result = forge ?? (await client.callTool({ name, arguments: args }));
  const frame = document.createElement('iframe');
  frame.sandbox = 'allow-scripts';
  frame.title = 'App';
  frame.style = 'width: 100%; height: 300px; border: 0';
  document.body.replaceChildren(frame);
  const offered = capabilities ?? { serverTools: {}, serverResources: {}, downloadFile: {}, updateModelContext: { text: {} } };
  const variables = theme === 'dark' ? { '--color-background-primary': '#101820' } : {};
  const bridge = new AppBridge(client, { name: 'host', version: '1' }, offered, { hostContext: { theme, styles: { variables } } });
  bridge.onupdatemodelcontext = async ({ content }) => (record.context.push(content[0].text), {});
  bridge.ondownloadfile = async ({ contents }) => (record.downloads.push(contents[0]), {});
  bridge.addEventListener('sizechange', ({ height }) => {
    record.sizes++;
    frame.style.height = height + 'px';
  });
  const ready = new Promise((resolve) => bridge.addEventListener('initialized', resolve));
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  if (refuses)
    bridge.oncalltool = async () => {
      throw new Error('The person said no.');
    };
  else {
    bridge.oncalltool = async (params) => {
      record.calls.push(params.name);
      return client.callTool(params);
    };
  }
  frame.src = '/app';
  await ready;
  await bridge.sendToolInput({ arguments: args });
  await bridge.sendToolResult(result);
  globalThis.bridge = bridge;
  return result.structuredContent;
};
`;

const PAGE =
  '<!doctype html><html lang="en"><title>Host</title><body><script type="module" src="/host.js"></script>';

async function hostScript() {
  const modules = join(installPinned('mcp-app-host', PACKAGES), 'node_modules');
  const { outputFiles } = await build({
    stdin: { contents: PAGE_SCRIPT, resolveDir: join(modules, '..') },
    bundle: true,
    format: 'esm',
    platform: 'browser',
    write: false,
    logLevel: 'error',
  });
  return outputFiles[0].text;
}

/** Starts the host for the server at `address`, the one with a token that the command `playground` prints. */
export async function startAppHost(address) {
  const target = new URL(address);
  const token = new URLSearchParams(target.hash.slice(1)).get('token');
  const script = await hostScript();
  let app = '';
  const send = (response, type, body, headers = {}) =>
    response.writeHead(200, { 'content-type': `${type}; charset=utf-8`, ...headers }).end(body);
  const server = createServer(async (request, response) => {
    if (request.url === '/') return send(response, 'text/html', PAGE);
    if (request.url === '/host.js') return send(response, 'text/javascript', script);
    if (request.url === '/favicon.ico') return response.writeHead(204).end();
    if (request.url === '/app' && request.method === 'GET')
      return send(response, 'text/html', app, { 'content-security-policy': POLICY });
    if (request.url === '/app') {
      app = await text(request);
      return response.writeHead(204).end();
    }
    const { origin: _, ...headers } = request.headers;
    const options = { host: target.hostname, port: target.port, path: request.url, method: request.method };
    const sent = { ...headers, host: target.host, authorization: `Bearer ${token}` };
    const forwarded = forward({ ...options, headers: sent }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    forwarded.on('error', () => response.destroy());
    request.pipe(forwarded);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${server.address().port}/`, close };
}

async function text(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
