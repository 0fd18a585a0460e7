import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const documents = [
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
  ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`),
];

function run(args: readonly string[]) {
  return spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
}

/** The anchor a heading gets: lower case, punctuation gone, spaces to dashes. */
function anchors(text: string): string[] {
  const headings = text.replaceAll(/^```[\s\S]*?^```/gm, '').matchAll(/^#+ (.+)$/gm);
  return [...headings].map(([, title]) =>
    title!
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

describe('documentation', () => {
  test.each(documents)('%s links only to what exists', (document) => {
    const links = [...read(document).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!);
    const broken = links.filter((link) => {
      if (/^[a-z]+:/.test(link)) return false;
      const [path, anchor] = link.split('#') as [string, string | undefined];
      const target = path === '' ? document : join(dirname(document), path);
      if (!existsSync(join(root, target))) return true;
      return anchor !== undefined && !anchors(read(target)).includes(anchor);
    });
    expect(broken).toEqual([]);
  });

  test.each(documents)('%s has examples that run and print what it says', (document) => {
    const text = read(document);
    for (const [, name, code] of text.matchAll(/<!-- example: (\w+) -->\n```js\n([\s\S]*?)```/g)) {
      const expected = new RegExp(`<!-- output: ${name} -->\\n\`\`\`text\\n([\\s\\S]*?)\`\`\``).exec(
        text,
      )?.[1];
      const { stdout, stderr } = run(['--input-type=module', '-e', code!]);
      expect(stderr).toBe('');
      expect(stdout, `output of the example ${name}`).toBe(expected);
    }
  });

  test('has current tables', () => {
    expect(run(['scripts/docs.mjs', '--check'])).toMatchObject({ status: 0, stderr: '' });
  });

  test('has current third-party notices', () => {
    expect(run(['scripts/notices.mjs', '--check'])).toMatchObject({ status: 0, stderr: '' });
  });

  test('names only commands of npm that exist', () => {
    const { scripts } = JSON.parse(read('package.json'));
    const named = documents.flatMap((document) =>
      [...read(document).matchAll(/npm run ([\w:-]+)/g)].map(([, name]) => name!),
    );
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
  });
});
