/** SECURITY.md and the tests that are marked with a guarantee agree. scripts/docs.mjs writes the lists of tests. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { provingTests } from '../../scripts/guarantees.mjs';

const security = readFileSync(new URL('../../SECURITY.md', import.meta.url), 'utf8');
const [, section] = /^## Guarantees\n([\s\S]*?)^## /m.exec(security)!;
const guarantees = [...section!.matchAll(/^### (.+)\n\n([\s\S]*?)\n\n<!-- generated: tests ([\w-]+) -->/gm)];
const ids = guarantees.map(([, , , id]) => id!);

describe('guarantees of SECURITY.md', () => {
  test('each have a list of tests, under the name of their heading', () => {
    expect(section!.match(/^### /gm)).toHaveLength(guarantees.length);
    expect(guarantees.map(([, title]) => title!.toLowerCase().replaceAll(' ', '-'))).toEqual(ids);
  });

  test('are full sentences', () => {
    for (const [, , text] of guarantees) expect(text).toMatch(/^[A-Z`].*\.$/s);
  });

  test('include every guarantee that a test is marked with', () => {
    const marked = new Set(provingTests().flatMap((one) => one.guarantees));
    expect([...marked].sort()).toEqual([...ids].sort());
  });

  test('are proved by every file of the escape suite', () => {
    const files = readdirSync(new URL('../escape/', import.meta.url)).filter((name) =>
      name.endsWith('.test.ts'),
    );
    const proving = new Set(provingTests().map(({ file }) => file));
    expect(files.filter((name) => !proving.has(`test/escape/${name}`))).toEqual([]);
  });
});
