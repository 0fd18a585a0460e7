import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FileTree } from '../../packages/core/src/fs/immutable-file-tree.ts';
import { entriesBelow } from '../../packages/core/src/session/workspace-edits.ts';

const paths = fc.array(
  fc.array(fc.constantFrom('a', 'b', 'a.b', 'a0', '~'), { minLength: 1, maxLength: 5 }),
  {
    maxLength: 40,
  },
);

test('the entries below a folder are those of all folders down to a depth', () => {
  fc.assert(
    fc.property(
      paths,
      fc.constantFrom('', 'a', 'a/b', 'a.b'),
      fc.integer({ min: 1, max: 6 }),
      (all, folder, depth) => {
        const tree = FileTree.from(
          all.map((names) => ({ path: names.join('/'), kind: 'dir', mode: 0o755, mtimeMs: 0 }) as const),
        );
        const prefix = folder === '' ? '' : `${folder}/`;
        const expected = [...tree.keys()].filter(
          (path) => path.startsWith(prefix) && path.slice(prefix.length).split('/').length <= depth,
        );
        expect([...entriesBelow(tree, folder, depth)].map(({ path }) => path)).toEqual(expected);
      },
    ),
  );
});
