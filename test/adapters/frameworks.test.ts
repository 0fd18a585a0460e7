/** The examples of docs/ADAPTERS.md run with the real packages and a model that calls the tools. */
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { sdkModules } from '../e2b/load-sdk.ts';
import { INSTALL_TIMEOUT_MS, install, newProject, runMarkedExample } from './framework-project.ts';
import { PNG } from './models/programs.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const ZOD = 'zod@4.6.7';

const FRAMEWORKS: Readonly<Record<string, readonly string[]>> = {
  'ai-sdk': ['ai@7.0.170', ZOD],
  langchain: ['@langchain/core@1.2.13', ZOD],
  'openai-agents': ['@openai/agents@0.20.0', ZOD],
  mastra: ['@mastra/core@1.71.0', ZOD],
};

/** The lowest versions that the peer dependencies of this package allow, where they differ from those above. */
const LOWEST: typeof FRAMEWORKS = {
  'ai-sdk': ['ai@6.0.0', ZOD],
  langchain: ['@langchain/core@1.0.0', ZOD],
  mastra: ['@mastra/core@1.0.4', ZOD],
};

/** Runs an example in a project with this package, other packages and a model. Returns what it prints. */
function runExample(name: string, packages?: string): string {
  const project = newProject(packages);
  for (const file of packages === undefined ? [] : ['programs', 'ai-sdk', name])
    copyFileSync(join(root, `test/adapters/models/${file}.mjs`), join(project, `${file}.mjs`));
  writeFileSync(join(project, 'model.js'), `export { model } from './${name}.mjs';`);
  const run = runMarkedExample(`adapter: ${name}`, project);
  // AI SDK 7 deprecates the only type of files that version 6 has.
  const warnings = run.stderr
    .split('\n')
    .filter((line) => !/TOOL_RESULT_FILE_DATA|AI_SDK_LOG_WARNINGS|trace-warnings/.test(line));
  expect(warnings.join('')).toBe('');
  return run.stdout;
}

describe('adapter example', () => {
  for (const [name, packages] of [...Object.entries(FRAMEWORKS), ...Object.entries(LOWEST)])
    test(
      `${name} gives the model output, guidance and an image with ${packages[0]}`,
      (context) => {
        const stdout = runExample(name, install(name, packages, context));
        const { results, tools } = JSON.parse(stdout) as { results: unknown[]; tools?: { name: string }[] };
        const [first, second, third] = results.map((result) => JSON.stringify(result));
        expect(first).toMatch(/Succeeded \(.* fuel\)\.\\nstdout:\\n42\\n/);
        expect(second).toMatch(/Failed: KeyError: 'b' on line 1 .*with x = 6\\nHow to fix /);
        expect(third).toContain(PNG);
        const names = tools?.map((tool) => tool.name) ?? [
          'execute_code',
          'read_file',
          'write_file',
          'list_files',
        ];
        expect(names).toEqual(['execute_code', 'read_file', 'write_file', 'list_files']);
      },
      INSTALL_TIMEOUT_MS,
    );

  test('runs with the lowest version of every peer dependency', () => {
    const { peerDependencies } = JSON.parse(
      readFileSync(join(root, 'packages/adapters/package.json'), 'utf8'),
    ) as {
      peerDependencies: Record<string, string>;
    };
    for (const [spec] of Object.values({ ...FRAMEWORKS, ...LOWEST })) {
      const [, name, version] = /^(.+)@(.+)$/.exec(spec!)!;
      expect(peerDependencies[name!]).toMatch(new RegExp(`^\\^${version!.replaceAll('.', '\\.')}( |$)`));
    }
  });

  test('generic lists the tools and runs a program', () => {
    const lines = runExample('generic').split('\n');
    expect(lines.slice(0, 4)).toEqual([
      'execute_code code stdin files',
      'read_file path offset encoding',
      'write_file path content encoding',
      'list_files folder',
    ]);
    expect(lines.slice(4, 7)).toEqual([expect.stringMatching(/^Succeeded/), 'stdout:', '42']);
  });

  test('e2b runs programs that share variables and files', () => {
    const { stdout, stderr } = runMarkedExample('adapter: e2b', newProject(sdkModules()));
    expect([stdout, stderr]).toEqual(['6 3\n', '']);
  });
});

/** Uses every adapter with the types of the real packages. */
const TYPED = `
import { generateText, type LanguageModel } from 'ai';
import { tool as langChainTool } from '@langchain/core/tools';
import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { Agent as OpenAiAgent, tool as openAiTool } from '@openai/agents';
import { Agent as MastraAgent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { createSandbox } from 'llm-wasm-sandbox';
import { aiSdkTools, langChainTools, mastraTools, openAiAgentsTools } from 'llm-wasm-sandbox/adapters';

declare const model: LanguageModel;
declare const chat: BaseChatModel;
const sandbox = await createSandbox({ runtime: 'python' });
await generateText({ model, tools: aiSdkTools(sandbox), prompt: '' });
await chat.bindTools!(langChainTools(langChainTool, sandbox)).invoke([]);
new OpenAiAgent({ name: '', tools: openAiAgentsTools(openAiTool, sandbox) });
new MastraAgent({ id: '', name: '', instructions: '', model: '', tools: mastraTools(createTool, sandbox) });
`;

test(
  'adapters compile with the types of the packages',
  (context) => {
    const folders = Object.entries(FRAMEWORKS).map(([name, packages]) => install(name, packages, context));
    const project = newProject();
    for (const folder of folders)
      for (const name of ['ai', 'zod', '@langchain', '@openai', '@mastra'])
        if (existsSync(join(folder, name)) && !existsSync(join(project, 'node_modules', name)))
          symlinkSync(join(folder, name), join(project, 'node_modules', name));
    writeFileSync(join(project, 'typed.mts'), TYPED);
    const flags = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2023'];
    const lib = ['--lib', 'es2023,esnext.disposable,dom'];
    const tsc = [join(root, 'node_modules/typescript/bin/tsc'), ...flags, ...lib, 'typed.mts'];
    const { stdout } = spawnSync(process.execPath, tsc, { cwd: project, encoding: 'utf8' });
    expect(stdout).toBe('');
  },
  INSTALL_TIMEOUT_MS,
);
