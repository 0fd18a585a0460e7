/** Attacks on the MCP server over HTTP: authentication, web pages, other tenants, malformed and expensive requests. */
import type { AttackTable, ServerAttack, ServerRequest } from '../attack.ts';
import { FORGERIES } from './forgery-attacks.ts';
import { LARGE_CONTENT } from './large-content-attacks.ts';
import { PROTOCOLS } from './protocol-attacks.ts';
import { knownFrom, slug } from './rows.ts';

const rpc = (method: string, params: Record<string, unknown> = {}) =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { _meta: META, ...params } });

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'redteam', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

const MODERN = (method: string) => ({ 'mcp-protocol-version': '2026-07-28', 'mcp-method': method });
const list = (extra: ServerRequest = {}): ServerRequest => ({
  headers: MODERN('tools/list'),
  body: () => rpc('tools/list'),
  ...extra,
});
const withHeaders = (headers: Record<string, string>, extra: ServerRequest = {}) =>
  list({ ...extra, headers: { ...MODERN('tools/list'), ...headers } });

/** A body that must be answered with an error and not delay other clients. */
const malformed = (name: string, body: () => string, reference?: string): ServerAttack => ({
  name: `body-${name}`,
  requests: [list({ body, status: [200, 400, 413, 422], reject: /\.js:\d|node_modules/ })],
  ...knownFrom(reference),
});

const UNHANDLED = 'CVE-2025-53365 (MCP Python SDK)';
const REBINDING = 'CVE-2025-66414 (MCP TypeScript SDK)';

const AUTHENTICATION: readonly ServerAttack[] = [
  {
    name: 'token-missing',
    requests: [list({ as: null, status: [401] })],
    reference: 'CVE-2025-49596 (MCP Inspector)',
  },
  ...Object.entries({
    wrong: 'Bearer wrong-secret-0123456789',
    empty: 'Bearer ',
    'basic-scheme': 'Basic YW5uOmFubg==',
    'name-of-a-tenant': 'Bearer ann',
    'name-and-secret': 'Bearer ann={{ann}}',
    'with-suffix': 'Bearer {{ann}}x',
    prefix: 'Bearer redteam-',
    twice: 'Bearer {{ann}} {{ann}}',
  }).map(
    ([name, authorization]): ServerAttack => ({
      name: `token-${name}`,
      requests: [withHeaders({ authorization }, { as: null, status: [401] })],
    }),
  ),
  {
    name: 'token-in-query',
    requests: [list({ as: null, path: '/mcp?access_token={{ann}}&token={{ann}}', status: [401] })],
  },
  { name: 'metrics-without-token', requests: [{ as: null, method: 'GET', path: '/metrics', status: [401] }] },
  {
    name: 'metrics-of-another-tenant',
    requests: [
      { tool: 'execute_code', arguments: { language: 'python', code: '1' }, status: [200] },
      { as: 'bob', method: 'GET', path: '/metrics', status: [401], reject: /ann/ },
    ],
  },
  ...[
    '/mcp/../metrics',
    '/metrics/',
    '//metrics',
    '/%6detrics',
    '/mcp/',
    '/MCP',
    '/mcp%00',
    '/.env',
    '/../../etc/passwd',
  ].map(
    (path, i): ServerAttack => ({
      name: `path-${i + 1}-${slug(path)}`,
      requests: [{ as: null, method: 'GET', path, status: [400, 401, 403, 404] }],
    }),
  ),
];

const WEB_PAGES: readonly ServerAttack[] = [
  {
    name: 'host-of-a-web-page',
    requests: [withHeaders({ host: 'evil.example' }, { status: [403] })],
    reference: REBINDING,
  },
  {
    name: 'host-with-user',
    requests: [withHeaders({ host: 'localhost@evil.example' }, { status: [400, 403] })],
    reference: REBINDING,
  },
  {
    name: 'host-as-suffix',
    requests: [withHeaders({ host: '127.0.0.1.evil.example' }, { status: [403] })],
    reference: REBINDING,
  },
  {
    name: 'origin-of-a-web-page',
    requests: [withHeaders({ origin: 'https://evil.example' }, { status: [403] })],
    reference: 'CVE-2025-49596 (MCP Inspector)',
  },
  {
    name: 'origin-null',
    requests: [withHeaders({ origin: 'null' }, { status: [403] })],
    reference: 'CVE-2025-49596 (MCP Inspector)',
  },
  {
    name: 'origin-localhost-as-suffix',
    requests: [withHeaders({ origin: 'http://localhost.evil.example' }, { status: [403] })],
  },
  {
    name: 'simple-request-content-type',
    requests: [withHeaders({ 'content-type': 'text/plain' }, { status: [415] })],
  },
  {
    name: 'preflight-of-a-web-page',
    requests: [
      {
        as: null,
        method: 'OPTIONS',
        headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
        status: [403],
      },
    ],
  },
];

const BODIES: readonly ServerAttack[] = [
  malformed('not-json', () => '{', UNHANDLED),
  malformed('empty', () => '', UNHANDLED),
  malformed('null', () => 'null', UNHANDLED),
  malformed('number', () => '7', UNHANDLED),
  malformed('text', () => '"x"', UNHANDLED),
  malformed('empty-batch', () => '[]', UNHANDLED),
  malformed('batch-of-nulls', () => `[${'null,'.repeat(10_000)}null]`, UNHANDLED),
  malformed('method-number', () => '{"jsonrpc":"2.0","id":1,"method":7}', UNHANDLED),
  malformed('method-prototype', () => rpc('__proto__'), UNHANDLED),
  malformed('method-constructor', () => rpc('constructor'), UNHANDLED),
  malformed(
    'params-prototype',
    () => '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"__proto__":{"x":1}}}',
  ),
  malformed('id-object', () => '{"jsonrpc":"2.0","id":{},"method":"tools/list"}', UNHANDLED),
  malformed('id-of-a-megabyte', () => `{"jsonrpc":"2.0","id":"${'x'.repeat(1e6)}","method":"tools/list"}`),
  malformed('not-utf-8', () => '{"jsonrpc":"2.0","id":1,"method":"\ud800"}'),
  malformed(
    'arrays-200000-deep',
    () => `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":${'['.repeat(2e5)}${']'.repeat(2e5)}}`,
  ),
  malformed(
    'objects-100000-deep',
    () => `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":${'{"a":'.repeat(1e5)}1${'}'.repeat(1e5)}}`,
  ),
  malformed('meta-of-200000-members', () =>
    rpc('tools/list', {
      _meta: { ...META, ...Object.fromEntries(Array.from({ length: 2e5 }, (_, i) => [`m${i}`, 0])) },
    }),
  ),
  malformed('arguments-of-200000-members', () =>
    rpc('tools/call', {
      name: 'list_runtimes',
      arguments: Object.fromEntries(Array.from({ length: 2e5 }, (_, i) => [`a${i}`, 0])),
    }),
  ),
  malformed('progress-token-of-a-megabyte', () =>
    rpc('tools/list', { _meta: { ...META, progressToken: 'x'.repeat(1e6) } }),
  ),
  malformed(
    'backtracking-uri',
    () => rpc('resources/read', { uri: `workspace://${'a/'.repeat(1e5)}` }),
    'CVE-2026-0621 (MCP TypeScript SDK)',
  ),
  {
    name: 'body-too-large',
    requests: [list({ body: () => ' '.repeat(9 * 1024 * 1024), status: [413] })],
  },
];

const call = (tool: string, args: Record<string, unknown>, extra: ServerRequest = {}): ServerRequest => ({
  tool,
  arguments: args,
  status: [200, 400],
  ...extra,
});

const foreign = (tool: string, args: Record<string, unknown> = {}): ServerAttack => ({
  name: `tenant-${tool.replaceAll('_', '-')}`,
  requests: [
    call('create_session', { language: 'python', session_id: 'private' }, { reject: /^$/ }),
    call('write_file', { session_id: 'private', path: 'mine.txt', content: 'ann-private' }),
    call(
      tool,
      { ...args, session_id: 'private' },
      { as: 'bob', expect: /session_not_found/, reject: /ann-private/ },
    ),
    call('destroy_session', { session_id: 'private' }, { expect: /private/ }),
  ],
  reference: 'CVE-2026-25536 (MCP TypeScript SDK)',
});

const TENANTS: readonly ServerAttack[] = [
  foreign('execute_code', { language: 'python', code: "open('mine.txt').read()" }),
  foreign('read_file', { path: 'mine.txt' }),
  foreign('write_file', { path: 'mine.txt', content: '' }),
  foreign('get_workspace_info'),
  foreign('reset_workspace'),
  foreign('cancel_execution'),
  foreign('checkpoint_session'),
  foreign('rollback_session'),
  foreign('fork_session'),
  foreign('destroy_session'),
  {
    name: 'tenant-list-of-sessions',
    requests: [
      call('create_session', { language: 'python', session_id: 'private-listed' }),
      call('get_active_sessions', {}, { as: 'bob', reject: /private-listed/ }),
      call('destroy_session', { session_id: 'private-listed' }),
    ],
  },
  {
    name: 'tenant-guessed-connection',
    requests: [
      {
        headers: { 'mcp-session-id': '00000000-0000-4000-8000-000000000000' },
        body: () => JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
        status: [400, 404],
      },
    ],
    reference: 'CVE-2025-6515 (oatpp-mcp)',
  },
];

const PATHS = [
  '../../../etc/passwd',
  '/etc/passwd',
  '..',
  '/app/../x',
  'a/../../x',
  '{{secret_file}}',
  'a\0b',
];

const TOOLS: readonly ServerAttack[] = [
  ...PATHS.map(
    (path, i): ServerAttack => ({
      name: `read-file-outside-${i + 1}`,
      requests: [
        call(
          'read_file',
          { path },
          { expect: /invalid_path|file_not_found|invalid_argument/, reject: /root:/ },
        ),
      ],
      reference: 'CVE-2025-53110 (MCP filesystem server)',
    }),
  ),
  ...PATHS.map(
    (path, i): ServerAttack => ({
      name: `write-file-outside-${i + 1}`,
      requests: [call('write_file', { path, content: 'x' }, { expect: /invalid_path|invalid_argument/ })],
      reference: 'CVE-2025-53109 (MCP filesystem server)',
    }),
  ),
  ...['../evil', '/etc', '..', 'a/b', 'x'.repeat(300)].map(
    (session_id, i): ServerAttack => ({
      name: `session-name-${i + 1}`,
      requests: [
        call('create_session', { language: 'python', session_id }, { expect: /invalid|Invalid|error/ }),
      ],
    }),
  ),
  {
    name: 'limits-above-the-ceiling',
    requests: [
      call(
        'execute_code',
        { language: 'python', code: 'while True: pass', fuel_budget: 9e15, timeout_seconds: 86_400 },
        { expect: /fuel_budget: must be at most/ },
      ),
    ],
  },
  {
    name: 'unknown-arguments',
    requests: [
      call('execute_code', { language: 'python', code: '1', mounts: { '/x': '/etc' } }, { reject: /root:/ }),
    ],
  },
  {
    name: 'resource-outside',
    requests: [
      {
        headers: { ...MODERN('resources/read'), 'mcp-name': 'workspace://default/../../../../etc/passwd' },
        body: () => rpc('resources/read', { uri: 'workspace://default/../../../../etc/passwd' }),
        status: [200, 400, 404],
        reject: /root:/,
      },
    ],
  },
  {
    name: 'resource-of-a-host-file',
    requests: [
      {
        headers: { ...MODERN('resources/read'), 'mcp-name': 'file:///etc/passwd' },
        body: () => rpc('resources/read', { uri: 'file:///etc/passwd' }),
        status: [200, 400, 404],
        reject: /root:/,
      },
    ],
  },
];

/** Longer than the main thread may stand still. */
const SHORT = { timeout: 1.3 };

const stalling = (
  name: string,
  code: string,
  language: string,
  extra: Record<string, unknown> = {},
): ServerAttack => ({
  name: `stall-${name}`,
  requests: [call('execute_code', { language, code, ...extra }, { status: [200] })],
});

const python: readonly ServerAttack[] = [
  stalling('busy-program', 'while True: pass', 'python', SHORT),
  stalling('sleeping-program', 'import time\ntime.sleep(3600)', 'python', SHORT),
  stalling('deep-folders', "import os\nfor i in range(1500):\n    os.mkdir('d'); os.chdir('d')", 'python'),
  stalling('many-files', "for i in range(3000): open(f'{i:0>200}', 'w').close()", 'python'),
  stalling('output-that-is-not-utf-8', "import os\nos.write(1, b'\\xff' * 20_000_000)", 'python'),
  {
    name: 'stall-large-file-of-a-program',
    requests: [
      call(
        'execute_code',
        { language: 'python', code: "open('big.txt', 'w').write('é' * 15_000_000)" },
        { status: [200], expect: /Succeeded/ },
      ),
      call('read_file', { path: 'big.txt' }, { status: [200], expect: /characters omitted/ }),
      call('read_file', { path: 'big.txt', offset: 14_999_000 }, { status: [200], expect: /éé/ }),
    ],
  },
  {
    name: 'stall-reset',
    requests: [call('reset_workspace', {}, { status: [200] })],
  },
  {
    name: 'host-path-in-answer',
    requests: [
      call(
        'execute_code',
        { language: 'python', code: 'raise ValueError' },
        { reject: /redteam-secret|node_modules|dist\/worker/ },
      ),
    ],
  },
];

const javascript: readonly ServerAttack[] = [
  stalling('busy-program', 'for (;;) {}', 'javascript', SHORT),
  stalling('newlines', '\n'.repeat(120_000), 'javascript'),
  stalling('comments', '/*'.repeat(100_000), 'javascript'),
  stalling('templates', '`${'.repeat(60_000), 'javascript'),
  {
    name: 'stall-newlines-in-a-session',
    requests: [
      call('create_session', { language: 'javascript', session_id: 'newlines' }),
      call(
        'execute_code',
        { language: 'javascript', session_id: 'newlines', code: '\n'.repeat(120_000) },
        { status: [200] },
      ),
      call(
        'execute_code',
        { language: 'javascript', session_id: 'newlines', code: '6 * 7' },
        { status: [200], expect: /42/ },
      ),
      call('destroy_session', { session_id: 'newlines' }),
    ],
  },
  {
    name: 'language-of-another-session',
    requests: [
      call('create_session', { language: 'python', session_id: 'typed' }),
      call(
        'execute_code',
        { language: 'javascript', session_id: 'typed', code: '1' },
        { expect: /session_mismatch/ },
      ),
      call('destroy_session', { session_id: 'typed' }),
    ],
  },
];

export const SERVER: AttackTable = {
  any: [
    ...AUTHENTICATION,
    ...WEB_PAGES,
    ...BODIES,
    ...TENANTS,
    ...TOOLS,
    ...LARGE_CONTENT,
    ...FORGERIES,
    ...PROTOCOLS,
  ],
  python,
  javascript,
};
