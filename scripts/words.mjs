/**
 * Counts the words of the documents, as `wc -w` does: those in the root and in docs/, without the notices of other
 * projects. Run as a program, it prints one line per document.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));
const FOLDERS = ['', 'docs/', 'docs/decisions/'];
/** Texts of other authors. */
const OTHERS = ['THIRD_PARTY_NOTICES.md'];

/** The paths of the documents. */
export const DOCUMENTS = FOLDERS.flatMap((folder) =>
  readdirSync(root + folder)
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}${name}`),
).filter((path) => !OTHERS.includes(path));

/** The words of each document, by path. */
export const wordCounts = () =>
  new Map(
    DOCUMENTS.map((path) => [
      path,
      readFileSync(root + path, 'utf8')
        .split(/\s+/)
        .filter(Boolean).length,
    ]),
  );

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const counts = wordCounts();
  for (const [path, words] of counts) console.log(String(words).padStart(6), path);
  console.log(String([...counts.values()].reduce((a, b) => a + b)).padStart(6), 'in all');
}
