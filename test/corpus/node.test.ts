/**
 * Programs in the style of Node.js print the same in the sandbox and in the Node.js that runs the tests, byte for byte. The
 * programs are in the folder `node`. A line `// program: NAME` starts a CommonJS program, `// module: NAME` an ES module,
 * and `// typescript: NAME` an ES module in TypeScript, which esbuild translates for Node.js. A program after
 * `// process: NAME` gets a process of its own in Node.js, and its exit code is compared too.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { transformSync } from 'esbuild';
import { createSandbox } from 'llm-wasm-sandbox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

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
  readonly exitCode?: number | null;
}

const withoutTypes = (code: string) =>
  transformSync(code, { loader: 'ts', format: 'esm', target: 'es2022' }).code;

const expected = new Map<NodeProgram, HostResult>();
let temporary: string;

beforeAll(() => {
  temporary = mkdtempSync(`${tmpdir()}/node-corpus-`);
  const together: (NodeProgram & { folder: string; file: string })[] = [];
  programs.forEach((program, i) => {
    const folder = `${temporary}/${i}`;
    const isCommonJs = program.kind === 'program' || program.kind === 'process';
    const file = `${folder}/main.${isCommonJs ? 'cjs' : 'mjs'}`;
    mkdirSync(folder);
    writeFileSync(file, program.kind === 'typescript' ? withoutTypes(program.code) : program.code);
    if (program.kind !== 'process') together.push({ ...program, folder, file });
    else {
      const { stdout, status } = spawnSync(process.execPath, [file], { cwd: folder, input: '' });
      expected.set(program, { stdout: stdout.toString(), exitCode: status });
    }
  });
  const [input, output] = [`${temporary}/input.json`, `${temporary}/output.json`];
  writeFileSync(input, JSON.stringify(together.map(({ folder, file }) => ({ folder, file }))));
  execFileSync(process.execPath, [`${FOLDER}run-on-host.mjs`, input, output], { stdio: 'ignore' });
  const results = JSON.parse(readFileSync(output, 'utf8')) as HostResult[];
  for (const [i, result] of results.entries()) {
    expected.set(programs.find(({ name }) => name === together[i]!.name)!, result);
  }
}, 120_000);

afterAll(() => rmSync(temporary, { recursive: true, force: true }));

test('the corpus has at least 250 programs in the style of Node.js', () => {
  expect(new Set(programs.map(({ name }) => name)).size).toBeGreaterThanOrEqual(250);
});

describe('program in the style of Node.js', () => {
  test.each(programs)('$name', async (program) => {
    const host = expected.get(program)!;
    expect(host.error).toBeUndefined();
    const sandbox = await createSandbox({ runtime: 'javascript' });
    const language = program.kind === 'typescript' ? 'typescript' : 'javascript';
    const result = await sandbox.execute(program.code, { language, fuel_budget: FUEL });
    await sandbox.close();
    expect(result.stdout, result.stderr).toBe(host.stdout);
    if (program.kind === 'process') expect(result.exit_code).toBe(host.exitCode);
    else expect(result.success, result.stderr).toBe(true);
  });
});
