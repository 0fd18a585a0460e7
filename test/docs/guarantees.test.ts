/** SECURITY.md and the manifest of its promises say the same, and every test they cite is there. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { GUARANTEES, show } from '../guarantees.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

describe('the promises of SECURITY.md', () => {
  test('are those of the manifest, word for word', () => {
    const found = /<!-- guarantees -->\n([\s\S]*?)\n<!-- end -->/.exec(read('SECURITY.md'))?.[1];
    expect(found).toBe(GUARANTEES.map(show).join('\n'));
  });

  test('have names of their own', () => {
    expect(new Set(GUARANTEES.map(({ id }) => id)).size).toBe(GUARANTEES.length);
  });

  test.each(GUARANTEES.map((guarantee) => [guarantee.id, guarantee] as const))(
    'cite tests that exist: %s',
    (_, { tests }) => {
      expect(tests.length).toBeGreaterThan(0);
      for (const [file, title] of tests) {
        const isThere = [`'${title}'`, `"${title}"`].some((literal) =>
          read(`test/${file}`).includes(literal),
        );
        expect(isThere, `${file} has no test “${title}”`).toBe(true);
      }
    },
  );

  test('leave out no attack: every file of the escape suite is cited', () => {
    const files = readdirSync(new URL('../escape/', import.meta.url)).filter((name) =>
      name.endsWith('.test.ts'),
    );
    const cited = new Set(GUARANTEES.flatMap(({ tests }) => tests.map(([file]) => file)));
    expect(files.filter((name) => !cited.has(`escape/${name}`))).toEqual([]);
  });
});
