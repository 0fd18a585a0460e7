import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { planProgram } from '../../packages/core/src/runtimes/javascript/syntax/module-to-script.ts';
import { tokenize } from '../../packages/core/src/runtimes/javascript/syntax/tokenizer.ts';
import { repetitions } from '../support/repetitions.ts';

describe('the last statement', () => {
  test.each([
    '1',
    'a\nb',
    'const a = 1; a',
    'const f = () => {\n  return 1\n}\nf()',
    'function f() {}\nf()',
    'if (a) { b }\nc',
    'class A {}\nnew A()',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the template literal is part of the program
    'let x = `a${b}c`\nx',
    'a = /[/"]/.test(b)\n  ? 1\n  : 2',
    'foo()\n  .bar()\n  .baz()',
    'x\n// comment',
    '({ a: 1 })',
    '[1].map((x) => { return x })',
    "'text'",
    '`t`',
    'async () => {}',
    'await f()',
    'for (const a of b) { c }\n-1',
    'try { a } catch { b } finally { c }\nd;',
    '!function () {}()',
  ])('of %j is an expression', (code) => {
    expect(planProgram(code).trailing).toBe(true);
  });

  test.each([
    '',
    'const a = 1',
    'a; let b = 2\n',
    'const a = b\n  + c',
    'const f = () => {\n  return 1\n}',
    'function f() { return 1 }',
    'async function f() {}',
    'class A { m() { return 1 } }',
    'if (a) b',
    'if (a) { b } else { c }',
    'if (a) b\nelse c',
    'for (;;) a',
    'for await (const a of b) a',
    'while (a) { b }',
    'switch (a) { case 1: b }',
    'try { a } catch (e) { b }',
    '{ a }',
    'throw a',
    "import a from 'b'",
    'export const a = 1',
  ])('of %j is not an expression', (code) => {
    expect(planProgram(code).trailing).toBe(false);
  });
});

describe('module syntax', () => {
  test('is replaced without changing lines and columns', () => {
    const code =
      "import a, { b as c,\n  d } from 'x'; a\nimport * as e from \"y\"\nimport 'z'\nexport const f = import.meta.url\nexport { f as g }\n";
    const { script, imports } = planProgram(code);
    expect(imports).toEqual([
      {
        specifier: 'x',
        line: 1,
        names: [
          ['default', 'a'],
          ['b', 'c'],
          ['d', 'd'],
        ],
      },
      { specifier: 'y', line: 3, names: [['*', 'e']] },
      { specifier: 'z', line: 4, names: [] },
    ]);
    expect(script!.length).toBe(code.length);
    expect(script!.split('\n').map((line) => line.length)).toEqual(
      code.split('\n').map((line) => line.length),
    );
    expect(script!.replace(/ +/g, ' ')).toBe('; \n a\n; \n; \n; const f = import_meta.url\n; \n');
  });

  test.each([
    'const a = 1',
    'const s = \'import x from "y"\'',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the template literal is part of the program
    "`\nimport x from 'y'\n${`\nexport default 1\n`}`",
    "// import x from 'y'\n/* export default 1 */",
    "import('x')",
    'a.import.meta',
    'const re = /`/; const s = "`";\n/\nimport/',
    'if (x) /\'/.test(y)\nconst z = "\'"',
  ])('is not recognised in %j', (code) => {
    expect(planProgram(code)).not.toHaveProperty('script');
  });

  test('never throws and never changes the length of a program', () => {
    const pieces = [
      'import ',
      'export ',
      'default ',
      '{',
      '}',
      '(',
      ')',
      '`',
      '${',
      '"',
      "'",
      '/',
      '\\',
      '\n',
      'a',
      'from ',
      '* as ',
      ';',
      '//',
      '/*',
      '*/',
      '.meta',
      '😀',
      '\ud800',
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 30 }), (parts) => {
        const code = parts.join('');
        const { script } = planProgram(code);
        expect(script?.length ?? code.length).toBe(code.length);
      }),
      { numRuns: repetitions(1_000, 10_000) },
    );
  });

  // Quadratic time would exceed the timeout by far.
  test('is found in linear time', () => {
    for (const piece of ['a;\n', 'import ', '{', '/', '`${', '"', ' ', 'if(a)', 'async ', 'x\n('])
      tokenize(piece.repeat(100_000));
    planProgram('f()\n'.repeat(100_000));
    planProgram("import a from 'b'\n".repeat(5_000));
    planProgram(`"${'x'.repeat(5_000_000)}"`);
  });
});

test('an import may list more names than a call has arguments', () => {
  const names = Array.from({ length: 200_000 }, (_, i) => `a${i}`).join();
  expect(() => planProgram(`import { ${names} } from 'os';`)).not.toThrow();
});
