import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { RUNTIME_NAMES } from '../../packages/core/src/schema.ts';
import { registries } from '../../scripts/registries.mjs';
import { SOURCES } from '../support/sources.ts';

/**
 * Files that may name a language: the runtimes, the sources of each language's packages, the list of names, and attack programs.
 */
const LANGUAGE_SPECIFIC =
  /^(runtimes\/|packages\/(vendored-package-table|added-packages|run-pip)\.ts$|schema\/runtime-names\.ts$|redteam\/(corpus|programs)\/)/;

/**
 * A language's name as a literal ('python'), a property (x.python), a key or a variable ({ python: …, python }). Prose and
 * examples for models contain the names too, but never in these forms: the formatter allows no other quotes for literals.
 */
const NAMES = RUNTIME_NAMES.join('|');
const LANGUAGE_NAME = new RegExp(`'(?:${NAMES})'|\\.(?:${NAMES})\\b|(?:^|[{,(])\\s*(?:${NAMES})\\s*[:,})]`);

test('the pattern finds the forms in which code names a language', () => {
  for (const code of [
    "if (x === 'python')",
    'python: {',
    'const { python } = x',
    'x.javascript',
    'f(python)',
  ])
    expect(code).toMatch(LANGUAGE_NAME);
  for (const code of ["'text/javascript'", 'Runs Python.', 'create_session(language="python")'])
    expect(code).not.toMatch(LANGUAGE_NAME);
});

test('code outside runtimes/ names no language', () => {
  const found = SOURCES.filter(({ path }) => !LANGUAGE_SPECIFIC.test(path)).flatMap(({ path, text }) =>
    text
      .split('\n')
      .flatMap((line, i) => (LANGUAGE_NAME.test(line) ? [`${path}:${i + 1} ${line.trim()}`] : [])),
  );
  expect(found).toEqual([]);
});

test('the registries have every language', () => {
  for (const [path, text] of registries())
    expect(readFileSync(path, 'utf8'), 'run `npm run build`').toBe(text);
});
