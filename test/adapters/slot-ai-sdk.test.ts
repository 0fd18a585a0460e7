/** The sandbox slot of the AI SDK 7, with the published package. */
import { createSandbox } from 'llm-wasm-sandbox';
import { type AiSdkSandbox, aiSdkSandbox } from 'llm-wasm-sandbox/adapters';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { INSTALL_TIMEOUT_MS, install, runSlotExample, typeErrors } from './framework-project.ts';

const PACKAGES = ['ai@7.0.173', 'zod@4.6.7'];

const TYPED = `
import { type Experimental_SandboxSession, generateText, type LanguageModel } from 'ai';
import { createSandbox } from 'llm-wasm-sandbox';
import { aiSdkSandbox } from 'llm-wasm-sandbox/adapters';
declare const model: LanguageModel;
const session = await createSandbox({ runtime: 'bash', auto_persist_globals: true });
const sandbox: Experimental_SandboxSession = aiSdkSandbox(session);
await generateText({ model, prompt: '', experimental_sandbox: sandbox });
`;

describe('AI SDK sandbox', { timeout: INSTALL_TIMEOUT_MS }, () => {
  test('has the type of the package', (context) => {
    expect(typeErrors(install('ai-sdk', PACKAGES, context), TYPED)).toBe('');
  });

  test('runs the commands of a model', (context) => {
    expect(runSlotExample('ai-sdk', install('ai-sdk', PACKAGES, context))).toBe('answer.py\n42\n');
  });
});

describe('method of the AI SDK sandbox', () => {
  let close: () => Promise<void>;
  let sandbox: AiSdkSandbox;
  beforeAll(async () => {
    const session = await createSandbox({ runtime: 'bash', auto_persist_globals: true });
    sandbox = aiSdkSandbox(session);
    close = () => session.close();
  });
  afterAll(() => close());

  const read = async (stream: ReadableStream<Uint8Array>) => new Response(stream).text();

  test('run returns output, exit code, and errors as a shell reports them', async () => {
    const env = { NAME: "it's" };
    expect(await sandbox.run({ command: 'echo "$NAME"; echo bad >&2; exit 3', env })).toEqual({
      exitCode: 3,
      stdout: "it's\n",
      stderr: 'bad\n',
    });
    expect(await sandbox.run({ command: 'nothing-here' })).toMatchObject({ exitCode: 127 });
  });

  test('spawn limits the commands that run, also if they are started at the same time', async () => {
    const started = await Promise.allSettled(
      Array.from({ length: 40 }, () => sandbox.spawn({ command: 'sleep 1000' })),
    );
    const running = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    for (const process of running) await process.kill();
    await Promise.all(running.map((process) => process.wait()));
    expect(running).toHaveLength(32);
    await expect(sandbox.spawn({ command: 'true', workingDirectory: 'missing' })).rejects.toThrow('missing');
    expect(await (await sandbox.spawn({ command: 'exit 3' })).wait()).toEqual({ exitCode: 3 });
  });

  test('run starts in the given folder, and cd affects one command only', async () => {
    await sandbox.writeTextFile({ path: 'deep/er/a.txt', content: 'a' });
    expect(await sandbox.run({ command: 'pwd; cd ..', workingDirectory: 'deep/er' })).toMatchObject({
      stdout: '/app/deep/er\n',
    });
    expect(await sandbox.run({ command: 'pwd' })).toMatchObject({ stdout: '/app\n' });
    await expect(sandbox.run({ command: 'pwd', workingDirectory: 'missing' })).rejects.toThrow('missing');
    await expect(sandbox.run({ command: 'pwd', workingDirectory: '/etc' })).rejects.toThrow('below /app');
  });

  test('run and spawn end with their signal', async () => {
    const running = { command: 'while :; do :; done' };
    await expect(sandbox.run({ ...running, abortSignal: AbortSignal.timeout(300) })).rejects.toThrow(
      /timeout/,
    );
    const process = await sandbox.spawn({ ...running, abortSignal: AbortSignal.timeout(300) });
    await expect(process.wait()).rejects.toThrow(/timeout/);
  });

  test('spawn streams output, takes input and can be killed', async () => {
    const cat = await sandbox.spawn({ command: 'read line; echo "$line"; cat >&2', stdin: true });
    const writer = cat.stdin.getWriter();
    await writer.write(new TextEncoder().encode('one\ntwo\n'));
    await writer.close();
    expect(await Promise.all([read(cat.stdout), read(cat.stderr), cat.wait()])).toEqual([
      'one\n',
      'two\n',
      { exitCode: 0 },
    ]);
    const endless = await sandbox.spawn({ command: 'while :; do :; done' });
    await endless.kill();
    await endless.kill();
    expect(await endless.wait()).toEqual({ exitCode: 137 });
    expect('stdin' in endless).toBe(false);
  });

  test('spawn delivers bytes, more than it holds', async () => {
    const process = await sandbox.spawn({ command: 'head -c 3000000 /dev/zero; printf "\\377"' });
    const bytes = new Uint8Array(await new Response(process.stdout).arrayBuffer());
    expect([bytes.length, bytes.at(-1)]).toEqual([3_000_001, 255]);
  });

  test('files are written, read, listed and deleted', async () => {
    const content = new Blob(['1\n2\n3\n4']).stream();
    await sandbox.writeFile({ path: '/app/f/lines.txt', content });
    await sandbox.writeBinaryFile({ path: 'f/b', content: new Uint8Array([0, 255]) });
    await sandbox.run({ command: 'ln -s lines.txt f/link; ln -s nowhere f/broken' });
    expect(await sandbox.readTextFile({ path: 'f/lines.txt', startLine: 2, endLine: 3 })).toBe('2\n3\n');
    expect(await sandbox.readTextFile({ path: 'f/link', startLine: 4, endLine: 99 })).toBe('4');
    expect(await read((await sandbox.readFile({ path: 'f/lines.txt' }))!)).toBe('1\n2\n3\n4');
    expect([...(await sandbox.readBinaryFile({ path: 'f/b' }))!]).toEqual([0, 255]);
    expect(await sandbox.stat({ path: 'f/link' })).toEqual({ type: 'file', size: 7 });
    expect(await sandbox.stat({ path: 'f' })).toMatchObject({ type: 'directory' });
    expect(await sandbox.listDirectory({ path: 'f' })).toEqual([
      { name: 'b', type: 'file' },
      { name: 'broken', type: 'symlink' },
      { name: 'lines.txt', type: 'file' },
      { name: 'link', type: 'symlink' },
    ]);
    expect(await sandbox.deleteFile({ path: 'f/link' })).toBe(true);
    expect(await sandbox.deleteFile({ path: 'f/link' })).toBe(false);
    expect(await sandbox.stat({ path: 'f/lines.txt' })).not.toBeNull();
  });

  test('a missing file is null, and a folder is not a file', async () => {
    const path = 'none/x';
    for (const method of ['readFile', 'readBinaryFile', 'readTextFile', 'stat', 'listDirectory'] as const)
      expect(await sandbox[method]({ path }), method).toBeNull();
    await sandbox.writeTextFile({ path: 'g/h', content: '' });
    await expect(sandbox.writeTextFile({ path: 'g', content: '' })).rejects.toThrow('is a folder');
    await expect(sandbox.deleteFile({ path: 'g' })).rejects.toThrow('is a folder');
    await expect(sandbox.listDirectory({ path: 'g/h' })).rejects.toThrow('not a folder');
    await expect(sandbox.readFile({ path: '../etc/passwd' })).rejects.toThrow('not in the workspace');
  });
});
