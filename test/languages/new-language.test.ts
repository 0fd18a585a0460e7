/**
 * @module-tag full
 * A language costs one folder and its name: the test adds both to a copy of the source, builds it, and runs programs. The
 * language counts: `+` adds one, `-` subtracts one, and `@` never ends.
 */
import { createHash } from 'node:crypto';
import { cpSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, test } from 'vitest';
import { runProcess } from '../support/cli.ts';
import { folderOfFile } from '../support/folders.ts';
import { build, type Code } from '../wasm/assembler.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const folder = fileURLToPath(new URL('./tally/', import.meta.url));

/** (local 0: address of the program, local 1: its length, local 2: position) -> the count, which is at address 0. */
const add = (letter: string, change: number): Code[] => [
  ['local.get', 3],
  ['i32.const', letter.charCodeAt(0)],
  ['i32.eq'],
  {
    op: 'if',
    yes: [
      ['i32.const', 0],
      ['i32.const', 0],
      ['i32.load', 2, 0],
      ['i32.const', change],
      ['i32.add'],
      ['i32.store', 2, 0],
    ],
  },
];
const MODULE = build({
  types: [[['i32', 'i32'], ['i32']]],
  memoryPages: 2,
  functions: [
    {
      type: 0,
      locals: ['i32', 'i32'],
      export: 'tally',
      code: [
        {
          op: 'block',
          type: 'void',
          body: [
            {
              op: 'loop',
              type: 'void',
              body: [
                ['local.get', 2],
                ['local.get', 1],
                ['i32.ge_u'],
                ['br_if', 1],
                ['local.get', 0],
                ['local.get', 2],
                ['i32.add'],
                ['i32.load8_u', 0, 0],
                ['local.tee', 3],
                ['i32.const', '@'.charCodeAt(0)],
                ['i32.eq'],
                ['br_if', 0],
                ...add('+', 1),
                ...add('-', -1),
                ['local.get', 2],
                ['i32.const', 1],
                ['i32.add'],
                ['local.set', 2],
                ['br', 0],
              ],
            },
          ],
        },
        ['i32.const', 0],
        ['i32.load', 2, 0],
      ],
    },
  ],
});

const copy = folderOfFile();

const env = { ...process.env, LLM_WASM_SANDBOX_ASSETS: join(copy, 'packages/core/dist') };
const run = async (...args: string[]) => {
  const outcome = await runProcess(process.execPath, args, { cwd: copy, env });
  expect(outcome.stderr).toBe('');
  return outcome;
};
const runScript = async (script: string) =>
  JSON.parse((await run('--input-type=module', '-e', script)).stdout.split('\n').at(-2)!);

beforeAll(async () => {
  for (const name of [
    'packages/core/src',
    'packages/core/package.json',
    'packages/core/tsconfig.json',
    'packages/cli/src',
    'packages/cli/package.json',
    'packages/cli/tsconfig.json',
    'scripts',
    'package.json',
    'package-lock.json',
    'tsconfig.json',
  ])
    cpSync(join(root, name), join(copy, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  // The folder.
  const target = join(copy, 'packages/core/src/runtimes/tally/');
  const digest = createHash('sha256').update(MODULE).digest('hex');
  cpSync(folder, target, { recursive: true });
  for (const name of readdirSync(target, { recursive: true, encoding: 'utf8' }).filter((one) =>
    one.endsWith('.txt'),
  )) {
    writeFileSync(target + name.slice(0, -4), readFileSync(target + name, 'utf8').replace('DIGEST', digest));
    rmSync(target + name);
  }
  writeFileSync(`${target}tally.wasm`, MODULE);
  // The line.
  const names = join(copy, 'packages/core/src/schema/runtime-names.ts');
  const text = readFileSync(names, 'utf8');
  writeFileSync(names, text.replace(/(RUNTIME_NAMES = \[.*)\] as const/, "$1, 'tally'] as const"));

  const runBuildStep = (name: string, call: string) =>
    run('-e', `import('./scripts/${name}.mjs').then((step) => step.${call})`);
  await runBuildStep('registries', 'writeRegistries()');
  await run('node_modules/typescript/bin/tsc', '-p', 'packages/core');
  await run('node_modules/typescript/bin/tsc', '-p', 'packages/cli');
  cpSync(join(copy, 'packages/core/src'), join(copy, 'packages/core/dist'), {
    recursive: true,
    filter: (path) => !path.endsWith('.ts') && !path.includes('locale-data'),
  });
  await runBuildStep('build-guests', "buildGuest('tally', 'test', () => {})");
  await runBuildStep('bundle', 'bundleCore()');
  await runBuildStep('bundle', 'bundleCommandLine()');
});

test('a language is added by one folder and one line', async () => {
  expect(
    await runScript(`
      import { createSandbox, LANGUAGE_NAMES } from './packages/core/dist/index.js';
      const sandbox = await createSandbox({ runtime: 'tally' });
      const first = await sandbox.execute('+++-');
      const again = await sandbox.execute('+');
      const endless = await sandbox.execute('+@', { fuel_budget: 1_000_000 });
      const session = await createSandbox({ runtime: 'tally', auto_persist_globals: true });
      await session.execute('++');
      const next = await session.execute('+');
      await session.rollback();
      const after = await session.execute('-');
      await session.close();
      await sandbox.close();
      console.log(JSON.stringify({
        known: LANGUAGE_NAMES.includes('tally'),
        results: [first, again, next, after].map(({ success, metadata }) => [success, metadata.result]),
        reason: endless.metadata.trap_reason,
        isMetered: first.fuel_consumed > again.fuel_consumed && again.fuel_consumed > 0,
      }));
    `),
  ).toEqual({
    known: true,
    results: [
      [true, 2],
      [true, 1],
      [true, 3],
      [true, 1],
    ],
    reason: 'out_of_fuel',
    isMetered: true,
  });
});

test('the command line runs programs of the language, and recognises their files', async () => {
  writeFileSync(join(copy, 'program.tally'), '++');
  const { stdout } = await run('packages/cli/dist/cli/main.js', 'run', '--json', 'program.tally');
  expect(JSON.parse(stdout)).toMatchObject({ success: true, metadata: { result: 2 } });
});
