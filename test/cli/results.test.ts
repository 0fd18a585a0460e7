import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, it } from 'vitest';
import { imageProtocol, imageSequence, resultsReport, withPngs } from '../../src/cli/displayed-results.ts';
import type { ResultAccess } from '../../src/mcp/displayed-results.ts';
import type { DisplayResult } from '../../src/schema.ts';
import { runCli } from '../support/cli.ts';
import { decodePng } from '../support/png.ts';

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const result = (fields: Partial<DisplayResult>): DisplayResult => ({
  id: 'r1',
  is_main_result: false,
  mime: 'text/plain',
  size_bytes: 1,
  ...fields,
});
const plain = { protocol: undefined, isTerminal: false, folder: undefined };

describe('run --results', () => {
  it('writes results to files and prints their text after the output', () => {
    const folder = mkdtempSync(join(tmpdir(), 'cli-results-'));
    const program = `import base64
display([{'a': 1}])
print('output')
display(base64.b64decode('${PNG}'), mime='image/png')
42`;
    const { status, stdout, stderr } = runCli(['run', '-c', program, '--results', folder]);
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'output\n| a |\n| ---: |\n| 1 |\n' });
    expect(stderr).toContain(`result r2: image/png, 1 × 1 pixels (file ${join(folder, 'r2.png')})`);
    expect(readdirSync(folder).sort()).toEqual(['r1.md', 'r2.png', 'r3.txt']);
    expect(readFileSync(join(folder, 'r2.png')).toString('base64')).toBe(PNG);
    rmSync(folder, { recursive: true });
  });
});

describe('results in a terminal', () => {
  it.each([
    [{ TERM: 'xterm-kitty' }, 'kitty'],
    [{ TERM_PROGRAM: 'iTerm.app' }, 'iterm2'],
    [{ TERM_PROGRAM: 'iTerm.app', TMUX: '/tmp/tmux' }, undefined],
    [{ TERM: 'xterm-256color' }, undefined],
  ])('with the environment %j have the protocol %s', (env, protocol) => {
    expect(imageProtocol(env)).toBe(protocol);
  });

  it('are sequences of bounded chunks', () => {
    const chunks = imageSequence('kitty', 'A'.repeat(10_000)).trim().split('\x1b\\').filter(Boolean);
    expect(chunks.map((chunk) => chunk.length < 4200)).toEqual([true, true, true]);
    expect(chunks[0]!.startsWith('\x1b_Gf=100,a=T,m=1;AAA')).toBe(true);
    expect(chunks[2]!.startsWith('\x1b_Gm=0;AAA')).toBe(true);
    expect(imageSequence('iterm2', 'AAAA')).toBe('\x1b]1337;File=inline=1:AAAA\x07\n');
  });

  it('show images if the terminal can, and name them otherwise', () => {
    const image = result({ mime: 'image/png', png: 'AAAA', width: 1, height: 2 });
    expect(
      resultsReport([image], { protocol: 'iterm2', isTerminal: true, folder: undefined }).stdout,
    ).toContain('AAAA');
    expect(resultsReport([image], plain)).toEqual({
      stdout: '',
      notes: ['result r1: image/png, 1 × 2 pixels (save it with --results DIR)'],
    });
    const file = { ...image, path: 'plot.png' };
    expect(resultsReport([file], plain).notes).toEqual([]);
    expect(resultsReport([file], { ...plain, isTerminal: true }).notes).toEqual([
      expect.stringContaining('(file plot.png)'),
    ]);
  });

  it('are converted to PNG from their text or their file, except those that cannot be', async () => {
    await using sandbox = await createSandbox({ runtime: 'javascript' });
    const svg =
      '<svg xmlns="http://www.w3.org/2000/svg" width="30" height="10"><rect width="30" height="10"/></svg>';
    await sandbox.writeFile('plot.svg', svg);
    const convertible = [
      result({ mime: 'image/svg+xml', svg }),
      result({ mime: 'image/svg+xml', path: 'plot.svg' }),
    ];
    const others = [
      result({ mime: 'image/svg+xml', svg: 'no image' }),
      result({ mime: 'image/svg+xml', path: 'deleted.svg' }),
      result({ mime: 'image/png', png: PNG }),
      result({ text: 'text' }),
    ];
    const access = sandbox as unknown as ResultAccess;
    const converted = await withPngs([...convertible, ...others], access);
    for (const { png } of converted.slice(0, convertible.length)) {
      const { width, height, isDark } = decodePng(png!);
      expect([width, height, isDark(5, 5)]).toEqual([60, 20, true]);
    }
    expect(converted.slice(convertible.length)).toEqual(others);
  });

  it('contain no control characters of the program', () => {
    const report = resultsReport([result({ text: 'a\x1b[2Jb\nc' })], { ...plain, isTerminal: true });
    expect(report.stdout).toBe('a\\x1b[2Jb\nc\n');
  });

  it('do not contain the plain value of the last expression', () => {
    expect(resultsReport([result({ is_main_result: true, text: '42' })], plain)).toEqual({
      stdout: '',
      notes: [],
    });
  });
});
