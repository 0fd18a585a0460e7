/** @module-tag full */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { call, stdioClient } from '../support/mcp.ts';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
const recorded = [
  ...readme.matchAll(/<!-- replay: (\w+) -->\n```json\n([\s\S]*?)```\n+[^`]*?```text\n([\s\S]*?)```/g),
];

/** Replaces durations and fuel, which differ between machines and builds. Everything else must match. */
const withoutMeasurements = (text: string) =>
  text.replaceAll(/[\d.,]+[KMBT]? fuel/g, 'N fuel').replaceAll(/[\d.,]+ m?s\b/g, 'N ms');

test('the README shows the actual replies to a failing call and to the corrected call', async () => {
  expect(recorded).toHaveLength(2);
  const { client } = await stdioClient('modern');
  for (const [, tool, args, answer] of recorded) {
    const { text } = await call(client, tool!, JSON.parse(args!));
    expect(`${withoutMeasurements(text)}\n`).toBe(withoutMeasurements(answer!));
  }
  await client.close();
  expect(recorded[0]![3]).toContain('How to fix');
  expect(recorded[1]![3]).toMatch(/^Succeeded/);
});
