import { createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { code } from '../support/sandbox.ts';
import { sharedByFile } from '../support/shared.ts';

const sandbox = await sharedByFile(createSandbox({ runtime: 'javascript' }));

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
    await using session = await createSandbox({ runtime: 'javascript' });
    expect((await session.execute(program, { language: 'typescript' })).stdout).toBe(
      'true /app/main.ts true\n',
    );
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
    ['class A { constructor(@d() a: string) {} }', 1, /not parameters/],
    ['class A {\n  @d #a = 1;\n}', 2, /private members and of computed names/],
    ['namespace N { const a: number = 1; export { a } }', 1, /only declarations/],
  ])('%j fails with an error that says what is unsupported', async (program, line, message) => {
    const { metadata } = await typescript(program);
    expect(metadata.error).toMatchObject({ type: 'SyntaxError', line });
    expect(metadata.error?.message).toMatch(message);
    expect(metadata.error_guidance?.actionable_guidance.length).toBeGreaterThan(0);
  });

  test.each(['javascript', 'typescript'] as const)(
    'has a syntax error in %s where the parser loses count of scopes',
    async (language) => {
      const program = 'var C = class {\n  static async *m([...x = []] = []) {\n  }\n};';
      const { success, metadata } = await sandbox.execute(program, { language });
      expect([success, metadata.error?.type, metadata.error?.line]).toEqual([false, 'SyntaxError', 2]);
    },
  );

  test.each(['javascript', 'typescript'] as const)(
    'has a syntax error in %s if it violates an assertion of the library',
    async (language) => {
      const { success, metadata } = await sandbox.execute('class C { static constructor; }', { language });
      expect([success, metadata.error?.type]).toEqual([false, 'SyntaxError']);
    },
  );

  test('can contain namespaces', async () => {
    const program = code`
      namespace Shapes {
        const factor: number = 2;
        export const sides = 4;
        export let count = 0;
        export interface Sized { size: number }
        export class Box implements Sized { constructor(readonly size: number) { count++; } }
        export function double(box: Sized): number { return box.size * factor; }
        export namespace Deep.Inner { export enum Unit { Cm, M } }
      }
      namespace Shapes { export const later = Shapes.sides + 1; }
      class Model { static a = 1 }
      namespace Model { export const b = 2; export type C = string }
      const box: Shapes.Sized = new Shapes.Box(3);
      [Shapes.double(box), Shapes.count, Shapes.later, Shapes.Deep.Inner.Unit.M, 'factor' in Shapes, Model.a, (Model as any).b]
    `;
    expect((await typescript(program)).metadata.result).toEqual([6, 1, 5, 1, false, 1, 2]);
    const failed = await typescript('namespace N {\n  export const a: any = null;\n  a.b;\n}');
    expect(failed.metadata.error).toMatchObject({ type: 'TypeError', line: 3 });
  });

  test('can contain decorators', async () => {
    const program = code`
      const log: string[] = [];
      const logged = <T extends (...args: any[]) => any>(value: T, { kind, name }: any) =>
        function (this: any, ...args: any[]) { log.push(kind + ' ' + String(name)); return value.apply(this, args); };
      const bound = (_: any, { name, addInitializer }: any) =>
        addInitializer(function (this: any) { this[name] = this[name].bind(this); });
      const times = (n: number) => (_: undefined, context: any) => (value: number) => (value ?? 1) * n;
      const register = (value: any, { name }: any) => { log.push('class ' + name); };
      function Older(target: any, key: string, descriptor: PropertyDescriptor) {
        const { value } = descriptor;
        descriptor.value = function (...args: any[]) { return value.apply(this, args) + 100; };
        return descriptor;
      }
      @register
      export class Account<T> {
        @times(2) private balance: number = 5;
        @times(3) static rate?: number;
        constructor(public owner: string) {}
        @logged get total(): number { return this.balance; }
        @logged @bound name(): string { return this.owner; }
        @Older add(n: number): number { return this.balance + n; }
        static open() { return new Account('ann'); }
      }
      const account = Account.open();
      const { name } = account;
      [account.total, name(), account.add(1), Account.rate, Account.name, account instanceof Account, log]
    `;
    expect((await typescript(program)).metadata.result).toEqual([
      ...[10, 'ann', 111, 3, 'Account', true],
      ['class Account', 'getter total', 'method name'],
    ]);
    const failed = await typescript(
      'const d = (v: any) => v;\nclass A {\n  @d m() { null!.x; }\n}\nnew A().m();',
    );
    expect(failed.metadata.error).toMatchObject({ type: 'TypeError', line: 3 });
  });

  test('can import types in a list of several lines', async () => {
    const program = "import {\n  type PlatformPath,\n  sep,\n} from 'node:path';\nconst s: string = sep;\ns";
    expect((await typescript(program)).metadata.result).toBe('/');
  });

  test('of 100 lines costs less than 20 million fuel', async () => {
    const part =
      'interface A# { x: number }\nfunction f#(a: A#, b: number = 1): number {\n  return a.x + b;\n}\n';
    const program = Array.from({ length: 25 }, (_, i) => part.replaceAll('#', `${i}`)).join('');
    const result = await typescript(`${program}f3({ x: 1 })`);
    expect(result.metadata.result).toBe(2);
    expect(result.fuel_consumed).toBeLessThan(2e7);
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
    ['a long program', 'const a: number = 1;\n'.repeat(50_000)],
    [
      'nested namespaces',
      `${'namespace A { export const x: number = 1; '.repeat(2_000)}${'}'.repeat(2_000)}`,
    ],
    ['many decorators', `class A { ${'@d x: number = 1;'.repeat(20_000)} }`],
    ['many local variables', `import { a } from 'a'; { ${'{ let a: number; }'.repeat(9_000)} }`],
  ])('with %s ends within its fuel', { tags: 'full' }, async (_, program) => {
    for (const language of ['typescript', 'javascript'] as const) {
      const { success, fuel_consumed } = await sandbox.execute(program, { language, fuel_budget: 3e8 });
      expect(success).toBe(false);
      expect(fuel_consumed).toBeLessThan(4e8);
    }
    expect((await typescript('let ok: string = "ok"; ok')).metadata.result).toBe('ok');
  });
});
