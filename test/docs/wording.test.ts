/** Comments, messages and documents use standard technical terms. Finds words that this project once used instead. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const FOLDERS = ['src', 'docs', 'scripts', 'bench', 'test'];
/** Licence texts, recorded queries and names of packages are as others wrote them. */
const EXCLUDED =
  /^(THIRD_PARTY_NOTICES\.md|bench\/findability-.*|src\/packages\/(lock|import-costs)\.json|test\/docs\/wording\.test\.ts)$/;
const TEXT_FILE = /\.(ts|mts|mjs|js|py|md|txt)$/;

/** Words, and what to write instead. */
const WORDS: Record<string, RegExp> = {
  'fix, repair': /\bmend(s|ed|ing)?\b/i,
  'again, or name what is new': /\banew\b/i,
  'name the person or program': /\b(whoever|nobody|somebody)\b/i,
  'manage, maintain': /\blook(s|ed|ing)? after\b/i,
  'release, unlock': /\blet(s|ting)? go of\b/i,
  'import, read': /\b(taken|takes) in\b(?! (the|a|an|order|turn|place|part)\b)/i,
  'under the control of': /\bin the hands of\b/i,
};

function textFiles(): string[] {
  const nested = FOLDERS.flatMap((folder) =>
    readdirSync(root + folder, { recursive: true, encoding: 'utf8' }).map((path) => `${folder}/${path}`),
  );
  return [...readdirSync(root), ...nested].filter((path) => TEXT_FILE.test(path) && !EXCLUDED.test(path));
}

test.each(Object.entries(WORDS))('no text needs the correction: %s', (_, pattern) => {
  const found = textFiles().flatMap((path) =>
    readFileSync(root + path, 'utf8')
      .split('\n')
      .flatMap((line, i) => (pattern.test(line) ? [`${path}:${i + 1}: ${line.trim()}`] : [])),
  );
  expect(found).toEqual([]);
});
