/** The workspace quota in bytes and in files, against every way to exceed it. */
import { createSandbox, memoryStore } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';

const LIMIT = 1_000_000;
const policy = { workspace_max_bytes: LIMIT, workspace_max_files: 50 };

describe('workspace quota', () => {
  test('is available again after files are deleted', async () => {
    await using sandbox = await createSandbox({ runtime: 'python', policy });
    const result = await sandbox.execute(`import os
for i in range(10):
    with open('x', 'wb') as f: f.write(bytes(900_000))
    os.remove('x')
'went on'`);
    expect(result.metadata.result).toBe('went on');
  });

  test('is reported to the program as disk size', async () => {
    await using sandbox = await createSandbox({ runtime: 'python', policy });
    const result = await sandbox.execute("import shutil\nshutil.disk_usage('/app').total <= 1_000_000");
    expect(result.metadata.result).toBe(true);
  });

  describe('advice', () => {
    const CREATE_FILES = {
      python: "for i in range(100):\n    open(f'f{i}', 'w').close()",
      javascript: "for (let i = 0; i < 100; i++) require('fs').writeFileSync('f' + i, '')",
    };
    const CREATE_DATA = {
      python: "open('x', 'wb').write(bytes(2_000_000))",
      javascript: "require('fs').writeFileSync('x', Buffer.alloc(2_000_000))",
    };
    const LONG_PATHS = {
      python: "import os\nfor i in range(100):\n    os.makedirs('d' * 250 + f'/{i}' * 100)",
      javascript:
        "for (let i = 0; i < 100; i++) require('fs').mkdirSync('d'.repeat(250) + ('/' + i).repeat(100), { recursive: true })",
    };
    const cases = (['python', 'javascript'] as const).flatMap(
      (runtime) =>
        [
          [runtime, 'the number of files', CREATE_FILES[runtime], {}, 'workspace_max_files=256'],
          [runtime, 'the size of the files', CREATE_DATA[runtime], {}, 'workspace_max_bytes=2_000_000'],
          [
            runtime,
            'the length of the paths',
            LONG_PATHS[runtime],
            { workspace_max_files: 1_000 },
            'workspace_max_files=2_000',
          ],
        ] as const,
    );

    test.each(cases)('in %s names the limit on %s', async (runtime, _, code, change, suggested) => {
      await using sandbox = await createSandbox({ runtime, policy: { ...policy, ...change } });
      const guidance = (await sandbox.execute(code)).metadata.error_guidance!;
      expect(guidance.error_type).toBe('WorkspaceQuota');
      const advice = guidance.actionable_guidance.filter((line) => line.includes('workspace_max_'));
      expect(advice).toEqual([`Or create a sandbox with a larger quota: policy.${suggested}`]);
    });

    test('is about the last refused change of the call, not about an earlier call', async () => {
      await using sandbox = await createSandbox({
        runtime: 'python',
        policy,
        session_id: 'quota-advice',
        store: memoryStore(),
        auto_persist_globals: true,
      });
      const adviceFor = async (code: string) =>
        (await sandbox.execute(code)).metadata.error_guidance!.actionable_guidance.join('\n');
      expect(await adviceFor(CREATE_FILES.python)).toContain('workspace_max_files=');
      const raised = 'import errno\nraise OSError(errno.ENOSPC, "No space left on device")';
      expect(await adviceFor(raised)).not.toContain('workspace_max_files=');
    });
  });

  test('of zero allows no files and still runs programs', async () => {
    await using sandbox = await createSandbox({
      runtime: 'python',
      policy: { workspace_max_bytes: 0, workspace_max_files: 0 },
    });
    expect((await sandbox.execute("open('x', 'w')")).metadata.error?.type).toBe('OSError');
    expect((await sandbox.execute('1 + 1')).metadata.result).toBe(2);
  });
});
