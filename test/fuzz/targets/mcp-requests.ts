/**
 * Requests to an HTTP server on loopback: random JSON-RPC messages, tool arguments, headers and bytes, in both protocol eras.
 * Every request gets an answer that is not an internal error and does not name a path of the host, and the server stays
 * healthy.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { serveHttp } from 'llm-wasm-sandbox/mcp';
import { applyEdits, applyJsonEdits, edits, jsonEdits, rarely } from '../mutations.ts';
import type { FuzzTarget } from '../target.ts';

const SECRET = 'fuzz-secret-0123456789';
const MODERN = '2026-07-28';
const LEGACY = '2025-06-18';
const INTERNAL_ERROR = -32_603;
const MiB = 1024 * 1024;

const META = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientInfo': { name: 'fuzz', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

interface Message {
  readonly method: string;
  readonly params?: Record<string, unknown>;
}

interface ToolSchema {
  readonly name: string;
  readonly inputSchema: {
    readonly properties?: Record<string, PropertySchema>;
    readonly required?: readonly string[];
  };
}
interface PropertySchema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
}

const texts = fc.oneof(
  fc.constantFrom('one', 'two', 'default', 'a.txt', 'd/b.txt', '../up', '/etc/passwd', '', '\u0000', 'é'),
  fc.constantFrom(
    'python',
    'javascript',
    'json',
    'utf-8',
    'base64',
    'c1',
    'print(1)',
    '1 +',
    'x = 1; x',
    'throw 1',
  ),
  fc.constantFrom('while True: pass', 'raise ValueError("x")', 'open("f", "w").write("x")', 'for (;;);'),
  fc.string({ unit: 'binary', maxLength: 30 }),
);
const numbers = fc.oneof(fc.integer({ min: -2, max: 100 }), fc.constantFrom(0.1, 1e6, 1e9, 1e308, -1e9));
const junk = fc.jsonValue({ maxDepth: 3 });

/** A value for a property: mostly of its type. */
function anyValue({ type, enum: choices }: PropertySchema): fc.Arbitrary<unknown> {
  const fitting: fc.Arbitrary<unknown> =
    choices !== undefined
      ? fc.constantFrom(...choices)
      : type === 'number' || type === 'integer'
        ? numbers
        : type === 'boolean'
          ? fc.boolean()
          : type === 'object'
            ? fc.dictionary(texts, texts, { maxKeys: 3 })
            : type === 'array'
              ? fc.array(texts, { maxLength: 3 })
              : texts;
  return fc.oneof({ weight: 8, arbitrary: fitting }, { weight: 1, arbitrary: junk });
}

function toolCall({
  name,
  inputSchema: { properties = {}, required = [] },
}: ToolSchema): fc.Arbitrary<Message> {
  const values = Object.fromEntries(
    Object.entries(properties).map(([key, schema]) => [key, anyValue(schema)]),
  );
  return fc
    .record(values, { requiredKeys: [...required] })
    .map((args) => ({ method: 'tools/call', params: { name, arguments: args } }));
}

const uri = fc.oneof(
  fc.constantFrom(
    'workspace://default/a.txt',
    'workspace://one/f',
    'output://1/stdout',
    'file:///etc/passwd',
    'x',
  ),
  fc.tuple(texts, texts).map(([id, path]) => `workspace://${id}/${path}`),
);
const otherCalls: fc.Arbitrary<Message> = fc.oneof(
  fc
    .constantFrom(
      ...[
        'ping',
        'tools/list',
        'resources/list',
        'resources/templates/list',
        'prompts/list',
        'server/discover',
      ],
      ...['notifications/initialized', 'logging/setLevel', 'none', '', '__proto__'],
    )
    .map((method) => ({ method })),
  uri.map((each) => ({ method: 'resources/read', params: { uri: each } })),
  fc.tuple(texts, fc.dictionary(texts, texts, { maxKeys: 2 })).map(([name, args]) => ({
    method: 'prompts/get',
    params: { name, arguments: args },
  })),
  fc.tuple(uri, texts).map(([each, value]) => ({
    method: 'completion/complete',
    params: { ref: { type: 'ref/resource', uri: each }, argument: { name: 'path', value } },
  })),
  fc.record({ method: texts, params: fc.dictionary(texts, junk, { maxKeys: 3 }) }),
);

const envelope = fc.record({
  id: fc.oneof({ weight: 8, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: junk }),
  isModern: fc.boolean(),
  /** Changes to the method and the parameters, to the whole message, and to its bytes. */
  call: rarely(4, jsonEdits),
  message: rarely(10, jsonEdits),
  bytes: rarely(12, edits),
  header: rarely(
    8,
    fc.tuple(fc.constantFrom('mcp-protocol-version', 'mcp-session-id', 'mcp-method', 'accept'), texts),
  ),
});

/** Header values that an HTTP client can send. */
const printable = (text: string) => text.replace(/[^\x20-\x7e]/g, '?').trim();

type Envelope = typeof envelope extends fc.Arbitrary<infer T> ? T : never;

/** `legacySession` is the session of a client that uses the older protocol revision. */
function encode(what: Message, how: Envelope, legacySession: string) {
  const { id, isModern, call, message: changes, bytes, header } = how;
  // An edit may replace the whole message with null.
  const edited = (call === null ? what : applyJsonEdits(what, call)) as Message | null;
  const { method, params }: Partial<Message> = edited ?? {};
  const withMeta =
    isModern && typeof params === 'object' ? { ...params, _meta: META } : (params ?? { _meta: META });
  const message = { jsonrpc: '2.0', id, method, params: withMeta };
  const text = JSON.stringify(changes === null ? message : applyJsonEdits(message, changes)) ?? '';
  const name = params?.['name'] ?? params?.['uri'];
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    authorization: `Bearer ${SECRET}`,
    'mcp-protocol-version': isModern ? MODERN : LEGACY,
    ...(!isModern && legacySession !== '' && { 'mcp-session-id': legacySession }),
    ...(isModern && { 'mcp-method': printable(String(method)) }),
    ...(isModern && typeof name === 'string' && { 'mcp-name': printable(name) }),
    ...(header !== null && { [header[0]]: printable(header[1]) }),
  };
  const body = Buffer.from(text);
  return { headers, body: bytes === null ? body : applyEdits(new Uint8Array(body), bytes) };
}

/** The JSON-RPC messages of a response, which is JSON or a stream of events. */
function messagesOf(
  type: string,
  text: string,
): { error?: { code: number; message: string }; result?: unknown }[] {
  if (type.startsWith('application/json')) return [JSON.parse(text)].flat();
  const data = text.split(/\r?\n/).filter((line) => line.startsWith('data:') && line.length > 6);
  return data.map((line) => JSON.parse(line.slice(5)));
}

/** The SDK answers parameters that do not match its schema with the code of an internal error and a list of issues. */
function isInternalError(error: { code: number; message: string } | undefined): boolean {
  if (error?.code !== INTERNAL_ERROR) return false;
  try {
    return !Array.isArray(JSON.parse(error.message));
  } catch {
    return true;
  }
}

export const mcpRequests: FuzzTarget = {
  name: 'mcp-requests',
  shortRuns: 80,
  async open() {
    const folder = mkdtempSync(join(tmpdir(), 'fuzz-mcp-'));
    const limits = { timeout_seconds: 1, max_timeout_seconds: 1, fuel_budget: 1e8, max_fuel_budget: 1e8 };
    const memory = { memory_bytes: 64 * MiB, max_memory_bytes: 64 * MiB, max_body_bytes: MiB };
    const server = await serveHttp({
      ...limits,
      ...memory,
      port: 0,
      tokens: [`fuzz=${SECRET}`],
      store: folder,
      log_level: 'silent',
      rate_per_minute: 1_000_000,
      max_sessions: 4,
    });
    const hostPaths = [folder, fileURLToPath(new URL('../../../', import.meta.url))];
    const statuses = new Map<string, number>();

    async function send(request: { headers: Record<string, string>; body: Uint8Array }) {
      const response = await fetch(server.url, {
        method: 'POST',
        ...request,
        body: request.body as BodyInit,
      });
      const type = response.headers.get('content-type') ?? '';
      const session = response.headers.get('mcp-session-id') ?? '';
      return { status: response.status, type, session, text: await response.text() };
    }
    const plain: Envelope = { id: 1, isModern: true, call: null, message: null, bytes: null, header: null };
    const initialize = {
      method: 'initialize',
      params: { protocolVersion: LEGACY, capabilities: {}, clientInfo: { name: 'fuzz', version: '1' } },
    };
    const { session } = await send(encode(initialize, { ...plain, isModern: false }, ''));
    const listed = await send(encode({ method: 'tools/list' }, plain, session));
    const { tools } = messagesOf(listed.type, listed.text).at(-1)!.result as { tools: ToolSchema[] };
    const message = fc.oneof(
      { weight: 3, arbitrary: fc.oneof(...tools.map(toolCall)) },
      { weight: 1, arbitrary: otherCalls },
    );
    const property = fc.asyncProperty(message, envelope, async (what, how) => {
      const { status, type, text } = await send(encode(what, how, session));
      assert.ok(status < 500, `status ${status}: ${text}`);
      for (const path of hostPaths) assert.ok(!text.includes(path), `the answer contains ${path}: ${text}`);
      const messages = text === '' || type.startsWith('text/plain') ? [] : messagesOf(type, text);
      for (const { error } of messages) assert.ok(!isInternalError(error), text);
      const kind = messages.some(({ result }) => result !== undefined) ? 'result' : String(status);
      statuses.set(kind, (statuses.get(kind) ?? 0) + 1);
      const health = await fetch(new URL('/healthz', server.url));
      assert.equal(health.status, 200);
      await health.text();
    });
    return {
      property,
      checkCoverage: () => assert.ok((statuses.get('result') ?? 0) > 10, JSON.stringify([...statuses])),
      close: async () => {
        await server.close();
        rmSync(folder, { recursive: true, force: true });
      },
    };
  },
};
