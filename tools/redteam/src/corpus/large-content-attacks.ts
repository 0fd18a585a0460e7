/** Attacks on the server with large contents, text that is not valid Unicode, and names that have a special meaning. */
import type { ServerAttack, ServerRequest } from '../attack.ts';

/** Nearly the largest body that the server accepts. */
const BYTES = 4 * 1024 * 1024 - 4096;
const MAX_STALL_MS = 500;
/** JSON text with half of a pair of surrogates; the encoder of the client would replace it. */
const LONE = '\\ud800';

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'redteam', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** A request whose parameters are JSON text. */
const send = (method: string, name: string, params: () => string, extra: ServerRequest): ServerRequest => ({
  headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, 'mcp-name': name },
  body: () =>
    `{"jsonrpc":"2.0","id":1,"method":"${method}","params":{"_meta":${JSON.stringify(META)},${params()}}}`,
  status: [200],
  ...extra,
});

const call = (tool: string, args: () => string, extra: ServerRequest): ServerRequest =>
  send('tools/call', tool, () => `"name":"${tool}","arguments":{${args()}}`, extra);

const readResource = (uri: string, extra: ServerRequest): ServerRequest =>
  send('resources/read', uri, () => `"uri":"${uri}"`, extra);

/** Writes a large text twice and reads it as part and as a whole. */
const large = (name: string, text: () => string): ServerAttack => {
  const path = `large-${name}.txt`;
  const write = call('write_file', () => `"path":"${path}","content":"${text()}"`, { expect: /Wrote/ });
  return {
    name: `large-text-${name}`,
    requests: [
      write,
      write,
      call('read_file', () => `"path":"${path}"`, { expect: /characters omitted/ }),
      call('read_file', () => `"path":"${path}","offset":100000`, { expect: /characters omitted/ }),
      readResource(`workspace://default/${path}`, { expect: /text\/plain/ }),
      call('reset_workspace', () => '', { expect: /Deleted/ }),
    ],
    maxStallMs: MAX_STALL_MS,
  };
};

const invalid = (name: string, tool: string, args: string, expect: RegExp): ServerAttack => ({
  name: `unicode-${name}`,
  requests: [call(tool, () => args, { expect, reject: /"internal|Internal|URI malformed/ })],
});

const base64 = (name: string, content: () => string, expect: RegExp): ServerAttack => ({
  name: `base64-${name}`,
  requests: [
    call('write_file', () => `"path":"b","encoding":"base64","content":"${content()}"`, { expect }),
    call('reset_workspace', () => '', {}),
  ],
  maxStallMs: MAX_STALL_MS,
});

export const LARGE_CONTENT: readonly ServerAttack[] = [
  large('ascii', () => 'a'.repeat(BYTES)),
  large('lines', () => 'text\\n'.repeat(BYTES / 6)),
  large('two-bytes', () => 'é'.repeat(BYTES / 2)),
  large('three-bytes', () => '漢'.repeat(BYTES / 3)),
  large('emoji', () => '😀'.repeat(BYTES / 4)),
  large('escaped-pairs', () => '\\ud83d\\ude00'.repeat(BYTES / 12)),
  large('quotes', () => '\\"'.repeat(BYTES / 2)),
  base64('large', () => 'A'.repeat(BYTES), /Wrote/),
  base64('large-in-lines', () => `${'A'.repeat(76)}\\r\\n`.repeat(BYTES / 80), /Wrote/),
  base64('padding-inside', () => `${'A'.repeat(BYTES / 2)}=${'A'.repeat(BYTES / 4)}`, /not valid base64/),
  base64('invalid-at-the-end', () => `${'A'.repeat(BYTES)}*`, /not valid base64/),
  {
    name: 'control-characters-as-a-resource',
    requests: [
      call('write_file', () => `"path":"bells","encoding":"base64","content":"${'BwcH'.repeat(BYTES / 4)}"`, {
        expect: /Wrote/,
      }),
      // As text, every character would take six in the response.
      readResource('workspace://default/bells', { expect: /"blob"/, reject: /\\u0007\\u0007/ }),
      call('reset_workspace', () => '', {}),
    ],
    maxStallMs: MAX_STALL_MS,
  },
  invalid('path-to-read', 'read_file', `"path":"a${LONE}"`, /lone surrogates/),
  invalid('path-to-write', 'write_file', `"path":"${LONE}","content":""`, /lone surrogates/),
  invalid('content', 'write_file', `"path":"u","content":"x${LONE}y"`, /lone surrogate/),
  invalid('pair-in-the-wrong-order', 'write_file', `"path":"u","content":"\\ude00\\ud83d"`, /lone surrogate/),
  invalid('folder', 'list_files', `"folder":"${LONE}"`, /0 files/),
  invalid('session', 'read_file', `"path":"a","session_id":"${LONE}"`, /session_id/),
  invalid(
    'path-of-a-call',
    'execute_code',
    `"language":"javascript","code":"1","files":{"${LONE}":"x"}`,
    /invalid_path|invalid_argument/,
  ),
  {
    name: 'unicode-resource',
    requests: [
      readResource('workspace://default/%ED%A0%80', {
        status: [200, 400, 404],
        reject: /Internal|malformed/,
      }),
    ],
  },
  {
    name: 'default-workspace-destroyed',
    requests: [
      call('write_file', () => '"path":"d.txt","content":"x"', { expect: /Wrote/ }),
      call('destroy_session', () => '"session_id":"default"', { expect: /Destroyed session default/ }),
      call('list_files', () => '"session_id":"default"', { expect: /0 files/ }),
    ],
  },
  {
    name: 'wrong-tokens-before-a-right-one',
    requests: [
      ...['wrong-1', 'wrong-2', 'wrong-3'].map(
        (token): ServerRequest => ({
          as: null,
          headers: { authorization: `Bearer ${token}` },
          body: () => '{}',
          status: [401],
        }),
      ),
      call('list_files', () => '', { expect: /files in session/ }),
    ],
  },
];
