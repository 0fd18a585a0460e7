/** The table of SECURITY.md and the tests that are marked with a guarantee agree. scripts/docs.mjs lists all tests of each. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { guaranteeRows, provingTests } from '../../scripts/guarantees.mjs';

const security = readFileSync(new URL('../../SECURITY.md', import.meta.url), 'utf8');
const rows = guaranteeRows();
const names = rows.map(({ name }) => name);

describe('guarantees of SECURITY.md', () => {
  test('are the rows of one table, each with a name of its own', () => {
    const [, table] = /^## Guarantees\n[\s\S]*?\n\|---.*\n((?:\|.*\n)+)/m.exec(security)!;
    expect(table!.trim().split('\n')).toHaveLength(rows.length);
    expect(new Set(names).size).toBe(rows.length);
  });

  test('are full sentences, with how they are enforced', () => {
    for (const { guarantee, mechanism } of rows)
      for (const text of [guarantee, mechanism]) expect(text).toMatch(/^[A-Z`[].*\.$/s);
  });

  test('include every guarantee that a test is marked with', () => {
    const marked = new Set(provingTests().flatMap((one) => one.guarantees));
    expect([...marked].sort()).toEqual(names.toSorted());
  });

  test.each(rows)('name a test that is marked with $name', ({ name, test: file }) => {
    const proving = provingTests().filter(({ guarantees }) => guarantees.includes(name));
    expect(proving.map((one) => one.file)).toContain(`test/${file}`);
  });

  test('are proved by every file of the escape suite', () => {
    const files = readdirSync(new URL('../escape/', import.meta.url)).filter((name) =>
      name.endsWith('.test.ts'),
    );
    const proving = new Set(provingTests().map(({ file }) => file));
    expect(files.filter((name) => !proving.has(`test/escape/${name}`))).toEqual([]);
  });
});
