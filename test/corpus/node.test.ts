/**
 * Programs in the style of Node.js print the same in the sandbox and in the Node.js that runs the tests, byte for byte. The
 * programs are in the folder `node`. A line `// program: NAME` starts a CommonJS program, `// module: NAME` an ES module,
 * and `// typescript: NAME` an ES module in TypeScript, which esbuild translates for Node.js. A program after
 * `// process: NAME` gets a process of its own in Node.js, and its exit code is compared too.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { transformSync } from 'esbuild';
import { createSandbox } from 'llm-wasm-sandbox';
import { beforeAll, describe, expect, test } from 'vitest';
import { runProcess } from '../support/cli.ts';
import { folderOfFile } from '../support/folders.ts';

const FOLDER = fileURLToPath(new URL('./node/', import.meta.url));
const START = /^(?=\/\/ (?:program|module|typescript|process): )/m;
const HEAD = /^\/\/ (program|module|typescript|process): (.*)\n/;
/** No program needs more; the limit keeps a defect from taking minutes. */
const FUEL = 3_000_000_000;

interface NodeProgram {
  readonly name: string;
  readonly kind: 'program' | 'module' | 'typescript' | 'process';
  readonly code: string;
}

const programs = readdirSync(FOLDER)
  .filter((file) => /\.(?:js|ts\.txt)$/.test(file))
  .sort()
  .flatMap((file) =>
    readFileSync(FOLDER + file, 'utf8')
      .split(START)
      .filter((part) => HEAD.test(part))
      .map((part): NodeProgram => {
        const [line, kind, name] = HEAD.exec(part)!;
        return { name: `${file}: ${name}`, kind: kind as NodeProgram['kind'], code: part.slice(line.length) };
      }),
  );

interface HostResult {
  readonly stdout: string;
  readonly error?: string;
}

const withoutTypes = (code: string) =>
  transformSync(code, { loader: 'ts', format: 'esm', target: 'es2022' }).code;

const expected = new Map<NodeProgram, HostResult>();
const temporary = folderOfFile();

const folderOf = (program: NodeProgram) => `${temporary}/${programs.indexOf(program)}`;

beforeAll(async () => {
  const together: { program: NodeProgram; folder: string; file: string }[] = [];
  for (const program of programs) {
    const folder = folderOf(program);
    const isCommonJs = program.kind === 'program' || program.kind === 'process';
    const file = `${folder}/main.${isCommonJs ? 'cjs' : 'mjs'}`;
    mkdirSync(folder);
    writeFileSync(file, program.kind === 'typescript' ? withoutTypes(program.code) : program.code);
    if (program.kind !== 'process') together.push({ program, folder, file });
  }
  const [input, output] = [`${temporary}/input.json`, `${temporary}/output.json`];
  writeFileSync(input, JSON.stringify(together.map(({ folder, file }) => ({ folder, file }))));
  await runProcess(process.execPath, [`${FOLDER}run-on-host.mjs`, input, output]);
  const results = JSON.parse(readFileSync(output, 'utf8')) as HostResult[];
  for (const [i, result] of results.entries()) expected.set(together[i]!.program, result);
}, 120_000);

async function printsTheSame(program: NodeProgram): Promise<void> {
  const ownProcess =
    program.kind === 'process'
      ? runProcess(process.execPath, ['main.cjs'], { cwd: folderOf(program) })
      : undefined;
  const sandbox = await createSandbox({ runtime: 'javascript' });
  const language = program.kind === 'typescript' ? 'typescript' : 'javascript';
  const result = await sandbox.execute(program.code, { language, fuel_budget: FUEL });
  await sandbox.close();
  if (ownProcess !== undefined) {
    const { stdout, status } = await ownProcess;
    expect([result.stdout, result.exit_code], result.stderr).toEqual([stdout, status]);
    return;
  }
  const { stdout, error } = expected.get(program)!;
  expect(error).toBeUndefined();
  expect(result.stdout, result.stderr).toBe(stdout);
  expect(result.success, result.stderr).toBe(true);
}

describe('program in the style of Node.js', () => {
  const isQuick = (program: NodeProgram) => programs.indexOf(program) % 4 === 0;
  test.each(programs.filter(isQuick))('$name', printsTheSame);
  test.each(programs.filter((program) => !isQuick(program)))('$name', { tags: 'full' }, printsTheSame);
});
