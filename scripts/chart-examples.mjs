/** The examples of docs/RESULTS.md whose charts are pictures in the documents: the code block before each picture. */
import { readFileSync } from 'node:fs';

const RUNTIMES = { python: 'python', js: 'javascript' };
const EXAMPLE = /```(python|js)\n([^`]+)```\n\n!\[[^\]]*\]\((images\/[\w-]+\.svg)\)/g;

export function chartExamples() {
  const text = readFileSync(new URL('../docs/RESULTS.md', import.meta.url), 'utf8');
  return [...text.matchAll(EXAMPLE)].map(([, language, code, file]) => ({
    runtime: RUNTIMES[language],
    code,
    picture: `docs/${file}`,
  }));
}
