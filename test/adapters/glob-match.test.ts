/** The patterns of paths of deepagents. A model chooses them, and programs the names of the files. */
import { createSandbox } from 'llm-wasm-sandbox';
import { deepAgentsSandbox } from 'llm-wasm-sandbox/adapters';
import { describe, expect, test } from 'vitest';
import { globMatcher } from '../../packages/adapters/src/slots/glob-match.ts';

describe('a pattern of paths', () => {
  test.each([
    ['*.py', ['a.py', '.py'], ['d/a.py', 'a.pyc']],
    ['**/*.py', ['a.py', 'd/a.py', 'd/e/a.py'], ['d/a.txt']],
    ['**/b', ['b', 'a/b'], ['ab', 'a/ab']],
    ['d/**', ['d/a', 'd/e/a', 'd/'], ['e/a']],
    ['a?c', ['abc', 'a😀c'], ['a/c', 'ac']],
    ['[a-c][!x].[.]', ['by..'], ['bx..', 'dy..', 'b/..']],
    ['a+(b)|^$', ['a+(b)|^$'], ['ab']],
    ['[', ['['], ['a']],
  ])('%s', (pattern, matching, others) => {
    const matches = globMatcher(pattern);
    expect(matching.filter((path) => !matches(path))).toEqual([]);
    expect(others.filter(matches)).toEqual([]);
  });

  test('means the same as a regular expression, also if parts of it add nothing', () => {
    const parts: Record<string, string> = { '**/': '(?:.*/)?', '**': '.*', '*': '[^/]*', '?': '[^/]' };
    const paths = textsOf('a/', 5);
    const different = textsOf('*/a?', 6).filter((pattern) => {
      const source = pattern.replaceAll(/\*\*\/|\*\*|[*?]/g, (part) => parts[part]!);
      const regex = new RegExp(`^${source}$`);
      const matches = globMatcher(pattern);
      return paths.some((path) => matches(path) !== regex.test(path));
    });
    expect(different).toEqual([]);
  });

  test('is compared in linear time', () => {
    expect(globMatcher('*a'.repeat(128))('a'.repeat(5000).concat('b'))).toBe(false);
  });

  test('is compared with many long paths in slices', { tags: 'full' }, async () => {
    await using session = await createSandbox({ runtime: 'bash', auto_persist_globals: true });
    const folder = `${'a'.repeat(250)}/`.repeat(15);
    await session.execute(`mkdir -p ${folder}; for i in {100..199}; do echo > ${folder}$i; done`);
    let turns = 0;
    let isSearching = true;
    const count = () => {
      turns++;
      if (isSearching) setImmediate(count);
    };
    setImmediate(count);
    const { files } = await deepAgentsSandbox(Object, session).glob(`${'**a'.repeat(83)}**/*`);
    isSearching = false;
    expect(files).toHaveLength(100);
    expect(turns).toBeGreaterThan(3);
  });
});

/** All texts of these characters up to a length. */
function textsOf(characters: string, length: number): string[] {
  const shorter = length === 1 ? [''] : textsOf(characters, length - 1);
  const longest = shorter.filter((text) => text.length === length - 1);
  return [...shorter, ...longest.flatMap((text) => [...characters].map((one) => text + one))];
}
