/**
 * Finds the tests that prove the guarantees of SECURITY.md. A test names what it proves in a comment above it,
 * `// guarantee: fuel-limit`; the name is that of a row in SECURITY.md. The names of the suite and of the test form a
 * sentence. Where they do not, for example because a table provides a part of the name, a comment `// proves: …` follows.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));

/** Returns { file, guarantees, sentence } for each marked test; `sentence` says what it proves. */
export function provingTests() {
  const files = readdirSync(`${root}test`, { recursive: true })
    .map((path) => `test/${path.replaceAll('\\', '/')}`)
    .filter((path) => path.endsWith('.test.ts'));
  return files.sort().flatMap((file) => marked(file, readFileSync(root + file, 'utf8')));
}

/** The rows of the table in SECURITY.md: the name of a guarantee, the file that enforces it, and its first test. */
export function guaranteeRows() {
  const security = readFileSync(`${root}SECURITY.md`, 'utf8');
  return [
    ...security.matchAll(/^\| <a id="([\w-]+)"><\/a>\*\*\1\*\*: (.+) \| (.+) \| `(.+)` \| `(.+)` \|$/gm),
  ].map(([, name, guarantee, mechanism, file, test]) => ({ name, guarantee, mechanism, file, test }));
}

/** Every guarantee with all tests that prove it, as a document. */
export function guaranteesPage() {
  const tests = provingTests();
  const sections = guaranteeRows().map(({ name, guarantee }) => {
    const files = new Map();
    for (const { file, guarantees, sentence } of tests)
      if (guarantees.includes(name)) files.set(file, [...(files.get(file) ?? []), sentence]);
    const list = [...files].map(([file, proved]) =>
      [`- \`${file}\``, ...proved.map((one) => `  - ${one}`)].join('\n'),
    );
    return [`## ${name}`, guarantee, list.join('\n')].join('\n\n');
  });
  return `${['# Guarantees and their tests', ...sections].join('\n\n')}\n`;
}

function marked(file, text) {
  return [...text.matchAll(/^( *)\/\/ guarantee: (.+)\n(?: *\/\/.*\n)*/gm)].map(
    ({ 0: mark, 1: indent, 2: names, index }) => {
      const title = titleAt(text, index + mark.length + indent.length, /(test|it)\b/y);
      if (title === undefined) throw new Error(`${file}: "guarantee: ${names}" is not above a test.`);
      if (mark.split('// guarantee:').length > 2)
        throw new Error(
          `${file}: "guarantee: ${names}" is not the only mark of its test. Separate names with commas.`,
        );
      const outer = [...text.slice(0, index).matchAll(/^( *)describe/gm)].findLast(
        (found) => found[1].length < indent.length,
      );
      const suite = outer && titleAt(text, outer.index + outer[1].length, /describe\b/y);
      const stated = /\/\/ proves: (.+)\n/.exec(mark)?.[1];
      const sentence = stated ?? toSentence([suite, title].filter(Boolean).join(' '));
      if (sentence.includes('…'))
        throw new Error(`${file}: "${sentence}" is not a sentence. Add "// proves: …".`);
      return { file, guarantees: names.split(', '), sentence };
    },
  );
}

/** A first word that is an identifier keeps its case. */
const toSentence = (text) =>
  /^\w*[_A-Z]/.test(text) ? `${text}.` : `${text[0].toUpperCase()}${text.slice(1)}.`;

/** The title of the test or suite whose call starts at `at`: the first argument, after the table of an `.each` or a condition. */
function titleAt(text, at, start) {
  start.lastIndex = at;
  if (!start.test(text)) return undefined;
  let next = start.lastIndex;
  const modifiers = /(\.\w+)*/y;
  modifiers.lastIndex = next;
  const [modifier] = modifiers.exec(text);
  next += modifier.length;
  if (text[next] === '<') next = closing(text, next) + 1;
  if (/\.(each|for|runIf)$/.test(modifier)) next = closing(text, next) + 1;
  const literal = /\(\s*(['"`])(.*?)(?<!\\)\1/y;
  literal.lastIndex = next;
  const title = literal.exec(text)?.[2];
  // Parameters of a table follow a colon; the document leaves them out.
  return title?.replaceAll(/%[a-z]|\$\{?[\w.]+\}?/g, '…').replace(/:[^:]*…[^:]*$/, '');
}

const PAIRS = { '(': ')', '[': ']', '{': '}', '<': '>' };

/** The index of the bracket that closes the one at `from`; brackets in comments and string literals do not count. */
function closing(text, from) {
  const [open, close] = [text[from], PAIRS[text[from]]];
  let depth = 0;
  for (let i = from; i < text.length; i++) {
    if (text.startsWith('//', i)) i = text.indexOf('\n', i);
    else if ('\'"`'.includes(text[i])) i = endOfLiteral(text, i);
    else if (text[i] === open) depth++;
    else if (text[i] === close && text[i - 1] !== '=') depth--;
    if (depth === 0) return i;
  }
  throw new Error(`There is no ${close} for the ${open} at ${from}.`);
}

function endOfLiteral(text, from) {
  let i = from + 1;
  while (text[i] !== text[from]) i += text[i] === '\\' ? 2 : 1;
  return i;
}
