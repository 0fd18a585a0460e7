/** One typical program for each package in the box. A row is the package, a program, and the JSON of its value. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { run } from '../support/sandbox.ts';

function rowsOf(language: 'javascript' | 'python') {
  const text = readFileSync(new URL(`./${language}-packages.tsv`, import.meta.url), 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t') as [string, string, string]);
}

test.each(rowsOf('javascript'))('javascript: %s', async (_, program, expected) => {
  const { metadata, stderr } = await run('javascript', program);
  expect({ result: metadata.result, stderr }).toEqual({ result: JSON.parse(expected), stderr: '' });
});

test.each(rowsOf('python'))('python: %s', { tags: 'full' }, async (_, program, expected) => {
  const { metadata, stderr } = await run('python', program);
  expect({ result: metadata.result, stderr }).toEqual({ result: JSON.parse(expected), stderr: '' });
});
