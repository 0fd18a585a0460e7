/** The sandbox slot of deepagents, with the published package, its agent and LangChain's scripted model. */
import { createSandbox, type Session } from 'llm-wasm-sandbox';
import { deepAgentsSandbox } from 'llm-wasm-sandbox/adapters';
import { describe, expect, type TestContext, test } from 'vitest';
import { INSTALL_TIMEOUT_MS, install, runSlotExample, typeErrors } from './framework-project.ts';

/** The newest version, and the newest of its dependencies whose requirements the registry fulfils together. */
const PACKAGES = [
  'deepagents@1.14.1',
  'langchain@1.5.10',
  '@langchain/core@1.2.13',
  '@langchain/langgraph@1.4.12',
  '@langchain/langgraph-sdk@1.9.30',
  '@langchain/langgraph-checkpoint@1.1.5',
];
const installed = (context: TestContext) => install('deepagents', PACKAGES, context);

const TYPED = `
import { BaseSandbox, createDeepAgent, type SandboxBackendProtocolV2 } from 'deepagents';
import { createSandbox } from 'llm-wasm-sandbox';
import { deepAgentsSandbox } from 'llm-wasm-sandbox/adapters';
const session = await createSandbox({ runtime: 'bash', session_id: 'x' });
const backend: SandboxBackendProtocolV2 = deepAgentsSandbox(BaseSandbox, session);
createDeepAgent({ backend });
`;

/** The methods of the protocol, whose types another test checks. */
interface Methods {
  read(path: string, offset?: number, limit?: number): Promise<object>;
  readRaw(path: string): Promise<object>;
  write(path: string, content: string): Promise<object>;
  edit(path: string, from: string, to: string): Promise<object>;
  grep(pattern: string, path?: string, glob?: string): Promise<object>;
  delete(path: string): Promise<object>;
}

const EXPECTED = `write_file: Successfully wrote to '/app/answer.py'
edit_file: Successfully replaced 1 occurrence(s) in '/app/answer.py'
ls: /app/answer.py (13 bytes)
read_file: @@ lines 1-1 of 1 @@
     1	print(6 * 7)
grep: /app/answer.py:
  1: print(6 * 7)
glob: answer.py
execute: 42

[Command succeeded with exit code 0]
`;

describe('deepagents sandbox', { timeout: INSTALL_TIMEOUT_MS }, () => {
  test('has the type of the package', (context) => {
    expect(typeErrors(installed(context), TYPED)).toBe('');
  });

  test('serves the file tools and commands of an agent', (context) => {
    expect(runSlotExample('deepagents', installed(context))).toBe(EXPECTED);
  });

  // The package's own class, with the methods that it derives from those of the adapter.
  test('implements the methods of the protocol', async (context) => {
    const { BaseSandbox } = await import(`${installed(context)}/deepagents/dist/index.js`);
    await withSession(async (session) => {
      const sandbox = deepAgentsSandbox<Methods>(BaseSandbox, session);
      await sandbox.write('/app/d/a.txt', 'one\ntwo\nthree\n');
      expect(await sandbox.read('/app/d/a.txt', 1, 1)).toMatchObject({
        content: '     2\ttwo\n',
        totalLines: 3,
      });
      expect(await sandbox.readRaw('/app/d/a.txt')).toMatchObject({ data: { content: 'one\ntwo\nthree\n' } });
      expect(await sandbox.edit('/app/d/a.txt', 'two', '2')).toMatchObject({ occurrences: 1 });
      expect(await sandbox.grep('2', '/app')).toEqual({
        matches: [{ path: '/app/d/a.txt', line: 2, text: '2' }],
      });
      expect(await sandbox.grep('2', '/app', '*.py')).toEqual({ matches: [] });
      expect(await sandbox.grep('2', '/app', '*.txt')).toMatchObject({ matches: [{ line: 2 }] });
      expect(await sandbox.delete('/app/d')).toMatchObject({ path: '/app/d' });
      expect(await sandbox.read('/app/d/a.txt')).toMatchObject({
        error: expect.stringContaining('not found'),
      });
      expect(await sandbox.write('/etc/passwd', 'x')).toEqual({
        error: 'Failed to write to /etc/passwd: invalid_path',
      });
    });
  });
});

describe('method of the deepagents sandbox', () => {
  test('ls and glob list files, and follow a link to a folder', () =>
    withSession(async (session) => {
      const { ls, glob, execute } = deepAgentsSandbox(class {}, session);
      await execute('mkdir -p d/e; echo x > d/e/f.py; echo yy > "d/a b.txt"; ln -s d l');
      expect(await ls('/')).toMatchObject({ files: [{ path: '/app/d/', is_dir: true }, { path: '/app/l' }] });
      const names = async (pattern: string, path?: string) =>
        (await glob(pattern, path)).files?.map(({ path }) => path);
      expect(await names('**/*.py')).toEqual(['d/e/f.py']);
      expect(await names('*.txt', '/app/l')).toEqual(['a b.txt']);
      expect(await names('*.py', '/app/d')).toEqual([]);
      expect(await ls('/app/none')).toMatchObject({ error: expect.stringContaining('none') });
      expect(await ls('/etc')).toMatchObject({ error: expect.stringContaining('workspace') });
      expect(await glob('*'.repeat(1000))).toMatchObject({ error: expect.stringContaining('limit is 256') });
    }));

  test('execute returns both streams, the exit code, and whether output is missing', () =>
    withSession(async (session) => {
      const { execute, id } = deepAgentsSandbox(class {}, session);
      expect(id).toBe(session.session_id);
      expect(await execute('echo out; echo err >&2; exit 3')).toEqual({
        output: 'out\nerr\n',
        exitCode: 3,
        truncated: false,
      });
      expect(await execute('yes | head -c 30000000')).toMatchObject({ truncated: true });
    }));

  test('uploadFiles and downloadFiles report the error of each file', () =>
    withSession(async (session) => {
      const { uploadFiles, downloadFiles } = deepAgentsSandbox(class {}, session);
      const bytes = Uint8Array.of(0, 255);
      expect(
        await uploadFiles([
          ['/app/d/x', bytes],
          ['/app/../etc/x', bytes],
          ['/app/d', bytes],
          ['/app/large', new Uint8Array(200 * 1024 * 1024)],
        ]),
      ).toEqual([
        { path: '/app/d/x', error: null },
        { path: '/app/../etc/x', error: 'invalid_path' },
        { path: '/app/d', error: 'invalid_path' },
        { path: '/app/large', error: 'permission_denied' },
      ]);
      expect(await downloadFiles(['/app/d/x', '/app/d', '/app/none', '/etc/passwd'])).toEqual([
        { path: '/app/d/x', content: bytes, error: null },
        { path: '/app/d', content: null, error: 'is_directory' },
        { path: '/app/none', content: null, error: 'file_not_found' },
        { path: '/etc/passwd', content: null, error: 'invalid_path' },
      ]);
    }));
});

async function withSession(work: (session: Session) => Promise<void>): Promise<void> {
  await using session = await createSandbox({ runtime: 'bash', auto_persist_globals: true });
  await work(session);
}
