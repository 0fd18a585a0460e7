/** The sandbox slot of the OpenAI Agents SDK, with the published package. */
import { join } from 'node:path';
import { memoryStore } from 'llm-wasm-sandbox';
import { type OpenAiSandboxSession, openAiSandboxClient } from 'llm-wasm-sandbox/adapters';
import { describe, expect, type TestContext, test } from 'vitest';
import { INSTALL_TIMEOUT_MS, install, runSlotExample, typeErrors } from './framework-project.ts';
import { PNG } from './models/programs.mjs';

const PACKAGES = ['@openai/agents@0.20.0', 'zod@4.6.7'];
const installed = (context: TestContext) => install('openai-agents', PACKAGES, context);

const TYPED = `
import { applyDiff, run } from '@openai/agents';
import { Manifest, type SandboxClient, SandboxAgent, type SandboxSession } from '@openai/agents/sandbox';
import { openAiSandboxClient } from 'llm-wasm-sandbox/adapters';
const client = openAiSandboxClient({ Manifest, applyDiff });
export const session: SandboxSession = await client.create();
export const checked: SandboxClient = client;
await run(new SandboxAgent({ name: '' }), '', { sandbox: { client } });
`;

/** Creates a client with the classes of the package, and a sandbox. */
async function withSandbox(
  context: TestContext,
  use: (
    sandbox: OpenAiSandboxSession<unknown>,
    client: ReturnType<typeof openAiSandboxClient>,
  ) => Promise<void>,
): Promise<void> {
  const folder = join(installed(context), '@openai/agents/dist');
  const { applyDiff } = await import(join(folder, 'index.mjs'));
  const { Manifest } = await import(join(folder, 'sandbox/index.mjs'));
  const client = openAiSandboxClient({ Manifest, applyDiff }, { store: memoryStore() });
  const children = { 'b.txt': { type: 'file', content: 'one\ntwo\n' } };
  const entries = { 'a.txt': { type: 'file', content: 'a' }, deep: { type: 'dir', children } };
  const sandbox = await client.create({ manifest: new Manifest({ entries, environment: { NAME: 'x' } }) });
  try {
    await use(sandbox, client);
  } finally {
    await sandbox.close();
  }
}

describe('OpenAI Agents sandbox', { timeout: INSTALL_TIMEOUT_MS }, () => {
  test('has the types of the package', (context) => {
    expect(typeErrors(installed(context), TYPED)).toBe('');
  });

  test('runs the commands of a model', (context) => {
    expect(runSlotExample('openai-agents', installed(context))).toBe('1 2 3\n42\n\n');
  });

  test('exec runs commands with the files and variables of the manifest', (context) =>
    withSandbox(context, async (sandbox) => {
      const found = await sandbox.exec({ cmd: 'cat a.txt deep/b.txt; echo $NAME; echo bad >&2; exit 4' });
      expect(found).toMatchObject({ exitCode: 4, stdout: 'aone\ntwo\nx\n', stderr: 'bad\n' });
      expect(await sandbox.exec({ cmd: 'pwd', workdir: '/workspace/deep' })).toMatchObject({
        stdout: '/app/deep\n',
      });
      expect(await sandbox.execCommand({ cmd: 'echo hi' })).toMatch(/exited with code 0\nOutput:\nhi\n$/);
      const short = await sandbox.exec({ cmd: 'seq 10000', maxOutputTokens: 10 });
      expect(short.stdout.length).toBeLessThan(100);
      await expect(sandbox.exec({ cmd: 'ls', tty: true })).rejects.toThrow('terminal is not available');
      await expect(sandbox.exec({ cmd: 'ls', runAs: 'root' })).rejects.toThrow(
        'another user is not available',
      );
      expect(sandbox.supportsPty()).toBe(false);
      await expect(sandbox.resolveExposedPort(80)).rejects.toThrow('has no ports');
    }));

  test('files are read, listed, patched and shown', (context) =>
    withSandbox(context, async (sandbox) => {
      const text = async (path: string) => new TextDecoder().decode(await sandbox.readFile({ path }));
      expect(await sandbox.listDir({ path: '/workspace' })).toEqual([
        { name: 'a.txt', path: '/app/a.txt', type: 'file' },
        { name: 'deep', path: '/app/deep', type: 'dir' },
      ]);
      expect(await text('deep/b.txt')).toBe('one\ntwo\n');
      const editor = sandbox.createEditor();
      await editor.createFile({ path: 'new/c.txt', diff: '+x\n+y' });
      await editor.updateFile({ path: 'deep/b.txt', diff: '@@\n one\n-two\n+three\n', moveTo: 'd.txt' });
      expect([await text('new/c.txt'), await text('d.txt')]).toEqual(['x\ny', 'one\nthree\n']);
      await editor.deleteFile({ path: 'd.txt' });
      expect([await sandbox.pathExists('d.txt'), await sandbox.directoryExists('deep')]).toEqual([
        false,
        true,
      ]);
      await sandbox.materializeEntry({ path: 'p.b64', entry: { type: 'file', content: PNG } });
      await sandbox.exec({ cmd: 'base64 -d p.b64 > p.png' });
      expect((await sandbox.viewImage({ path: 'p.png' })).image.mediaType).toBe('image/png');
      await expect(sandbox.viewImage({ path: 'a.txt' })).rejects.toThrow('not a supported image');
      await expect(sandbox.materializeEntry({ path: 'x', entry: { type: 'git_repo' } })).rejects.toThrow(
        'type git_repo is not available',
      );
    }));

  test('persistWorkspace and hydrateWorkspace are checkpoints, also after the sandbox was resumed', (context) =>
    withSandbox(context, async (sandbox, client) => {
      const data = await sandbox.persistWorkspace();
      await sandbox.exec({ cmd: 'rm -r *; echo later > later.txt' });
      await sandbox.hydrateWorkspace(data);
      expect((await sandbox.exec({ cmd: 'ls' })).stdout).toBe('a.txt\ndeep\n');
      await sandbox.exec({ cmd: 'rm -r *' });
      const stored = JSON.parse(JSON.stringify(await client.serializeSessionState(sandbox.state)));
      await sandbox.close();
      const resumed = await client.resume(await client.deserializeSessionState(stored));
      try {
        expect((await resumed.exec({ cmd: 'ls' })).stdout).toBe('');
        await resumed.hydrateWorkspace(data);
        expect((await resumed.exec({ cmd: 'ls' })).stdout).toBe('a.txt\ndeep\n');
        for (const other of ['tar', 'null', '{"checkpoint":{}}'])
          await expect(resumed.hydrateWorkspace(other)).rejects.toThrow('not from persistWorkspace');
      } finally {
        await resumed.close();
      }
    }));
});
