/** Projects with an agent framework from the cache and this package: type checks, and examples of docs/ADAPTERS.md. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformSync } from 'esbuild';
import type { TestContext } from 'vitest';
import { installPinned } from '../../scripts/install-pinned-packages.mjs';
import { folderOfTest } from '../support/folders.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
export const INSTALL_TIMEOUT_MS = 300_000;
const EXAMPLE_TIMEOUT_MS = 120_000;

/** The folder of the installed packages. Without access to the registry, the test is skipped and says so. */
export function install(name: string, packages: readonly string[], { skip }: TestContext): string {
  try {
    return join(installPinned(`adapter-${name}`, packages), 'node_modules');
  } catch (cause) {
    return skip((cause as Error).message);
  }
}

/** Creates a project of a test with this package and those in a folder. */
export function newProject(packages?: string): string {
  const project = folderOfTest();
  const modules = join(project, 'node_modules');
  mkdirSync(modules);
  symlinkSync(join(root, 'packages/cli'), join(modules, 'llm-wasm-sandbox'));
  for (const entry of packages === undefined ? [] : readdirSync(packages))
    if (!entry.startsWith('.')) symlinkSync(join(packages!, entry), join(modules, entry));
  writeFileSync(join(project, 'package.json'), '{"type":"module"}');
  return project;
}

/** Runs the example of docs/ADAPTERS.md that has a mark, in a project. */
export function runMarkedExample(mark: string, project: string) {
  const document = readFileSync(join(root, 'docs/ADAPTERS.md'), 'utf8');
  const code = new RegExp(`<!-- ${mark} -->\\n\`\`\`js\\n([\\s\\S]*?)\`\`\``).exec(document)![1]!;
  const { code: script } = transformSync(code, { loader: 'js', target: 'node20', format: 'esm' });
  writeFileSync(join(project, 'example.js'), script);
  const options = { cwd: project, encoding: 'utf8', timeout: EXAMPLE_TIMEOUT_MS } as const;
  return spawnSync(process.execPath, ['example.js'], options);
}

/** What the compiler says about a program that uses the types of the packages. */
export function typeErrors(packages: string, program: string): string {
  const project = newProject(packages);
  writeFileSync(join(project, 'typed.mts'), program);
  const flags = '--noEmit --strict --skipLibCheck --module nodenext --target es2023'.split(' ');
  const types = ['--types', 'node', '--typeRoots', join(root, 'node_modules/@types')];
  const lib = ['--lib', 'es2023,esnext.disposable,dom,dom.asynciterable'];
  const tsc = [join(root, 'node_modules/typescript/bin/tsc'), ...flags, ...lib, ...types, 'typed.mts'];
  return spawnSync(process.execPath, tsc, { cwd: project, encoding: 'utf8' }).stdout;
}

/** Runs the example of a slot with a model that calls its tools. Returns what it prints. */
export function runSlotExample(name: string, packages: string): string {
  const project = newProject(packages);
  cpSync(join(root, 'test/adapters/models', `slot-${name}.mjs`), join(project, 'model.js'));
  const { stdout, stderr } = runMarkedExample(`slot: ${name}`, project);
  return stdout + stderr;
}
