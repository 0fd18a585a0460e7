/**
 * A command ends when its work is done: threads that wait for another program do not keep the process alive.
 *
 * @module-tag full
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { CLI, runCli } from '../support/cli.ts';
import { folderOfFile } from '../support/folders.ts';

const store = folderOfFile();

describe('process', () => {
  it('ends on a signal even if its output is not read', async () => {
    // Nothing reads standard output until the process has ended.
    const code = "import sys\nprint('go', file=sys.stderr, flush=True)\nwhile True: print('x' * 100000)";
    const child = spawn(process.execPath, [CLI, 'run', '--timeout', '600', '--fuel', '100T', '-c', code]);
    child.stdin.end();
    const ended = once(child, 'exit');
    await once(child.stderr, 'data');
    await setTimeout(500);
    child.kill('SIGTERM');
    expect(await ended).toEqual([130, null]);
  });

  it.each([
    [['run', '-c', '1'], 0],
    [['run', '--store', store, '--session', 'kept', '-c', 'x = 1'], 0],
    [['run', '--store', store, '--session', 'kept', '-c', 'x'], 0],
    // These fail after the thread was started in advance, so that it never gets a job.
    [['run', 'no-such-file.py'], 2],
    [['run', '--memory', '1', '-c', '1'], 2],
  ])('ends after %j', async (args, status) => {
    expect(await runCli(args)).toMatchObject({ status });
  });
});
