import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, it } from 'vitest';
import {
  imageProtocol,
  imageSequence,
  imageSequences,
  resultsReport,
} from '../../packages/cli/src/cli/show-displayed-results.ts';
import type { ResultAccess } from '../../packages/core/src/model-text/displayed-result-blocks.ts';
import type { DisplayResult } from '../../packages/core/src/schema.ts';
import { runCli } from '../support/cli.ts';
import { folderOfTest } from '../support/folders.ts';
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
const plain = { images: new Map<string, string>(), isTerminal: false, folder: undefined };

describe('run --results', () => {
  it('writes results to files and prints their text after the output', async () => {
    const folder = folderOfTest();
    const program = `import base64
display([{'a': 1}])
print('output')
display(base64.b64decode('${PNG}'), mime='image/png')
42`;
    const { status, stdout, stderr } = await runCli(['run', '-c', program, '--results', folder]);
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'output\n| a |\n| ---: |\n| 1 |\n' });
    expect(stderr).toContain(`result r2: image/png, 1 × 1 pixels (file ${join(folder, 'r2.png')})`);
    expect(readdirSync(folder).sort()).toEqual(['r1.md', 'r2.png', 'r3.txt']);
    expect(readFileSync(join(folder, 'r2.png')).toString('base64')).toBe(PNG);
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
      resultsReport([image], { ...plain, images: new Map([['r1', 'AAAA\n']]), isTerminal: true }),
    ).toEqual({ stdout: 'AAAA\n', notes: [] });
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

  it('are converted for the terminal from their text or their file, except those that cannot be', async () => {
    await using sandbox = await createSandbox({ runtime: 'javascript' });
    const svg =
      '<svg xmlns="http://www.w3.org/2000/svg" width="30" height="10"><rect width="15" height="10" fill="#c00"/></svg>';
    await sandbox.writeFile('plot.svg', svg);
    const results = [
      result({ id: 'r1', mime: 'image/svg+xml', svg }),
      result({ id: 'r2', mime: 'image/svg+xml', path: 'plot.svg' }),
      result({ id: 'r3', mime: 'image/png', png: PNG }),
      result({ id: 'r4', mime: 'image/svg+xml', svg: 'no image' }),
      result({ id: 'r5', mime: 'image/svg+xml', path: 'deleted.svg' }),
      result({ id: 'r6', text: 'text' }),
    ];
    const access = sandbox as unknown as ResultAccess;
    const asPng = await imageSequences(results, 'iterm2', access);
    expect([...asPng.keys()]).toEqual(['r1', 'r2', 'r3']);
    expect(asPng.get('r3')).toBe(imageSequence('iterm2', PNG));
    for (const id of ['r1', 'r2']) {
      const { width, height, at } = decodePng(asPng.get(id)!.slice(asPng.get(id)!.indexOf(':') + 1));
      expect([width, height, at(5, 5)]).toEqual([60, 20, [204, 0, 0, 255]]);
    }
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
