import { expect, test } from 'vitest';
import { withFigures } from '../../scripts/benchmark-page.mjs';
import { replaceSection } from '../../tools/bench/sections.mjs';

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

test('a benchmark replaces its own figures on the page', () => {
  const page =
    '| runs whose fuel profile differs between repetitions | 7 | `determinism` |\n| checkpoint of a Python session, ms | 0.75 | `sessions` |';
  const printed =
    '## Determinism of the fuel profile\n\n| runtime | profile | different runs |\n|---|---|---|\n| python | detailed | **0** |\n';
  expect(withFigures(page, 'determinism', printed)).toBe(page.replace('| 7 |', '| 0 |'));
  expect(() => withFigures('', 'determinism', printed)).toThrow('has no row');
});
