/** The functions of sandbox_utils and their errors. */
import { describe, expect, test } from 'vitest';
import { python } from '../support/sandbox.ts';

const FILES = {
  'a.txt': 'one\ntwo\nthree\n',
  'b.py': 'x = 1\n',
  '.hidden': '',
  'sub/c.txt': 'two words\nlast line',
  'sub/deep/d.py': 'y = 2\n',
  'people.csv': 'name,age\n"Ann, B",30\nÆgir,41\n',
};

/** The value of an expression in a workspace with FILES. */
async function value(expression: string, before = ''): Promise<unknown> {
  const program = `from sandbox_utils import *\nfrom pathlib import Path\n${before}\n${expression}\n`;
  const result = await python(program, { files: FILES });
  expect(result.stderr).toBe('');
  return result.metadata.result;
}

/** Type, message and path of the exception that an expression raises. */
async function failure(expression: string) {
  const result = await python(`from sandbox_utils import *\n${expression}\n`, { files: FILES });
  const { type, message, path } = result.metadata.error!;
  return { type, message, path };
}

describe('sandbox_utils: files', () => {
  test('find matches names, or paths if the pattern contains a slash', async () => {
    const shown = await value(
      '[[str(f) for f in find("*.py")], [str(f) for f in find("*.txt", "/app", recursive=False)], [f.name for f in find("sub/**/*.py", ".")], find("*.none"), type(find("*")[0]).__name__]',
    );
    expect(shown).toEqual([['/app/b.py', '/app/sub/deep/d.py'], ['/app/a.txt'], ['d.py'], [], 'PosixPath']);
  });

  test('walk yields sorted, filtered files', async () => {
    const shown = await value(
      '[[str(f) for f in walk("sub")], [f.name for f in walk(filter_func=lambda p: p.suffix == ".py")]]',
    );
    expect(shown).toEqual([
      ['sub/c.txt', 'sub/deep/d.py'],
      ['b.py', 'd.py'],
    ]);
  });

  test('tree draws folders up to a depth', async () => {
    expect(await value('[tree("sub"), tree("sub", max_depth=1)]')).toEqual([
      'sub\n├── c.txt\n└── deep/\n    └── d.py',
      'sub\n├── c.txt\n└── deep/',
    ]);
  });

  test('copy_tree copies a folder and keeps existing files', async () => {
    const before = 'mkdir("copy"); echo("kept", "copy/old"); copy_tree("sub", "copy")';
    expect(await value('[str(f) for f in walk("copy")]', before)).toEqual([
      'copy/c.txt',
      'copy/deep/d.py',
      'copy/old',
    ]);
    expect(await failure('copy_tree("sub", "sub/inner")')).toMatchObject({
      type: 'ValueError',
      message: 'copy_tree: sub/inner is inside sub',
    });
  });

  test('remove_tree removes a folder or the matching files', async () => {
    const before = 'remove_tree("sub", pattern="*.py")';
    expect(await value('[[f.name for f in walk("sub")], Path("sub/deep").is_dir()]', before)).toEqual([
      ['c.txt'],
      true,
    ]);
    expect(await value('Path("sub").exists()', 'remove_tree("sub")')).toBe(false);
    expect(await failure('remove_tree("/app")')).toMatchObject({ type: 'PermissionError', path: '/app' });
  });
});

describe('sandbox_utils: text', () => {
  test('grep finds lines by regular expression or literal text', async () => {
    expect(
      await value('[grep("^t", ["a.txt", "sub/c.txt"]), grep("wo w", Path("sub/c.txt"), regex=False)]'),
    ).toEqual(
      "[[('a.txt', 2, 'two'), ('a.txt', 3, 'three'), ('sub/c.txt', 1, 'two words')], [('sub/c.txt', 1, 'two words')]]",
    );
    expect(await failure('grep("(", "a.txt")')).toMatchObject({
      type: 'ValueError',
      message: expect.stringContaining('grep: '),
    });
  });

  test('sed replaces all matches, with groups', async () => {
    expect(await value(String.raw`sed(r"o(\w)", r"<\1>", "foo bor")`)).toBe('f<o> b<r>');
    expect(await failure(String.raw`sed("a", r"\9", "a")`)).toMatchObject({ type: 'ValueError' });
  });

  test('head and tail return the first and last lines', async () => {
    expect(
      await value(
        '[head("a.txt", 2), tail("a.txt", lines=1), head("a.txt"), tail("sub/c.txt", 1), head("a.txt", 0)]',
      ),
    ).toEqual(['one\ntwo\n', 'three\n', 'one\ntwo\nthree\n', 'last line', '']);
  });

  test('wc counts lines, words and characters', async () => {
    expect(await value('[wc("a.txt"), wc("sub/c.txt"), wc("people.csv")]')).toEqual([
      { lines: 3, words: 3, chars: 14 },
      { lines: 2, words: 4, chars: 19 },
      { lines: 3, words: 4, chars: 29 },
    ]);
  });

  test('diff returns a unified diff, empty for equal files', async () => {
    const before = 'echo("one\\n2\\nthree", "n.txt")';
    expect(await value('[diff("a.txt", "n.txt"), diff("a.txt", "a.txt")]', before)).toEqual([
      '--- a.txt\n+++ n.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n',
      '',
    ]);
  });
});

describe('sandbox_utils: data', () => {
  test('group_by, filter_by, map_items and sort_by process lists', async () => {
    const shown = await value(
      '[group_by(["a", "bb", "c"], lambda s: str(len(s))), filter_by(range(5), lambda n: n % 2), map_items([1, 2], lambda n: n * n), sort_by(["bb", "a"], len), sort_by([1, 3, 2], lambda n: n, reverse=True)]',
    );
    expect(shown).toEqual([{ '1': ['a', 'c'], '2': ['bb'] }, [1, 3], [1, 4], ['a', 'bb'], [3, 2, 1]]);
  });

  test('unique keeps the first of equal items, by key and for unhashable items', async () => {
    const shown = await value(
      '[unique([3, 1, 3, 2, 1]), unique(["a", "B", "b"], key=str.lower), unique([[1], [2], [1]])]',
    );
    expect(shown).toEqual([
      [3, 1, 2],
      ['a', 'B'],
      [[1], [2]],
    ]);
  });

  test('chunk splits any iterable into lists', async () => {
    expect(await value('list(chunk(iter(range(5)), 2))')).toEqual([[0, 1], [2, 3], [4]]);
    expect(await failure('chunk([1], 0)')).toMatchObject({
      type: 'ValueError',
      message: 'chunk: size must be at least 1, not 0',
    });
  });
});

describe('sandbox_utils: formats', () => {
  test('csv_to_json reads a file or text and can write a file', async () => {
    const shown = (await value(
      '[csv_to_json("people.csv"), csv_to_json("a,b\\n1,2\\n"), csv_to_json("people.csv", output="p.json"), cat("p.json")]',
    )) as string[];
    const people = [
      { name: 'Ann, B', age: '30' },
      { name: 'Ægir', age: '41' },
    ];
    expect(JSON.parse(shown[0]!)).toEqual(people);
    expect(JSON.parse(shown[1]!)).toEqual([{ a: '1', b: '2' }]);
    expect(shown[2]).toBeNull();
    expect(JSON.parse(shown[3]!)).toEqual(people);
    expect(await failure('csv_to_json("a\\n1,2\\n")')).toMatchObject({
      type: 'ValueError',
      message: 'csv_to_json: the text: record 2 has more fields than the header',
    });
  });

  test('json_to_csv writes all keys, and nested values as JSON', async () => {
    const before = 'echo(\'[{"a": 1, "b": null}, {"a": "x,y", "c": {"d": [true]}}]\', "rows.json")';
    expect(await value('json_to_csv("rows.json")', before)).toBe('a,b,c\n1,,\n"x,y",,"{""d"": [true]}"\n');
    expect(await value('[json_to_csv("[]"), json_to_csv(\'{"a": true}\', "o.csv"), cat("o.csv")]')).toEqual([
      '\n',
      null,
      'a\ntrue\n',
    ]);
    expect(await failure('json_to_csv("[1]")')).toMatchObject({
      type: 'ValueError',
      message: 'json_to_csv: the text is not a list of objects',
    });
    expect(await failure('json_to_csv("a.txt")')).toMatchObject({
      type: 'ValueError',
      message: expect.stringMatching(/^json_to_csv: a.txt is not valid JSON: .*line 1/),
    });
  });

  test('yaml_to_json and json_to_yaml convert text', async () => {
    const shown = (await value(
      '[yaml_to_json("a: [1, x]\\nwhen: 2024-02-03\\n"), json_to_yaml(\'{"b": [1, null], "a": "ü"}\')]',
    )) as [string, string];
    expect(JSON.parse(shown[0])).toEqual({ a: [1, 'x'], when: '2024-02-03' });
    expect(shown[1]).toBe('b:\n- 1\n- null\na: ü\n');
    expect(await failure('yaml_to_json("a: [")')).toMatchObject({ type: 'ValueError' });
    expect(await failure('json_to_yaml("{")')).toMatchObject({ type: 'ValueError' });
  });

  test('xml_to_dict returns attributes, text and lists', async () => {
    const xml = '<r v="1"><p id="7"><n>Al</n></p><i>1</i><i>2</i><t k="x">text</t><e/></r>';
    expect(await value(`[xml_to_dict('${xml}'), xml_to_dict('<a>x</a>'), xml_to_dict('<a/>')]`)).toEqual([
      { '@v': '1', p: { '@id': '7', n: 'Al' }, i: ['1', '2'], t: { '@k': 'x', '#text': 'text' }, e: '' },
      { '#text': 'x' },
      {},
    ]);
    expect(await failure('xml_to_dict("<a>")')).toMatchObject({
      type: 'ValueError',
      message: expect.stringContaining('xml_to_dict: invalid XML'),
    });
  });
});

describe('sandbox_utils: shell', () => {
  test('ls lists names, hidden files and details', async () => {
    expect(await value('[ls(), ls("/app", all=True)[0], ls("sub"), ls("a.txt")]')).toEqual([
      ['a.txt', 'b.py', 'people.csv', 'sub'],
      '.hidden',
      ['c.txt', 'deep'],
      ['a.txt'],
    ]);
    const long = (await value('ls(long=True)')) as Record<string, unknown>[];
    expect(long[0]).toEqual({
      name: 'a.txt',
      size: 14,
      type: 'file',
      modified: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/),
      permissions: '-rw-r--r--',
    });
    expect(long[3]).toMatchObject({ name: 'sub', type: 'directory' });
  });

  test('cat concatenates files', async () => {
    expect(await value('cat("b.py", Path("sub/deep/d.py"))')).toBe('x = 1\ny = 2\n');
  });

  test('touch creates a file and keeps the contents of an existing one', async () => {
    expect(await value('[cat("new"), cat("b.py")]', 'touch("new"); touch("b.py")')).toEqual(['', 'x = 1\n']);
  });

  test('mkdir creates parent folders unless disabled', async () => {
    expect(await value('Path("m/n").is_dir()', 'mkdir("m/n"); mkdir("m/n")')).toBe(true);
    expect(await failure('mkdir("m/n", parents=False)')).toMatchObject({
      type: 'FileNotFoundError',
      message: expect.stringContaining("mkdir: No such file or directory: 'm/n'"),
    });
  });

  test('rm removes files, and folders with recursive; force ignores missing paths', async () => {
    expect(
      await value(
        '[Path("a.txt").exists(), Path("sub").exists()]',
        'rm("a.txt"); rm("sub", recursive=True); rm("x", force=True)',
      ),
    ).toEqual([false, false]);
    expect(await failure('rm("sub")')).toMatchObject({ type: 'IsADirectoryError', path: 'sub' });
    expect(await failure('rm("/app", recursive=True)')).toMatchObject({ type: 'PermissionError' });
  });

  test('cp copies files, and folders with recursive', async () => {
    const before = 'cp("a.txt", "z.txt"); cp("a.txt", "sub"); cp("sub", "t", recursive=True)';
    expect(await value('[cat("z.txt"), ls("t")]', before)).toEqual([
      'one\ntwo\nthree\n',
      ['a.txt', 'c.txt', 'deep'],
    ]);
    expect(await failure('cp("sub", "t")')).toMatchObject({ type: 'IsADirectoryError' });
  });

  test('mv renames and moves into folders', async () => {
    const before = 'mv("a.txt", "z.txt"); mv("z.txt", "sub"); mv("sub", "moved")';
    expect(await value('[ls(), ls("moved")]', before)).toEqual([
      ['b.py', 'moved', 'people.csv'],
      ['c.txt', 'deep', 'z.txt'],
    ]);
    expect(await failure('touch("sub/a.txt"); mv("a.txt", "sub")')).toMatchObject({
      type: 'FileExistsError',
    });
  });

  test('echo prints, writes and appends', async () => {
    const program =
      'from sandbox_utils import *\nr = echo("hi")\necho(1, file="e")\necho("2", "e", append=True)\n[r, cat("e")]';
    const result = await python(program);
    expect(result.stdout).toBe('hi\n');
    expect(result.metadata.result).toEqual(['hi', '1\n2\n']);
  });
});

test.each([
  ['find', 'find("*", "nope")'],
  ['walk', 'list(walk("nope"))'],
  ['tree', 'tree("nope")'],
  ['copy_tree', 'copy_tree("nope", "x")'],
  ['remove_tree', 'remove_tree("nope")'],
  ['grep', 'grep("x", "nope")'],
  ['head', 'head("nope")'],
  ['tail', 'tail("nope")'],
  ['wc', 'wc("nope")'],
  ['diff', 'diff("a.txt", "nope")'],
  ['csv_to_json', 'csv_to_json("nope")'],
  ['json_to_csv', 'json_to_csv("nope")'],
  ['ls', 'ls("nope")'],
  ['cat', 'cat("a.txt", "nope")'],
  ['rm', 'rm("nope")'],
  ['cp', 'cp("nope", "x")'],
  ['mv', 'mv("nope", "x")'],
])('%s names the operation and the path if the path is missing', async (name, expression) => {
  expect(await failure(expression)).toEqual({
    type: 'FileNotFoundError',
    message: expect.stringContaining(`${name}: No such file or directory: 'nope'`),
    path: 'nope',
  });
});

test.each([
  ['touch', 'touch("/lib/x")'],
  ['echo', 'echo("x", "/data/x")'],
  ['mkdir', 'mkdir("/data/x")'],
])('%s names the operation and the path outside the workspace', async (name, expression) => {
  const { type, message } = await failure(expression);
  expect(type).toBe('OSError');
  expect(message).toContain(`${name}: Read-only file system: '/`);
});
