/** What newcomers and models try first gives the right result, or guidance that says what to do instead. */
import { createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { sharedByFile } from '../support/shared.ts';

const sandboxes = {
  python: await sharedByFile(createSandbox({ runtime: 'python' })),
  javascript: await sharedByFile(createSandbox({ runtime: 'javascript' })),
};

describe('locales', () => {
  test.each([
    "(0.256).toLocaleString('en-US', { style: 'percent' })",
    "(1234.5).toLocaleString('de-DE', { style: 'currency', currency: 'EUR' })",
    "new Date(0).toLocaleString('en-US', { timeZone: 'America/New_York' })",
    "new Date(0).toLocaleString('de-DE', { timeZone: 'Asia/Tokyo' })",
    "['z', 'ä', 'a'].sort((a, b) => a.localeCompare(b, 'de')).join()",
  ])('%s gives the result of Node.js', async (expression) => {
    const { metadata } = await sandboxes.javascript.execute(expression);
    expect(metadata.result).toBe(new Function(`return ${expression}`)());
  });
});

describe('the module chart', () => {
  test.each([
    ['import chart\nrepr(chart.bar([1, 2]))', 'Chart(bar, 2 rows)'],
    ['from chart import line as draw\nrepr(draw([1]))', 'Chart(line, 1 row)'],
    ['from chart import *\nrepr(pie({"a": 1}))', 'Chart(pie, 1 row)'],
    [
      'import chart\ntry: chart.donut\nexcept AttributeError as error: text = str(error)\ntext.split(".")[0]',
      "chart has no 'donut'",
    ],
  ])('%j works as the built-in name does', async (program, result) => {
    const { metadata, stderr } = await sandboxes.python.execute(program);
    expect([stderr, metadata.result]).toEqual(['', result]);
  });

  test('does not hide a file of the program', async () => {
    const files = { 'chart.py': 'mine = 1' };
    await using sandbox = await createSandbox({ runtime: 'python' });
    expect((await sandbox.execute('import chart\nchart.mine', { files })).metadata.result).toBe(1);
  });
});

describe('programs', () => {
  test.each([
    ["console.log(require('lodash').chunk([1, 2, 3], 2).length)", '2\n'],
    [
      "console.log(require('crypto').createHash('sha256').update('a').digest('hex').slice(0, 8))",
      'ca978112\n',
    ],
    ["console.log(require('path').join('a', '..', 'b'))", 'b\n'],
    ["console.log((await crypto.subtle.digest('SHA-256', new Uint8Array(1))).byteLength)", '32\n'],
    ['interface A { x: number }\nconst a: A = { x: 42 };\nconsole.log(a.x);', '42\n'],
  ])('%s succeeds', async (program, stdout) => {
    expect(await sandboxes.javascript.execute(program)).toMatchObject({ stdout, stderr: '' });
  });

  test.each([
    [
      "import subprocess\nsubprocess.run(['pip', 'install', 'numpy'], check=True)",
      'package installation',
      'shutil',
    ],
    ['import matplotlib.pyplot as plt', 'chart.bar(', 'SVG'],
    ['import numpy as np', 'statistics', 'optional chaining'],
  ])('%s is answered with an alternative', async (program, advice, wrong) => {
    const { metadata } = await sandboxes.python.execute(program);
    const lines = metadata.error_guidance!.actionable_guidance;
    expect(lines.join('\n')).toContain(advice);
    expect(lines.join('\n')).not.toContain(wrong);
    expect(new Set(lines).size).toBe(lines.length);
  });
});
