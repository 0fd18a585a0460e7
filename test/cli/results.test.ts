import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { resultsReport } from '../../packages/cli/src/cli/show-displayed-results.ts';
import type { DisplayResult } from '../../packages/core/src/schema.ts';
import { runCli } from '../support/cli.ts';
import { folderOfTest } from '../support/folders.ts';

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const result = (fields: Partial<DisplayResult>): DisplayResult => ({
  id: 'r1',
  is_main_result: false,
  mime: 'text/plain',
  size_bytes: 1,
  ...fields,
});
const plain = { isTerminal: false, folder: undefined };

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
  it('name images', () => {
    const image = result({ mime: 'image/png', png: 'AAAA', width: 1, height: 2 });
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
