import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { replaceSection } from '../../bench/sections.mjs';

const document = readFileSync(new URL('../../bench/BENCHMARKS.md', import.meta.url), 'utf8');

test('every section of BENCHMARKS.md states command, machine and version of Node.js', () => {
  const sections = document.split(/^## /m).slice(1);
  expect(sections.length).toBeGreaterThan(10);
  const incomplete = sections
    .map((section) => section.split('\n'))
    .filter(([, , ...rest]) => {
      const opening = rest.slice(0, 4).join(' ');
      return !/npm run |Recorded runs/.test(opening) || !/Node\.js v\d+\.\d+/.test(opening);
    });
  expect(incomplete.map(([title]) => title)).toEqual([]);
});

test('a benchmark replaces its own section only, and states where it was measured', () => {
  const text = '# B\n\n<!-- benchmark: a -->\n## A\n\nold\n<!-- end -->\n\n## Recorded\n';
  const replaced = replaceSection(text, 'a', '## A\n\nnew\n', 'x64');
  expect(replaced).toBe(
    '# B\n\n<!-- benchmark: a -->\n## A\n\n`npm run bench -- a` on x64.\n\nnew\n<!-- end -->\n\n## Recorded\n',
  );
  expect(replaceSection(replaced, 'b', '## B\n\nadded\n', 'x64')).toBe(
    replaced.replace(
      '\n\n## Recorded',
      '\n\n<!-- benchmark: b -->\n## B\n\n`npm run bench -- b` on x64.\n\nadded\n<!-- end -->\n\n## Recorded',
    ),
  );
});
