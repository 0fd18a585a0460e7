/**
 * An MCP server for tests of the gateway. Its list contains a tool with a schema that must not be compiled or followed. The
 * variable TOOLS replaces the list by tools with the given names, MANY by that many tools. HOSTILE names an attack of the tool
 * `attack`, or of the list. Before the time HOSTILE_FROM, a hostile server only refuses to list its tools. With STUBBORN, the
 * server ignores SIGTERM.
 */
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { createInterface } from 'node:readline';

const object = { type: 'object' };
const names = process.env.TOOLS?.split(' ');
const many = process.env.MANY && Array.from({ length: Number(process.env.MANY) }, (_, i) => `t${i}`);
const TOOLS = (names ?? many)?.map((name) => ({ name, inputSchema: object })) ?? [
  { name: 'echo', inputSchema: { type: 'object', properties: { text: { type: 'string' } } } },
  { name: 'environment', inputSchema: object, annotations: { readOnlyHint: true } },
  { name: 'exit', inputSchema: object },
  { name: 'wait', inputSchema: object },
  { name: 'pid', inputSchema: object },
  { name: 'fork', inputSchema: object },
  { name: 'attack', inputSchema: object },
  { name: 'hostile', inputSchema: { type: 'object', $ref: 'file:///etc/passwd' } },
];

// The error of this list is longer than a log line may be.
const REFUSAL = process.env.REFUSE && 'x'.repeat(1_000_000);
const isCalm = () => process.env.HOSTILE && Date.now() < Number(process.env.HOSTILE_FROM);
const refuse = (id) =>
  process.stdout.write(
    `${JSON.stringify({ jsonrpc: '2.0', id, error: { code: -1, message: REFUSAL ?? 'calm' } })}\n`,
  );
const send = (id, result) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
const text = (value) => ({ content: [{ type: 'text', text: value }] });

const CALLS = {
  echo: ({ text: value }) => text(value),
  environment: ({ folder }) =>
    text(JSON.stringify(folder ? { cwd: process.cwd(), files: readdirSync('.') } : process.env)),
  exit: () => process.exit(1),
  wait: () => undefined,
  pid: () => text(String(process.pid)),
  fork: () => text(String(spawn('sleep', ['300'], { stdio: ['ignore', 'inherit', 'ignore'] }).pid)),
};

if (process.env.STUBBORN) process.on('SIGTERM', () => {});

/** Writes as fast as the reader allows. */
async function flood(text) {
  for (;;)
    if (!process.stdout.write(text)) await new Promise((resolve) => process.stdout.once('drain', resolve));
}
const notification = (method) => `${JSON.stringify({ jsonrpc: '2.0', method })}\n`.repeat(100);
const ATTACKS = {
  members: (id) => send(id, { structuredContent: { list: Array(150_000).fill({}) }, content: [] }),
  'hidden-members': (id) =>
    process.stdout.write(
      `{"jsonrpc":"2.0","id":${id},"x":"\\\\","result":{"l":[${Array(150_000).fill('"a\\""')}]}}\n`,
    ),
  bytes: (id) => send(id, text('x'.repeat(11 * 1024 * 1024))),
  line: () => flood('x'.repeat(65_536)),
  pings: () => flood(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })}\n`.repeat(100)),
  changes: () => flood(notification('notifications/tools/list_changed')),
  logs: () => flood(notification('notifications/message')),
  answers: () => flood(`${JSON.stringify({ jsonrpc: '2.0', id: 999, result: {} })}\n`.repeat(100)),
  large: () => flood(`${JSON.stringify({ jsonrpc: '2.0', method: 'x', params: { t: 'x'.repeat(2e6) } })}\n`),
  garbage: () => process.stdout.write('garbage\n'),
  binary: () => process.stdout.write(Buffer.from([0, 255, 254, 10])),
};
CALLS.attack = (_, id) => void ATTACKS[process.env.HOSTILE](id);

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === 'initialize')
    send(id, {
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'fixture', version: '1' },
    });
  else if (method === 'tools/list' && (REFUSAL || isCalm())) refuse(id);
  else if (method === 'tools/list' && process.env.HOSTILE?.startsWith('list-'))
    ATTACKS[process.env.HOSTILE.slice(5)](id);
  else if (method === 'tools/list') send(id, { tools: TOOLS });
  else if (method === 'tools/call') {
    const result = CALLS[params.name](params.arguments ?? {}, id);
    if (result !== undefined) send(id, result);
  } else if (id !== undefined) send(id, {});
});
