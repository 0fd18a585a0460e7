/** @module-tag full */
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { folderOfFile } from '../support/folders.ts';

const SCRIPT = new URL('../../scripts/compare-doctests.mjs', import.meta.url).pathname;
const folder = folderOfFile();
const hasPython = spawnSync('python3', ['--version']).status === 0;

const compare = (...args: readonly string[]) =>
  spawnSync(process.execPath, [SCRIPT, ...args], { encoding: 'utf8' });

beforeAll(() => {
  mkdirSync(join(folder, 'package'));
  const files = {
    'same.py':
      '"""\n>>> open("data.txt").read(), open("made.txt", "w").write("x")\n(\'text\', 1)\n"""\nprint("noise")\n',
    'data.txt': 'text',
    'package/differs.py':
      'import hashlib\n"""No doctest."""\ndef f():\n    """\n    >>> len(hashlib.scrypt(b"a", salt=b"b", n=2, r=1, p=1))\n    64\n    """\n',
    'package/not-importable.py': '"""\n>>> 1\n2\n"""\n',
    'plain.py': 'raise SystemExit("never imported")\n',
  };
  for (const [path, text] of Object.entries(files)) writeFileSync(join(folder, path), text);
});

describe('compare-doctests', () => {
  test.runIf(hasPython)('lists the modules that pass only natively, with the reason', () => {
    const { status, stdout } = compare('--no-packages', '--jobs', '1', '--json', folder);
    expect(JSON.parse(stdout)).toMatchObject({
      packages: [],
      counts: {
        modules: 4,
        without_doctests: 1,
        pass_natively: 2,
        pass_in_both: 1,
        pass_natively_only: 1,
        pass_in_sandbox_only: 0,
      },
      modules: [
        {
          module: 'package/differs.py',
          native: { status: 'passed', examples: 1 },
          sandbox: { status: 'failed', failures: 1, reason: expect.stringContaining('Error: ') },
        },
        {
          module: 'package/not-importable.py',
          native: { status: 'failed', reason: '1 printed 1' },
          sandbox: { status: 'failed', reason: '1 printed 1' },
        },
        { module: 'same.py', native: { status: 'passed' }, sandbox: { status: 'passed' } },
      ],
    });
    expect(status).toBe(1);
  });

  test('explains its arguments', () => {
    expect(compare('--help').stdout).toContain('Usage: node scripts/compare-doctests.mjs');
    expect(compare(join(folder, 'absent'))).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('is not a folder'),
    });
  });
});
