/** @module-tag full */
import { readFileSync } from 'node:fs';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, test } from 'vitest';
import { installedProject } from '../support/doc-examples.ts';
import { call, newClient } from '../support/mcp.ts';

const guide = readFileSync(new URL('../../docs/MCP_INTEGRATION.md', import.meta.url), 'utf8');

interface ServerStart {
  readonly client: string;
  readonly command: string;
  readonly args: string[];
}

/** The commands with which the snippets of the guide start the server. */
function serverStarts(): ServerStart[] {
  return [...guide.matchAll(/<!-- snippet: ([\w -]+) -->\n```(json|sh)\n([\s\S]*?)```/g)].flatMap(
    ([, clients, kind, text]) =>
      clients!.split(' ').map((client) => {
        if (kind === 'sh') {
          const [command, ...args] = text!.trim().split(' -- ')[1]!.split(' ');
          return { client, command: command!, args };
        }
        const { mcpServers, servers } = JSON.parse(text!);
        const { command, args } = (mcpServers ?? servers).sandbox;
        return { client, command, args };
      }),
  );
}

describe('MCP integration guide', () => {
  test('has a snippet for each client', () => {
    expect(serverStarts().map(({ client }) => client)).toEqual([
      'claude-desktop',
      'cursor',
      'vscode',
      'claude-code',
    ]);
  });

  test.each(serverStarts())('has a snippet for $client that starts the server', async ({ command, args }) => {
    const client = newClient('legacy');
    await client.connect(
      new StdioClientTransport({ command, args, cwd: installedProject(), stderr: 'ignore' }),
    );
    const { structured } = await call(client, 'execute_code', { code: '6 * 7', language: 'javascript' });
    expect(structured).toMatchObject({ success: true, result: 42 });
    await client.close();
  });

  test('has the section that guidance about restricted paths links to', () => {
    expect(guide).toMatch(/^## Security considerations$/m);
  });
});
