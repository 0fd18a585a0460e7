import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport as OldTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer as OldServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { McpServer } from '@modelcontextprotocol/server';
import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { fromMcp, type McpClient } from '../../packages/core/src/tools/from-mcp.ts';
import { ToolDispatcher } from '../../packages/core/src/tools/tool-dispatcher.ts';
import { Toolset } from '../../packages/core/src/tools/toolset.ts';

const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] });
const signals: AbortSignal[] = [];

function addTools(server: Pick<McpServer, 'registerTool'>): void {
  server.registerTool(
    'add-up',
    {
      description: 'Adds.',
      inputSchema: z.object({ a: z.number() }),
      outputSchema: z.object({ sum: z.number() }),
      annotations: { readOnlyHint: true },
    },
    async ({ a }) => ({ ...text('3'), structuredContent: { sum: a + 1 } }),
  );
  server.registerTool('greet', { inputSchema: z.object({ name: z.string() }) }, async ({ name }) =>
    text(`Hello ${name}`),
  );
  server.registerTool('fail', {}, async () => ({
    isError: true,
    ...text('The file /home/ada/x does not exist.'),
  }));
  server.registerTool('image', {}, async () => ({
    content: [{ type: 'image' as const, data: 'eA==', mimeType: 'image/png' }],
  }));
  server.registerTool('wait', {}, async (...args: unknown[]) => {
    const context = args.at(-1) as { signal?: AbortSignal; mcpReq?: { signal: AbortSignal } };
    const signal = (context.signal ?? context.mcpReq?.signal)!;
    signals.push(signal);
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve(text('stopped'))));
  });
}

async function connectNew(): Promise<McpClient> {
  const server = new McpServer({ name: 's', version: '1' });
  addTools(server);
  const [a, b] = InMemoryTransport.createLinkedPair();
  await server.connect(a as never);
  const client = new Client({ name: 'c', version: '1' });
  await client.connect(b);
  return client;
}

async function connectOld(): Promise<McpClient> {
  const server = new OldServer({ name: 's', version: '1' });
  addTools(server as never);
  const [a, b] = OldTransport.createLinkedPair();
  await server.connect(a);
  const client = new OldClient({ name: 'c', version: '1' });
  await client.connect(b);
  return client;
}

describe.each([
  ['2', connectNew],
  ['1', connectOld],
])('tools of an MCP client of SDK %s', (_, connect) => {
  it('are called with checked arguments, and their results are data', async () => {
    const onApproval = vi.fn(async () => true);
    const toolset = Toolset.from({ demo: await fromMcp(await connect()) });
    const run = new ToolDispatcher(toolset, { cannotPause: 'it has no session', onApproval });
    let id = 0;
    const call = (name: string, args: object = {}) =>
      run.call({ id: ++id, name, argumentsJson: JSON.stringify(args) });
    expect(toolset.catalog.map(({ name }) => name)).toEqual(
      ['add-up', 'fail', 'greet', 'image', 'wait'].map((name) => `demo.${name}`),
    );
    expect(await call('demo.add_up', { a: 1 })).toEqual({ type: 'value', json: '{"sum":2}' });
    expect(onApproval).not.toHaveBeenCalled();
    expect(await call('demo.add-up', { a: 'x' })).toMatchObject({ code: 'invalid_arguments' });
    expect(await call('demo.greet', { name: 'Ada' })).toEqual({ type: 'value', json: '"Hello Ada"' });
    expect(onApproval).toHaveBeenCalledTimes(1);
    expect(await call('demo.fail')).toMatchObject({
      code: 'failed',
      message: 'The file /home/ada/x does not exist.',
    });
    expect(await call('demo.image')).toEqual({
      type: 'value',
      json: '[{"type":"image","data":"eA==","mimeType":"image/png"}]',
    });
    const waiting = call('demo.wait');
    await vi.waitFor(() => expect(signals).toHaveLength(1), 60_000);
    run.abort('the test is over');
    await waiting;
    await vi.waitFor(() => expect(signals[0]?.aborted).toBe(true), 60_000);
  });
});

describe('tools of a hostile MCP server', () => {
  const client = (tools: readonly unknown[], nextCursor?: string): McpClient => ({
    listTools: async () => ({ tools, nextCursor }),
    callTool: async () => ({ content: [], structuredContent: undefined }),
  });

  // guarantee: untrusted-tool-servers
  it('are left out if their names or schemas cannot be used', async () => {
    const skipped: string[] = [];
    const tools = await fromMcp(
      client([
        { name: 'good', inputSchema: { type: 'object' } },
        { name: 'good', inputSchema: { type: 'object' } },
        { name: 'bad\nname' },
        { name: 5 },
        { name: 'ref', inputSchema: { $ref: 'file:///etc/passwd' } },
        { name: 'pattern', inputSchema: { pattern: '(?<=x)y' } },
        { name: 'large', inputSchema: { title: 'x'.repeat(100_000) } },
        { name: '__proto__', inputSchema: { type: 'object' } },
      ]),
      { onSkip: (name, reason) => skipped.push(`${name}: ${reason}`) },
    );
    expect(Object.keys(tools)).toEqual(['good', '__proto__']);
    expect(skipped).toHaveLength(6);
    expect(Toolset.from({ server: tools }).catalog).toHaveLength(2);
  });

  // guarantee: untrusted-tool-servers
  it('are limited in number, and an endless list is cut off', async () => {
    const many = Array.from({ length: 300 }, (_, i) => ({ name: `t${Math.random()}${i}` }));
    expect(Object.keys(await fromMcp(client(many, 'again')))).toHaveLength(300);
    await expect(fromMcp(client('x' as never))).rejects.toThrow('did not return a list');
  });

  it('must return structured content if they have an output schema', async () => {
    const tools = await fromMcp(client([{ name: 'a', outputSchema: { type: 'object' } }]), {
      needsApproval: false,
    });
    const run = new ToolDispatcher(Toolset.from(tools), { cannotPause: 'it has no session' });
    expect(await run.call({ id: 1, name: 'a', argumentsJson: '{}' })).toMatchObject({
      code: 'failed',
      message: expect.stringContaining('no structured content'),
    });
  });
});
