import { describe, expect, test } from 'vitest';
import { code, javascript } from '../support/sandbox.ts';

const files = {
  'lib/math.js':
    "import { two } from './two.js';\nexport const four = two + two;\nexport let count = 0;\nexport const inc = () => ++count;\nexport default 'math';",
  'lib/two.js': 'export const two = 2;',
  'data.json': '{"a": [1, 2]}',
  'broken.js': 'export const x = ;',
  'throws.js': '\nthrow new Error("at load")',
  'waits.js': 'export const value = await Promise.resolve(5)',
};

describe('imports of a JavaScript program', () => {
  test('bind names, defaults and namespaces as live bindings', async () => {
    const result = await javascript(
      code`
        import name, { four as vier, count, inc } from './lib/math.js';
        import * as all from '/app/lib/math.js';
        import data from './data.json' with { type: 'json' };
        import { value } from "./waits.js";
        inc();
        [name, vier, count, all.count, data.a, value]
      `,
      { files },
    );
    expect(result.metadata.result).toEqual(['math', 4, 1, 1, [1, 2], 5]);
  });

  test('of Node.js modules and own modules use little fuel', async () => {
    for (const source of ["import path from 'path'", "import { two } from './lib/two.js'"])
      expect((await javascript(source, { files })).fuel_consumed).toBeLessThan(30_000_000);
  });

  test('can be dynamic', async () => {
    const result = await javascript("const { four } = await import('./lib/math.js'); four", { files });
    expect(result.metadata.result).toBe(4);
  });

  test.each(['std', 'qjs:std', 'os', 'qjs:os', 'node:os'])(
    'provide the built-in module %s as namespace, default and names',
    async (name) => {
      const program = `import * as all from '${name}';\nimport byDefault, { open } from '${name}';\n[all.open === open, byDefault.open === open, typeof open]`;
      expect((await javascript(program)).metadata.result).toEqual([true, true, 'function']);
    },
  );

  test('provide one module os with the functions of Node.js and of QuickJS', async () => {
    const program = code`
      import byDefault, { EOL, readdir } from 'os';
      import { cpus, platform } from 'node:os';
      const required = [require('os'), require('node:os'), process.getBuiltinModule('os'), os];
      [EOL, platform(), cpus().length, readdir('/nope'), required.every((one) => one === byDefault), require('std') === std]
    `;
    expect((await javascript(program)).metadata.result).toEqual(['\n', 'linux', 1, [[], 2], true, true]);
  });

  test('provide the original built-in modules if a program replaces the globals', async () => {
    const program = "globalThis.std = null; const { loadFile } = await import('std'); typeof loadFile";
    expect((await javascript(program)).metadata.result).toBe('function');
  });

  test.each([
    ["import pad from 'left-pad'", 'ReferenceError', /'left-pad': available packages: .*; also "std"/],
    ["\nimport { x } from './nope.js'", 'ReferenceError', /'\/app\/nope.js': no such file/],
    ["\nimport { six } from './lib/math.js'", 'SyntaxError', /Could not find export 'six'/],
    ["import '../../etc/passwd'", 'ReferenceError', /no such file/],
  ])('%j fails with a %s', async (program, type, message) => {
    const { metadata } = await javascript(program, { files });
    expect(metadata.error?.type).toBe(type);
    expect(metadata.error?.message).toMatch(message);
    expect(metadata.error?.line).toBe(program.startsWith('\n') ? 2 : 1);
  });

  test('report errors with the file of the module', async () => {
    expect((await javascript("import './broken.js'", { files })).stderr).toContain('/app/broken.js:1:18');
    expect((await javascript("import './throws.js'", { files })).stderr).toContain('/app/throws.js:2');
  });

  test('and exports do not change lines and columns', async () => {
    const declaration = "import { four } from './lib/math.js';";
    const rest = ' throw new Error("here")';
    const [a, b] = await Promise.all([
      javascript(`${declaration}${rest}\nexport default four`, { files }),
      javascript(`/*${' '.repeat(declaration.length - 4)}*/${rest}`),
    ]);
    expect(a.metadata.error).toMatchObject({ message: 'here', line: 1 });
    expect(a.metadata.error?.stack).toBe(b.metadata.error?.stack);
  });

  test('can be combined with exports', async () => {
    const result = await javascript(code`
      export const a = 1;
      export function f() { return a + 1 }
      export default class Foo {}
      export { a as b };
      [a, f(), Foo.name, import.meta.url]
    `);
    expect(result.metadata.result).toEqual([1, 2, 'Foo', 'file:///app/main.js']);
    expect((await javascript('export default { a: 1 }')).success).toBe(true);
  });

  test('are not recognised in strings and comments', async () => {
    const program =
      "const text = `\nimport x from 'y'\nexport default 1\n`; /* import z from 'q' */ text + /['\"]import/.source";
    expect((await javascript(program)).metadata.result).toBe(
      "\nimport x from 'y'\nexport default 1\n['\"]import",
    );
  });
});
