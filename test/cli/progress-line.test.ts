import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { printNote } from '../../packages/cli/src/cli/diagnostics.ts';
import { Progress, progressBar, withProgress } from '../../packages/cli/src/cli/progress-line.ts';
import { wheel } from '../packages/wheel-fixtures.ts';
import { runCliHere } from '../support/cli.ts';
import { setEnvironment } from '../support/environment.ts';
import { folderOfFile, folderOfTest } from '../support/folders.ts';

const isTTY = Object.getOwnPropertyDescriptor(process.stderr, 'isTTY');
let written = '';

setEnvironment({ LLM_WASM_SANDBOX_PACKAGES_DIR: folderOfFile() });

function setTerminal(value: boolean): void {
  Object.defineProperty(process.stderr, 'isTTY', { value, configurable: true });
}

beforeEach(() => {
  written = '';
  vi.useFakeTimers();
  vi.stubEnv('TERM', 'xterm');
  vi.stubEnv('NO_COLOR', '1');
  vi.stubEnv('FORCE_COLOR', '');
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    written += text;
    return true;
  });
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  vi.useRealTimers();
  if (isTTY === undefined) delete (process.stderr as { isTTY?: boolean }).isTTY;
  else Object.defineProperty(process.stderr, 'isTTY', isTTY);
});

describe('progress', () => {
  it('appears on a terminal after a second, is cleared for messages, and disappears', () => {
    setTerminal(true);
    let done = 0;
    const progress = new Progress(() => `${done} of 3 \x1b[2J`);
    vi.advanceTimersByTime(900);
    expect(written).toBe('');
    done = 2;
    vi.advanceTimersByTime(300);
    expect(written).toBe('\r\x1b[K2 of 3 \\x1b[2J (1 s)'.repeat(written.split('\r').length - 1));
    expect(written).not.toBe('');
    written = '';
    printNote('a message');
    expect(written).toBe('\r\x1b[Kllm-wasm-sandbox: a message\n');
    vi.advanceTimersByTime(200);
    written = '';
    progress.end();
    expect(written).toBe('\r\x1b[K');
    vi.advanceTimersByTime(2000);
    expect(written).toBe('\r\x1b[K');
  });

  it('prints only its steps if standard error is not a terminal', () => {
    setTerminal(false);
    const progress = new Progress(() => 'working');
    vi.advanceTimersByTime(5000);
    expect(written).toBe('');
    progress.step('importing \x1bnumpy');
    expect(written).toBe('importing \\x1bnumpy\n');
    progress.end();
    expect(written).toBe('importing \\x1bnumpy\n');
  });

  it('is not shown on a dumb terminal', () => {
    setTerminal(true);
    vi.stubEnv('TERM', 'dumb');
    const progress = new Progress(() => 'working');
    vi.advanceTimersByTime(5000);
    progress.end();
    expect(written).toBe('');
  });

  it('disappears if the work fails', async () => {
    setTerminal(true);
    const failed = withProgress('working', async () => {
      await vi.advanceTimersByTimeAsync(1500);
      throw new Error('failed');
    });
    await expect(failed).rejects.toThrow('failed');
    expect(written.endsWith('working (1 s)\r\x1b[K')).toBe(true);
  });

  it('shows a share as a bar', () => {
    expect(progressBar(0.4)).toBe('[########            ]  40%');
    expect(progressBar(2)).toBe(`[${'#'.repeat(20)}] 100%`);
  });
});

describe('progress of commands', () => {
  it('is shown while guests are prepared, sessions are exported and imported, and packages are added', {
    tags: 'full',
  }, async () => {
    setTerminal(true);
    vi.useRealTimers();
    const folder = folderOfTest();
    const store = join(folder, 'store');
    const file = join(folder, 'a.session');
    const added = await wheel(folder, 'added', '1.0', { 'added.py': '' });
    // Progress sees two seconds for every turn of the event loop.
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
    let ticking: NodeJS.Immediate;
    const tick = () => {
      vi.advanceTimersByTime(2000);
      ticking = setImmediate(tick);
    };
    tick();
    const run = ['run', '--language', 'javascript', '--preload', 'lodash', '--session', 'a', '-c', '1'];
    const outcomes = [
      await runCliHere(run, store),
      await runCliHere(['session', 'export', 'a', file], store),
      await runCliHere(['session', 'import', file, '--session', 'b'], store),
      await runCliHere(['packages', 'add', added], store),
    ];
    clearImmediate(ticking!);
    expect(outcomes.map(({ status }) => status)).toEqual([0, 0, 0, 0]);
    const texts = [
      'Preparing the interpreter and its packages',
      'Exporting a',
      `Importing ${file}`,
      '[##########          ]  50% importing added',
    ];
    for (const [i, { stderr }] of outcomes.entries()) {
      expect(stderr).toContain(`\r\x1b[K${texts[i]!.slice(0, 60)}`);
      // The line is removed.
      expect(stderr.lastIndexOf('\r\x1b[K')).toBeGreaterThan(stderr.lastIndexOf(' s)'));
    }
  });
});
