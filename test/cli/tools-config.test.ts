import { mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runCli } from '../support/cli.ts';
import { folderOfFile } from '../support/folders.ts';
import { TOOL_SERVER, writeToolsConfig } from '../tools/tool-server.ts';

describe('--tools-config', () => {
  const folder = folderOfFile();
  const config = (settings: object) => writeToolsConfig(folder, settings);

  test('lets the program call tools, reads no other configuration, and reports unusable tools', async () => {
    const home = decoys();
    const code = 'print(await tools.demo.echo(text="hello"), {name.split(".")[0] for name in tools})';
    const args = ['run', '-c', code, '--tools-config', config({ approval: 'allow' })];
    const caches = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
    const env = { HOME: home, XDG_CONFIG_HOME: home, XDG_CACHE_HOME: caches };
    const { stdout, stderr, status } = await runCli(args, { cwd: home, env });
    expect([stdout, status]).toEqual(["hello {'demo'}\n", 0]);
    expect(stderr).toContain('tool hostile of MCP server demo: inputSchema: the schema cannot be used');
  });

  /** A home folder with configurations of other programs. */
  const decoys = () => {
    const server = { ...TOOL_SERVER, approval: 'allow' };
    const text = JSON.stringify({ mcpServers: { decoy: server }, servers: { decoy: server } });
    const home = join(folder, 'home');
    for (const name of [
      '.mcp.json',
      'mcp.json',
      'tools.json',
      'llm-wasm-sandbox.json',
      '.claude.json',
      '.claude/settings.json',
      '.cursor/mcp.json',
      '.vscode/mcp.json',
      '.gemini/settings.json',
      '.config/Claude/claude_desktop_config.json',
      'Library/Application Support/Claude/claude_desktop_config.json',
    ]) {
      mkdirSync(dirname(join(home, name)), { recursive: true });
      writeFileSync(join(home, name), text);
    }
    return home;
  };

  test('denies calls that need approval if there is neither a terminal nor a session', {
    tags: 'full',
  }, async () => {
    const code = 'try:\n  await tools.demo.echo(text="x")\nexcept ToolError as error:\n  print(error)';
    const { stdout } = await runCli(['run', '-c', code, '--tools-config', config({})]);
    expect(stdout).toBe(
      'The call was not approved. Reason: there is no terminal on which to ask for approval.\n',
    );
  });

  test('lets programs in a console call tools, and denies calls that need approval without a terminal', {
    tags: 'full',
  }, async () => {
    const path = config({ tools: ['echo', 'environment'] });
    const lines = [
      'async def ask(): return await tools.demo.echo(text="x")',
      '',
      'len(await tools.demo.environment()) > 0',
      'await ask()',
      '6 * 7',
    ];
    const { stdout, stderr, status } = await runCli(['repl', '--tools-config', path], {
      input: lines.join('\n'),
    });
    expect([stdout, status]).toEqual(['True\n42\n', 0]);
    expect(stderr).toContain('there is no terminal on which to ask for approval');
  });

  test('rejects an invalid file', { tags: 'full' }, async () => {
    const { stderr, status } = await runCli([
      'run',
      '-c',
      '1',
      '--tools-config',
      config({ autoApprove: ['*'] }),
    ]);
    expect(stderr).toContain('autoApprove');
    expect(status).not.toBe(0);
  });
});
