import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { printNote } from '../../src/cli/diagnostics.ts';
import { Progress, progressBar, withProgress } from '../../src/cli/progress.ts';

const isTTY = Object.getOwnPropertyDescriptor(process.stderr, 'isTTY');
let written = '';

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
  it('appears on a terminal after a second, gives way to messages, and disappears', () => {
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
