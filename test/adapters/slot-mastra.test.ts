/** The sandbox slot of Mastra's workspaces, with the published package. */
import { createSandbox } from 'llm-wasm-sandbox';
import { mastraSandbox } from 'llm-wasm-sandbox/adapters';
import { describe, expect, type TestContext, test } from 'vitest';
import { INSTALL_TIMEOUT_MS, install, runSlotExample, typeErrors } from './framework-project.ts';

const PACKAGES = ['@mastra/core@1.71.0', 'zod@4.6.7'];
const installed = (context: TestContext) => install('mastra', PACKAGES, context);

const TYPED = `
import { Workspace, type WorkspaceSandbox } from '@mastra/core/workspace';
import { createSandbox } from 'llm-wasm-sandbox';
import { mastraSandbox } from 'llm-wasm-sandbox/adapters';
const sandbox: WorkspaceSandbox = mastraSandbox(await createSandbox({ runtime: 'bash', session_id: 'x' }));
new Workspace({ sandbox });
`;

describe('Mastra sandbox', { timeout: INSTALL_TIMEOUT_MS }, () => {
  test('has the type of the package', (context) => {
    expect(typeErrors(installed(context), TYPED)).toBe('');
  });

  test('runs the commands of a model', (context) => {
    expect(runSlotExample('mastra', installed(context))).toBe('answer.py\n\n42\n\n');
  });
});

describe('method of the Mastra sandbox', () => {
  test('executeCommand quotes arguments, reports failures and ends at its timeout', async () => {
    await using session = await createSandbox({ runtime: 'bash', auto_persist_globals: true });
    const { executeCommand, writeFiles, snapshot } = mastraSandbox(session);
    await writeFiles([{ path: '/app/d/f', content: "it's" }]);
    const output: string[] = [];
    const options = { cwd: 'd', env: { A: '1' }, onStdout: (text: string) => output.push(text) };
    const result = await executeCommand('printf "%s|" $A', ["a b'c", '$(x)'], options);
    expect(result).toMatchObject({ success: true, exitCode: 0, stdout: "1|a b'c|$(x)|" });
    expect(output).toEqual(["1|a b'c|$(x)|"]);
    expect(await executeCommand('cat d/f; exit 3')).toMatchObject({
      success: false,
      exitCode: 3,
      stdout: "it's",
      timedOut: false,
    });
    expect(await executeCommand('while :; do :; done', [], { timeout: 500 })).toMatchObject({
      exitCode: 124,
      timedOut: true,
      killed: true,
    });
    await snapshot();
    expect(await session.checkpoints()).toHaveLength(1);
    await expect(writeFiles([{ path: 'x', content: '', mode: 0o600 }])).rejects.toThrow('mode');
  });
});
