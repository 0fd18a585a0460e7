/** The sandbox slot of TanStack AI, with the published package. */
import { join } from 'node:path';
import { tanstackSandboxProvider } from 'llm-wasm-sandbox/adapters';
import { describe, expect, type TestContext, test } from 'vitest';
import { INSTALL_TIMEOUT_MS, install, runSlotExample, typeErrors } from './framework-project.ts';

const PACKAGES = ['@tanstack/ai-sandbox@0.2.4', '@tanstack/ai@0.58.0'];
const installed = (context: TestContext) => install('tanstack', PACKAGES, context);

const TYPED = `
import { defineSandbox, type SandboxHandle, type SandboxProvider } from '@tanstack/ai-sandbox';
import { tanstackSandboxProvider } from 'llm-wasm-sandbox/adapters';
export const provider: SandboxProvider = tanstackSandboxProvider({ policy: { timeout_seconds: 10 } });
export const handle: SandboxHandle = await tanstackSandboxProvider().create();
defineSandbox({ id: '', provider });
`;

async function textOf(stream: AsyncIterable<string>): Promise<string> {
  let text = '';
  for await (const chunk of stream) text += chunk;
  return text;
}

describe('TanStack AI sandbox', { timeout: INSTALL_TIMEOUT_MS }, () => {
  test('has the types of the package', (context) => {
    expect(typeErrors(installed(context), TYPED)).toBe('');
  });

  test('is set up by the package', (context) => {
    expect(runSlotExample('tanstack', installed(context))).toBe('AGENTS.md\nCLAUDE.md\nGEMINI.md\n42\n');
  });

  test('is resumed, restored from a snapshot and destroyed by the package', async (context) => {
    const { defineSandbox, defineWorkspace, InMemorySandboxStore } = await import(
      join(installed(context), '@tanstack/ai-sandbox/dist/esm/index.js')
    );
    const provider = tanstackSandboxProvider();
    const workspace = defineWorkspace({
      source: { type: 'none' },
      setup: ['echo ready > state', 'cat state'],
    });
    const sandbox = defineSandbox({ id: 'coder', provider, workspace });
    const ctx = { threadId: 't', runId: 'r', store: new InMemorySandboxStore() };
    const first = await sandbox.ensure(ctx);
    await first.fs.write('/workspace/state', 'changed');
    const again = await sandbox.ensure({ ...ctx, runId: 'r2' });
    expect([again.id, await again.fs.read('state')]).toEqual([first.id, 'changed']);
    const { latestSnapshotId } = await ctx.store.get(sandbox.key(ctx));
    const restored = await provider.restoreSnapshot({ snapshotId: latestSnapshotId });
    expect(await restored.fs.read('/app/state')).toBe('ready\n');
    await restored.destroy();
    await sandbox.destroy(ctx);
    expect(await provider.resume({ id: first.id })).toBeNull();
  });
});

describe('handle of TanStack AI', () => {
  test('runs commands and processes', async () => {
    const { process, env, destroy } = await tanstackSandboxProvider().create({ env: { A: '1' } });
    try {
      await env.set({ B: '2' });
      const command = 'echo $A $B $C; pwd; exit 5';
      expect(await process.exec(command, { env: { C: '3' } })).toEqual({
        stdout: '1 2 3\n/app\n',
        stderr: '',
        exitCode: 5,
      });
      const cat = await process.spawn('cat; echo end >&2');
      await cat.stdin.write('hello\n');
      await cat.stdin.end();
      expect([await textOf(cat.stdout), await textOf(cat.stderr), await cat.wait()]).toEqual([
        'hello\n',
        'end\n',
        0,
      ]);
      const endless = await process.spawn('while :; do :; done');
      await endless.kill('SIGTERM');
      expect(await endless.wait()).toBe(137);
    } finally {
      await destroy();
    }
  });

  test('changes files, and forks have their own', async () => {
    const handle = await tanstackSandboxProvider().create();
    const { fs } = handle;
    await fs.mkdir('/workspace/a/b');
    await fs.write('a/x', new Uint8Array([104, 105]));
    await fs.rename('a/x', '/app/a/b/y');
    const fork = await handle.fork();
    await fs.remove('a/b');
    expect(await fs.list('a')).toEqual([]);
    expect(await fork.fs.list('a')).toEqual([{ name: 'b', path: '/app/a/b', type: 'dir' }]);
    expect([await fork.fs.read('a/b/y'), await fs.exists('a/b/y')]).toEqual(['hi', false]);
    await expect(fs.remove('a/b')).rejects.toThrow('no file or folder');
    await expect(fs.read('/etc/passwd')).rejects.toThrow('not in the workspace');
    await expect(handle.ports.connect(80)).rejects.toThrow('a sandbox has no ports');
    await expect(handle.git.clone()).rejects.toThrow('there is no git');
    await fork.destroy();
    await handle.destroy();
  });
});
