import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { call, stdioClient } from '../support/mcp.ts';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
const recorded = [
  ...readme.matchAll(/<!-- replay: (\w+) -->\n```json\n([\s\S]*?)```\n+[^`]*?```text\n([\s\S]*?)```/g),
];

/** Time and fuel differ from machine to machine and from build to build; everything else has to be the same. */
const timeless = (text: string) =>
  text.replaceAll(/[\d.,]+( [MG])? fuel/g, 'N fuel').replaceAll(/\d+ ms/g, 'N ms');

test('the README shows a failing call, its guidance and the fixed call as they really go', async () => {
  expect(recorded).toHaveLength(2);
  const { client } = await stdioClient('modern');
  for (const [, tool, args, answer] of recorded) {
    const { text } = await call(client, tool!, JSON.parse(args!));
    expect(`${timeless(text)}\n`).toBe(timeless(answer!));
  }
  await client.close();
  expect(recorded[0]![3]).toContain('What to do about');
  expect(recorded[1]![3]).toMatch(/^Succeeded/);
});
