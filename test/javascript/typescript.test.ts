import { createSandbox, type Sandbox } from 'llm-wasm-sandbox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { code } from '../support/sandbox.ts';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await createSandbox({ runtime: 'javascript' });
});
afterAll(() => sandbox.close());

const typescript = (program: string, files?: Record<string, string>) =>
  sandbox.execute(program, { language: 'typescript', ...(files && { files }) });

describe('TypeScript program', () => {
  test('returns the value of its last expression', async () => {
    expect((await typescript('const n: number = 20;\n(n * 2 + 2) as number')).metadata.result).toBe(42);
    expect((await typescript('1 + 1')).metadata.result).toBe(2);
  });

  test('runs without the option if it is not valid JavaScript', async () => {
    const program = code`
      import { sep, type PlatformPath } from 'node:path';
      enum Level { Low, High }
      const names: string[] = ['a', 'b'];
      names.map((name: string): string => name + sep + Level[1])
    `;
    expect((await sandbox.execute(program)).metadata.result).toEqual(['a/High', 'b/High']);
    const commonJs = "const path = require('path');\nconst file: string = path.join('a', 'b');\nfile";
    expect((await sandbox.execute(commonJs)).metadata.result).toBe('a/b');
  });

  test('is named after its language in stack traces and in process.argv', async () => {
    const program = code`
      const same: boolean = import.meta.url === \`file://\${process.argv[1]}\`;
      console.log(same, process.argv[1], new Error('x').stack!.includes(\`\${process.argv[1]}:2\`));
    `;
    const session = await createSandbox({ runtime: 'javascript' });
    expect((await session.execute(program, { language: 'typescript' })).stdout).toBe(
      'true /app/main.ts true\n',
    );
    await session.close();
  });

  test('is not changed if it is valid JavaScript', async () => {
    // In TypeScript this is a call of a with type arguments.
    const program = 'const a = 1, b = 2, c = 3;\n[a < b, c > (a)]';
    expect((await sandbox.execute(program)).metadata.result).toEqual([true, true]);
    expect((await typescript(program)).metadata.error).toMatchObject({ type: 'TypeError', line: 2 });
  });

  test('keeps the lines and columns of errors', async () => {
    const typed = code`
      interface A { a: number }
      type B = { [key: string]: A | undefined };
      const data: B = {} as B, read = (b: B, key: string): number => b[key]!.a;
      function outer<T extends B>(this: void, value: T, key: string = 'none'): number { return read(value as B, key); }
      outer<B>(data);
    `;
    const plain = typed
      .replace(/^interface.*$/m, '')
      .replace(/^type.*$/m, '')
      .replace(
        /: B, key: string\): number|: B| as B|<T extends B>\(this: void, |: T\b|: string|: number|!|<B>/g,
        (part) =>
          part.includes(', key')
            ? ', key)'.padStart(part.length)
            : part.startsWith('<T')
              ? '('.padStart(part.length)
              : ' '.repeat(part.length),
      );
    const [expected, actual] = [(await sandbox.execute(plain)).metadata, (await typescript(typed)).metadata];
    expect(actual.error).toMatchObject({ type: 'TypeError', line: 3 });
    const stack = expected.error?.stack?.replaceAll('main.js', 'main.ts');
    expect(actual.error).toEqual({ ...expected.error, stack });
    expect(actual.stopped_at?.line).toBe(3);
  });

  test.each([
    ['let x: number = ;', 1, 17],
    ['type A = string\nlet y: A = (1;', 2, 14],
    ['function f(a: number) {\n  return a +;\n}', 2, 13],
  ])('%j fails with a SyntaxError at its place', async (program, line, column) => {
    for (const language of ['typescript', 'javascript'] as const) {
      const { metadata } = await sandbox.execute(program, { language });
      expect(metadata.error).toMatchObject({ type: 'SyntaxError', line, column });
    }
  });

  test('keeps the error of the JavaScript compiler if it contains no types', async () => {
    const { metadata } = await sandbox.execute('let a = 1;\na = 2 +;');
    expect(metadata.error).toMatchObject({ type: 'SyntaxError', line: 2 });
    expect(metadata.error?.message).toMatch(/unexpected token in expression/);
  });

  test.each([
    ['const log = (c: unknown) => {};\n@log class A {}', 2, /decorators are not supported/],
    ['namespace N { export const a: number = 1 }', 1, /namespaces with values are not supported/],
    ['export namespace N.M { function f(): void {} }', 1, /namespaces with values/],
  ])('%j fails with an error that says what is unsupported', async (program, line, message) => {
    const { metadata } = await typescript(program);
    expect(metadata.error).toMatchObject({ type: 'SyntaxError', line });
    expect(metadata.error?.message).toMatch(message);
    expect(metadata.error_guidance?.actionable_guidance.length).toBeGreaterThan(0);
  });

  test('imports and requires TypeScript files of the workspace', async () => {
    const files = {
      'lib/types.ts': 'export interface Point { x: number; y: number }\nexport type Id = string;',
      'lib/point.ts':
        "import { Point } from './types';\nimport { round } from './round.mjs';\nexport class P implements Point { constructor(public x: number, public y: number) {} get size(): number { return round(Math.hypot(this.x, this.y)); } }",
      'lib/round.mts': 'export const round = (n: number): number => Math.round(n);',
      'lib/legacy.cts':
        "import path = require('path');\nconst name: string = path.basename(__filename);\nexport = { name };",
      'lib/index.ts': "export * from './point.js';\nexport enum Unit { Cm, M }",
      'broken.ts': 'const a: number = 1;\nexport const b: string = a.x.y;',
    };
    const program = code`
      import { P, Unit } from './lib';
      import type { Id } from './lib/types';
      import { Point } from './lib/types.ts';
      import legacy from './lib/legacy.cjs';
      const id: Id = 'i', p: Point = new P(3, 4);
      [(p as P).size, Unit.M, legacy.name, require('./lib/legacy.cts').name, require('./lib').Unit[0], id]
    `;
    expect((await typescript(program, files)).metadata.result).toEqual([
      5,
      1,
      'legacy.cts',
      'legacy.cts',
      'Cm',
      'i',
    ]);
    const broken = await sandbox.execute("import './broken.ts';");
    expect(broken.metadata.error?.stack).toMatch(/\/app\/broken\.ts:2:26/);
  });

  test('reports a missing export that it uses as a value', async () => {
    const files = { 'none.ts': 'export type A = 1;' };
    const { metadata } = await typescript("import { A } from './none.ts';\nconsole.log(A);", files);
    expect(metadata.error?.message).toMatch(/Could not find export 'A'/);
  });

  test('shares its variables and imports with later programs of a session', async () => {
    await using session = await createSandbox({ runtime: 'javascript', session_id: 'typescript-session' });
    await session.execute(
      "import { basename } from 'node:path';\nenum E { A = 1 }\nlet count: number = 1;\nclass C { constructor(readonly n: number) {} }",
      { language: 'typescript' },
    );
    const { metadata } = await session.execute('[basename("/a/b"), E.A, ++count, new C(3).n]');
    expect(metadata.result).toEqual(['b', 1, 2, 3]);
    const typed = await session.execute('const again: number = count + 1;\nagain', {
      language: 'typescript',
    });
    expect(typed.metadata.result).toBe(3);
    expect((await session.variables()).map(({ name }) => name)).toEqual(
      expect.arrayContaining(['E', 'count', 'C', 'again']),
    );
  });

  test('is rejected by a sandbox of another runtime', async () => {
    await using python = await createSandbox({ runtime: 'python' });
    await expect(python.execute('1', { language: 'typescript' })).rejects.toThrow(
      /runtime python, which does not run typescript\. Pass python, or create a sandbox with the runtime javascript/,
    );
  });

  test.each([
    ['deep types', `let x: ${'Array<'.repeat(20_000)}number${'>'.repeat(20_000)};`],
    ['deep brackets', `const x: number = ${'('.repeat(50_000)}1${')'.repeat(50_000)};`],
    ['ambiguous arrow functions', `const x: number = ${'(a = '.repeat(400)}1${') => a'.repeat(400)};`],
    ['ambiguous type arguments', `x: ${'f<'.repeat(3000)}`],
    ['a long program', 'const a: number = 1;\n'.repeat(9_000)],
  ])('with %s ends within its fuel', async (_, program) => {
    for (const language of ['typescript', 'javascript'] as const) {
      const { success, fuel_consumed } = await sandbox.execute(program, { language, fuel_budget: 3e8 });
      expect(success).toBe(false);
      expect(fuel_consumed).toBeLessThan(4e8);
    }
    expect((await typescript('let ok: string = "ok"; ok')).metadata.result).toBe('ok');
  });
});
