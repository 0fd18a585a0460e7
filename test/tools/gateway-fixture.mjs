/**
 * An MCP server for tests of the gateway. Its list contains a tool with a schema that must not be compiled or followed. The
 * variable TOOLS replaces the list by tools with the given names.
 */
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { createInterface } from 'node:readline';

const object = { type: 'object' };
const names = process.env.TOOLS?.split(' ');
const TOOLS = names?.map((name) => ({ name, inputSchema: object })) ?? [
  { name: 'echo', inputSchema: { type: 'object', properties: { text: { type: 'string' } } } },
  { name: 'environment', inputSchema: object, annotations: { readOnlyHint: true } },
  { name: 'exit', inputSchema: object },
  { name: 'wait', inputSchema: object },
  { name: 'fork', inputSchema: object },
  { name: 'hostile', inputSchema: { type: 'object', $ref: 'file:///etc/passwd' } },
];

// The error of this list is longer than a log line may be.
const REFUSAL = process.env.REFUSE && 'x'.repeat(1_000_000);
const refuse = (id) =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, error: { code: -1, message: REFUSAL } })}\n`);
const send = (id, result) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
const text = (value) => ({ content: [{ type: 'text', text: value }] });

const CALLS = {
  echo: ({ text: value }) => text(value),
  environment: ({ folder }) =>
    text(JSON.stringify(folder ? { cwd: process.cwd(), files: readdirSync('.') } : process.env)),
  exit: () => process.exit(1),
  wait: () => undefined,
  fork: () => text(String(spawn('sleep', ['300'], { stdio: ['ignore', 'inherit', 'ignore'] }).pid)),
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === 'initialize')
    send(id, {
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'fixture', version: '1' },
    });
  else if (method === 'tools/list' && REFUSAL) refuse(id);
  else if (method === 'tools/list') send(id, { tools: TOOLS });
  else if (method === 'tools/call') {
    const result = CALLS[params.name](params.arguments ?? {});
    if (result !== undefined) send(id, result);
  } else if (id !== undefined) send(id, {});
});
