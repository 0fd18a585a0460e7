// biome-ignore-all lint/suspicious/noTemplateCurlyInString: programs with templates
/** Which files `run FILE` copies into the guest: those that the program imports, and no other file that it mentions. */
import { describe, expect, it } from 'vitest';
import { localImports as javascriptImports } from '../../packages/core/src/runtimes/javascript/syntax/local-imports.ts';
import {
  importedModules,
  localImports as pythonImports,
} from '../../packages/core/src/runtimes/python/syntax/local-imports.ts';

/** The files that exist next to the program. */
const FILES = [
  'a.js',
  'b.mjs',
  'c.ts',
  'data.json',
  'lib/index.js',
  'lib/package.json',
  'keys.pem',
  'id_rsa',
  'notes.txt',
];
const copied = (code: string, path = 'main.js') =>
  javascriptImports(code, path).filter((one) => FILES.includes(one));

describe('the files of a JavaScript program', () => {
  it.each([
    ['import', "import a from './a.js'", ['a.js']],
    ['import without names', "import './a.js'", ['a.js']],
    ['import of types', "import type { A } from './c'", ['c.ts']],
    ['import over several lines', "import {\n  a, // './b.mjs'\n} from\n'./a.js'", ['a.js']],
    ['export', "export * from './b.mjs'", ['b.mjs']],
    ['dynamic import', "const a = await import('./a.js')", ['a.js']],
    ['dynamic import with attributes', "import('./data.json', { with: { type: 'json' } })", ['data.json']],
    ['dynamic import of a template', 'import(`./a.js`)', ['a.js']],
    ['require', "const a = require('./a')", ['a.js']],
    ['require of a folder', "require('./lib')", ['lib/index.js', 'lib/package.json']],
    ['require in TypeScript', "import a = require('./a')", ['a.js']],
    ['the compiled name of a TypeScript file', "import './c.js'", ['c.ts']],
  ])('include those of %s', (_, code, expected) => {
    expect(copied(code).sort()).toEqual(expected);
  });

  it.each([
    ['a string', "const path = './a.js'; open('./keys.pem')"],
    ['a comment', "// import './a.js'\n/* require('./a.js') */"],
    ['a string with code', `const code = "import './a.js'"; const other = 'require("./a.js")';`],
    ['a template with code', "const code = `import './a.js'; ${1} require('./a.js')`"],
    ['a regular expression', "const code = /import '.\\/a.js'/"],
    ['a method', "loader.require('./a.js'); Buffer.from('./a.js'); x.import('./a.js')"],
    ['an expression', "import('./a' + '.js'); require('./a.js' + x)"],
    [
      'an import of a file that is not a module',
      "import('./keys.pem'); require('./id_rsa'); import './notes.txt'",
    ],
    ['a parent folder', "import '../a.js'; import './lib/../../a.js'"],
  ])('do not include those of %s', (_, code) => {
    expect(copied(code)).toEqual([]);
  });

  it('include the main file of a folder, and nothing else that JSON names', () => {
    expect(javascriptImports('{"main": "index.js", "files": ["./a.js"]}', 'lib/package.json')).toContain(
      'lib/index.js',
    );
    expect(copied('{"main": "../a.js"}', 'data.json')).toEqual([]);
    expect(copied('{"files": ["./a.js"]}', 'package.json')).toEqual([]);
  });
});

describe('the files of a Python program', () => {
  it.each([
    [
      'statements',
      'import a, b.c\nfrom d import (\n  e,  # f\n)\nx = 1; import g',
      ['a', 'b', 'b/c', 'd', 'd/e', 'g'],
    ],
    [
      'statements after strings',
      `x = "it's # no comment"\nimport a\ny = '\\''\nimport b # '''\nimport c`,
      ['a', 'b', 'c'],
    ],
    ['strings', `"""\nimport a\n"""\n'''\nfrom b import c\n'''\nx = 'x; import d'`, []],
    ['comments', '# import a\n#; import b \\\nimport c', ['c']],
    ['an unfinished string', '"""\nimport a', []],
  ])('include those of %s only if they are imported', (_, code, expected) => {
    const found = pythonImports(code, 'main.py').filter((path) => !path.endsWith('/__init__.py'));
    expect(found).toEqual(expected.map((name) => `${name}.py`));
  });
});

describe('the packages of a Python program', () => {
  const lines = (count: number, line: (i: number) => string) =>
    Array.from({ length: count }, (_, i) => line(i)).join('\n');

  it('are found in statements over several lines', () => {
    expect(
      importedModules('if x:\n  from a.b import (  # why\n    c,\n    d as e,\n  )\nimport f.g, h as i'),
    ).toEqual([...['a', 'a.b', 'a.b.c', 'a.b.d', 'f', 'f.g', 'h']]);
  });

  it.each([
    ['statements', `${'import a\n'.repeat(2000)}import late`],
    ['modules', `import a\n${lines(101, (i) => `import b${i}.${'c.'.repeat(18)}d`)}\nimport late`],
    ['names', `${`import ${'a,'.repeat(900)}\n`.repeat(3)}import late`],
    ['statements that do not end', `${'from a import (\n'.repeat(4000)})\nimport late`],
    ['characters of a statement', `from a import (\n${'b,'.repeat(1000)}\nlate)`],
    ['lines of a statement', `from a import (\n${lines(100, () => '')}\nlate)`],
    ['characters of the program', `import a\n${'#'.repeat(65_536)}\nimport late`],
  ])('are not searched for after too many %s', (_, code) => {
    const found = importedModules(code);
    expect(found).toContain('a');
    expect(found.filter((name) => name.endsWith('late'))).toEqual([]);
  });
});
