/** The documents are correct: links and paths resolve, examples run, generated parts are current. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformSync } from 'esbuild';
import { createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { DOCUMENTS } from '../../scripts/words.mjs';
import { runCliHere, runProcess } from '../support/cli.ts';
import { documentedOutput, runExamples } from '../support/doc-examples.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const documents = [...DOCUMENTS, 'THIRD_PARTY_NOTICES.md'];
/** Holds licence texts as their authors wrote them. */
const THIRD_PARTY = 'THIRD_PARTY_NOTICES.md';
const ownDocuments = documents.filter((document) => document !== THIRD_PARTY);

/** Files of a store or a cache, and those that scripts write and that are not committed. */
const NOT_COMMITTED = ['packages.json', 'session.json', 'tools/bench/RESULTS.md'];
const isCommitted = (path: string) => !NOT_COMMITTED.includes(path) && !path.startsWith('dist/');
const SOURCE_FOLDERS = ['test', 'scripts', 'docs', 'programs', 'packages', 'page', 'tools', 'deploy'];

let known: readonly string[] | undefined;
/** The files of the repository, each with a slash before its path. */
const sources = () =>
  (known ??= [
    ...readdirSync(root).map((name) => `/${name}`),
    ...SOURCE_FOLDERS.flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map(
        (path) => `/${folder}/${path.replaceAll('\\', '/')}`,
      ),
    ),
  ]);

const run = (args: readonly string[]) => runProcess(process.execPath, args, { cwd: root });

const withoutCode = (text: string) => text.replaceAll(/^```[\s\S]*?^```/gm, '');

/** The anchors of a document: explicit ones, and those of its headings as code hosts derive them. */
function anchorsOf(text: string): Set<string> {
  const anchors = new Set([...text.matchAll(/<a id="([^"]+)">/g)].map(([, id]) => id!));
  const seen = new Map<string, number>();
  for (const [, title] of withoutCode(text).matchAll(/^#+ (.+)$/gm)) {
    const slug = title!
      .replaceAll('\\', '')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
      .replaceAll(' ', '-');
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    anchors.add(count === 0 ? slug : `${slug}-${count}`);
  }
  return anchors;
}

/** Fenced code blocks with their language. */
function blocksOf(text: string): { language: string; code: string }[] {
  return [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, language, code]) => ({
    language: language!,
    code: code!,
  }));
}

describe('documentation', () => {
  test.each(documents)('has no broken link in %s', (document) => {
    const links = [...withoutCode(read(document)).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!);
    const broken = links.filter((link) => {
      if (/^[a-z]+:/.test(link)) return false;
      const [path, anchor] = link.split('#') as [string, string | undefined];
      const target = path === '' ? document : join(dirname(document), path);
      if (!existsSync(join(root, target))) return true;
      return anchor !== undefined && !anchorsOf(read(target)).has(anchor);
    });
    expect(broken).toEqual([]);
  });

  test('leads to no file that the npm package does not contain', () => {
    const filesOf = (name: string): string[] => JSON.parse(read(`packages/${name}/package.json`)).files;
    const files = [...filesOf('core'), ...filesOf('cli')];
    const shipped = [...files, 'README.md', 'LICENSE', 'package.json'];
    const isShipped = (path: string) => shipped.some((one) => path === one || path.startsWith(`${one}/`));
    const dead = documents
      .filter((one) => isShipped(one) && one !== 'README.md')
      .flatMap((document) =>
        [...withoutCode(read(document)).matchAll(/\]\(([^)\s#]+)[^)]*\)/g)]
          .filter(([, link]) => !/^[a-z]+:/.test(link!) && !isShipped(join(dirname(document), link!)))
          .map(([, link]) => `${document}: ${link}`),
      );
    expect(dead).toEqual([]);
  });

  test.each(ownDocuments)('names only existing files in %s', (document) => {
    const paths = [
      ...read(document).matchAll(
        /`((?:packages\/(?:core|server|cli|adapters)|tools\/(?:redteam|bench|conformance)|page|test|scripts|docs|\.ci)\/[\w./-]+)`/g,
      ),
    ];
    const named = paths.map(([, path]) => path!).filter(isCommitted);
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  test.each(ownDocuments)('names files by the end of a path that exists in %s', (document) => {
    // Files that programs of users have are named in some documents, so a name alone is checked only in those about the source.
    const isAboutSource = ['SECURITY.md', 'CONTRIBUTING.md', 'docs/architecture.md'].includes(document);
    const named = [
      ...read(document).matchAll(/`(\w[\w@.-]*(?:\/[\w@.-]+)*\.(?:[cm]?[jt]s|py|c|json|md|sh|wasm))`/g),
    ]
      .map(([, path]) => path!)
      .filter((path) => (isAboutSource || path.includes('/')) && isCommitted(path));
    expect(named.filter((path) => !sources().some((one) => one.endsWith(`/${path}`)))).toEqual([]);
  });

  const EXAMPLES = 'states what its examples print in %s';
  const checkExamples = async (document: string) => {
    const text = read(document);
    for (const [name, output] of await runExamples(text))
      expect(output, `output of the example ${name}`).toBe(documentedOutput(text, name));
  };
  test.each(['README.md', 'packages/core/README.md', 'packages/adapters/README.md'])(EXAMPLES, checkExamples);
  test.each(ownDocuments.filter((name) => name !== 'README.md'))(EXAMPLES, { tags: 'full' }, checkExamples);

  test.each(ownDocuments)('has code blocks of valid syntax in %s', async (document) => {
    // Generated parts show programs that fail, some of them with syntax errors.
    const blocks = blocksOf(read(document).replaceAll(/<!-- generated: [\s\S]*?<!-- end -->/g, ''));
    expect(blocks.filter(({ language }) => language === '')).toEqual([]);
    // The TypeScript in the documents is declarations, not programs.
    const compiled = blocks.filter(({ language }) => ['js', 'json'].includes(language));
    for (const { language, code } of compiled) {
      const loader = language as 'js' | 'json';
      expect(() => transformSync(code, { loader, logLevel: 'silent' }), code).not.toThrow();
    }
    const python = blocks.filter(({ language }) => language === 'python').map(({ code }) => code);
    if (python.length === 0) return;
    await using sandbox = await createSandbox({ runtime: 'python' });
    await sandbox.writeFile('blocks.json', JSON.stringify(python));
    const result = await sandbox.execute(
      "import ast, json\nfor code in json.load(open('blocks.json')): compile(code, 'block', 'exec', ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)",
    );
    expect(result.stderr).toBe('');
  });

  test('has current generated parts', async () => {
    expect(await run(['scripts/docs.mjs', '--check'])).toMatchObject({ status: 0, stderr: '' });
  });

  test('has current third-party notices', async () => {
    expect(await run(['scripts/notices.mjs', '--check'])).toMatchObject({ status: 0, stderr: '' });
  });

  test('names only npm scripts that exist', () => {
    const { scripts } = JSON.parse(read('package.json'));
    const named = documents.flatMap((document) =>
      [...read(document).matchAll(/npm run ([\w:-]+)/g)].map(([, name]) => name!),
    );
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
  });

  const helpOf = new Map<string, string>();
  async function help(command: readonly string[]): Promise<string> {
    const key = command.join(' ');
    if (!helpOf.has(key)) {
      const { stdout, status } = await runCliHere([...command, '--help', 'all'], '');
      expect(status, key).toBe(0);
      helpOf.set(key, stdout);
    }
    return helpOf.get(key)!;
  }

  test.each(ownDocuments)('uses only commands and options that exist in %s', async (document) => {
    const lines = blocksOf(read(document))
      .filter(({ language }) => language === 'sh')
      .flatMap(({ code }) => code.split('\n'))
      .filter((line) => line.includes('llm-wasm-sandbox '));
    for (const line of lines) {
      const words = line.slice(line.indexOf('llm-wasm-sandbox ')).split(' ').slice(1);
      const isGroup = ['session', 'batch'].includes(words[0]!);
      const stdout = await help(words.slice(0, isGroup ? 2 : 1));
      for (const flag of words.filter((word) => /^(--[a-z-]+|-[a-z])$/.test(word)))
        expect(stdout, `${line}: ${flag}`).toMatch(new RegExp(`(^|[\\s,])${flag}\\b`, 'm'));
    }
  });
});
