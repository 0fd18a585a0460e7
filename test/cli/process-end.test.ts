/** A command ends when its work is done: threads that wait for another program do not keep the process alive. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { CLI } from '../support/cli.ts';

/** A process that a thread keeps alive never ends. */
const LIMIT_MS = 25_000;

const store = mkdtempSync(join(tmpdir(), 'process-end-'));
afterAll(() => rmSync(store, { recursive: true, force: true }));

describe('process', () => {
  it.each([
    [['run', '-c', '1'], 0],
    [['run', '--store', store, '--session', 'kept', '-c', 'x = 1'], 0],
    [['run', '--store', store, '--session', 'kept', '-c', 'x'], 0],
    // These fail after the thread was started in advance, so that it never gets a job.
    [['run', 'no-such-file.py'], 2],
    [['run', '--memory', '1', '-c', '1'], 2],
  ])('ends after %j', (args, status) => {
    const ended = spawnSync(process.execPath, [CLI, ...args], { timeout: LIMIT_MS, input: '' });
    expect(ended.error).toBeUndefined();
    expect(ended.status).toBe(status);
  });
});
