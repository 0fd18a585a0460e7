/**
 * Runs the examples of a document in a new project that has this package installed. All scripts of a document run in one
 * process, one after the other.
 */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformSync } from 'esbuild';
import { runProcess } from './cli.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const PACKAGE = 'llm-wasm-sandbox';

/** Creates a project with this package and the others that scripts import, so that neither npm nor npx needs a registry. */
export function installedProject(others: Iterable<string> = []): string {
  const folder = mkdtempSync(join(tmpdir(), 'project-'));
  mkdirSync(join(folder, 'node_modules/.bin'), { recursive: true });
  symlinkSync(join(root, 'packages/cli'), join(folder, 'node_modules', PACKAGE));
  symlinkSync(join(root, 'packages/cli/dist/cli/main.js'), join(folder, 'node_modules/.bin', PACKAGE));
  for (const name of others) {
    mkdirSync(dirname(join(folder, 'node_modules', name)), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name));
  }
  return folder;
}

interface Example {
  readonly name: string;
  readonly language: string;
  readonly code: string;
}

const BLOCK = /<!-- (example|nightly example|file): ([\w.]+) -->\n```(\w+)\n([\s\S]*?)```/g;
const IS_NIGHTLY = Boolean(process.env['NIGHTLY_TESTS']);
const IMPORTED = /from '((?:@[\w-]+\/)?[a-z][\w-]*)[^']*'/g;
const SEPARATOR = '\0';

async function runScripts(project: string, scripts: readonly Example[]): Promise<Map<string, string>> {
  for (const { name, language, code } of scripts) {
    const loader = language as 'js' | 'ts';
    const script = transformSync(code, { loader, target: 'node20', format: 'esm' }).code;
    writeFileSync(join(project, `${name}.mjs`), script);
  }
  const names = JSON.stringify(scripts.map(({ name }) => name));
  const main = `for (const name of ${names}) { process.stdout.write('\\0'); await import('./' + name + '.mjs'); }`;
  writeFileSync(join(project, 'run-all.mjs'), main);
  const { stdout, stderr } = await runProcess(process.execPath, ['run-all.mjs'], { cwd: project });
  if (stderr !== '') throw new Error(stderr);
  const outputs = stdout.split(SEPARATOR).slice(1);
  return new Map(scripts.map(({ name }, i) => [name, outputs[i] ?? '']));
}

/** What commands print to the terminal. `npx` is left out, because it only finds the installed command. */
async function runCommands(project: string, code: string): Promise<string> {
  const env = {
    ...(process.env as Record<string, string>),
    PATH: `${join(project, 'node_modules/.bin')}:${process.env['PATH']}`,
  };
  const commands = `exec 2>&1\n${code.replaceAll(/^npx /gm, '')}`;
  return (await runProcess('sh', ['-c', commands], { cwd: project, env })).stdout;
}

/**
 * Runs the blocks of a document that are marked with `<!-- example: NAME -->`, after writing those that are marked with
 * `<!-- file: NAME -->`. Slow ones are marked with `<!-- nightly example: NAME -->` and run only if NIGHTLY_TESTS is set.
 * Returns the output of each example by its name.
 */
export async function runExamples(document: string): Promise<Map<string, string>> {
  const blocks = [...document.matchAll(BLOCK)]
    .filter(([, kind]) => IS_NIGHTLY || kind !== 'nightly example')
    .map(([, kind, name, language, code]) => ({
      kind: kind === 'file' ? 'file' : 'example',
      name: name!,
      language: language!,
      code: code!,
    }));
  if (blocks.length === 0) return new Map();
  const scripts = blocks.filter(({ kind, language }) => kind === 'example' && language !== 'sh');
  const imported = scripts.flatMap(({ code }) => [...code.matchAll(IMPORTED)].map(([, name]) => name!));
  const project = installedProject(new Set(imported.filter((name) => name !== PACKAGE && name !== 'node')));
  try {
    for (const { name, code } of blocks.filter(({ kind }) => kind === 'file'))
      writeFileSync(join(project, name), code);
    const outputs = await runScripts(project, scripts);
    for (const { name, code } of blocks.filter(
      ({ language, kind }) => kind === 'example' && language === 'sh',
    ))
      outputs.set(name, await runCommands(project, code));
    return outputs;
  } finally {
    rmSync(project, { recursive: true, force: true });
  }
}

/** The output of an example as the document shows it. */
export function documentedOutput(document: string, name: string): string | undefined {
  return new RegExp(`<!-- output: ${name} -->\\n\`\`\`text\\n([\\s\\S]*?)\`\`\``).exec(document)?.[1];
}
