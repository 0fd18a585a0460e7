/**
 * Paths in random trees with links. A walk ends inside the tree or fails with an errno; its canonical path has no dots and no
 * links and leads to the same node; and it agrees with a resolver that follows the POSIX rules step by step.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Entry } from '../../../packages/core/src/fs/flat-entries.ts';
import { readOnlyTree } from '../../../packages/core/src/fs/flat-entries.ts';
import type { DirNode, Node } from '../../../packages/core/src/fs/nodes.ts';
import { type FinalLink, walk } from '../../../packages/core/src/fs/resolve-path.ts';
import { codeOf, dir, file, link } from '../../fs/support.ts';
import type { FuzzTarget } from '../target.ts';

const name = fc.constantFrom('a', 'b', 'c', 'é', '...', ' ');
const part = fc.oneof(
  { weight: 3, arbitrary: name },
  { weight: 2, arbitrary: fc.constantFrom('.', '..', '') },
);
const path = fc
  .tuple(fc.constantFrom('', '/'), fc.array(part, { minLength: 1, maxLength: 10 }), fc.constantFrom('', '/'))
  .map(([start, parts, end]) => start + parts.join('/') + end)
  .filter((text) => text !== '');
const entry = fc.record({
  path: fc.array(name, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/')),
  kind: fc.constantFrom('file', 'dir', 'link', 'link'),
  target: path,
});

/** The tree of all entries that do not conflict with an earlier one. Missing parents are created. */
function treeOf(entries: readonly { path: string; kind: string; target: string }[]): DirNode {
  const made = new Map<string, Entry>();
  for (const { path: at, kind, target } of entries) {
    const parts = at.split('/');
    const parents = parts.slice(1).map((_, i) => parts.slice(0, i + 1).join('/'));
    if (made.has(at) || parents.some((parent) => (made.get(parent)?.kind ?? 'dir') !== 'dir')) continue;
    for (const parent of parents) made.set(parent, dir(parent));
    made.set(at, kind === 'file' ? file(at) : kind === 'dir' ? dir(at) : link(at, target));
  }
  return readOnlyTree([...made.values()]);
}

const MAX_LINKS = 40;

/** A slow resolver for comparison: a list of names still to follow, and the directories passed so far. */
function expectedNode(root: DirNode, start: string, last: FinalLink): Node | string | undefined {
  const split = (text: string) => text.split('/').filter((each) => each !== '');
  const stack: Node[] = [root];
  let rest = split(start);
  let mustBeDir = start.endsWith('/');
  let links = 0;
  while (rest.length > 0) {
    const [next, ...more] = rest as [string, ...string[]];
    const here = stack.at(-1)!;
    if (here.kind !== 'dir') return 'ENOTDIR';
    rest = more;
    if (next === '.' || next === '..') {
      if (next === '..' && stack.length > 1) stack.pop();
      continue;
    }
    const node = here.entries.get(next);
    if (node === undefined) return rest.length > 0 ? 'ENOENT' : undefined;
    const isFinal = rest.length === 0;
    const follows = !isFinal || last === 'follow' || (last === 'nofollow' && mustBeDir);
    if (node.kind === 'symlink' && follows) {
      if (++links > MAX_LINKS) return 'ELOOP';
      if (node.target.startsWith('/')) stack.length = 1;
      if (isFinal && node.target.endsWith('/')) mustBeDir = true;
      rest = [...split(node.target), ...rest];
      continue;
    }
    stack.push(node);
  }
  const node = stack.at(-1)!;
  return mustBeDir && last !== 'entry' && node.kind !== 'dir' ? 'ENOTDIR' : node;
}

export const pathResolution: FuzzTarget = {
  name: 'path-resolution',
  shortRuns: 3000,
  open() {
    const outcomes = new Map<string, number>();
    const finals = fc.constantFrom<FinalLink>('follow', 'nofollow', 'entry');
    const property = fc.property(fc.array(entry, { maxLength: 12 }), path, finals, (entries, at, last) => {
      const root = treeOf(entries);
      const code = codeOf(() => walk(root, at, '/', last));
      outcomes.set(code, (outcomes.get(code) ?? 0) + 1);
      const expected = expectedNode(root, at, last);
      if (code !== 'ok') return assert.equal(code, expected);
      const found = walk(root, at, '/', last);
      assert.equal(found.node, expected);
      assert.match(found.path, /^(\/|(\/(?!\.\.?(\/|$))[^/]+)+)$/);
      assert.equal(walk(root, found.path, '/', 'entry').node, found.node);
      if (found.node !== undefined && found.path !== '/')
        assert.equal(found.parent.entries.get(found.name), found.node);
    });
    return {
      property,
      checkCoverage: () => {
        for (const code of ['ok', 'ENOENT', 'ENOTDIR', 'ELOOP'])
          assert.ok((outcomes.get(code) ?? 0) > 20, code);
      },
    };
  },
};
