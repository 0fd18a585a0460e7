import { mkdirSync, mkdtempSync, readFileSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, test } from 'vitest';
import { call, newClient } from '../support/mcp.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const guide = read('docs/MCP_INTEGRATION.md');

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

/** Creates a project with this package installed, so that npx finds it without a registry. */
function project(): string {
  const folder = mkdtempSync(join(tmpdir(), 'project-'));
  mkdirSync(join(folder, 'node_modules/.bin'), { recursive: true });
  symlinkSync(root, join(folder, 'node_modules/llm-wasm-sandbox'));
  symlinkSync(join(root, 'dist/cli/main.js'), join(folder, 'node_modules/.bin/llm-wasm-sandbox'));
  return folder;
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
    await client.connect(new StdioClientTransport({ command, args, cwd: project(), stderr: 'ignore' }));
    const { structured } = await call(client, 'execute_code', { code: '6 * 7', language: 'javascript' });
    expect(structured).toMatchObject({ success: true, result: 42 });
    await client.close();
  });

  test('has the section that guidance about restricted paths links to', () => {
    expect(guide).toMatch(/^## Security considerations$/m);
  });
});
