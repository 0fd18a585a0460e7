/**
 * Packs the server as an extension for desktop clients (.mcpb): a production install of the package with its parts, and a manifest whose
 * tools and prompts come from the built server. The official mcpb tool validates and packs it. Needs a build. `--check`
 * only generates and validates the manifest.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installPinned } from './install-pinned-packages.mjs';
import { packAll } from './parts.mjs';

const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const PACKER = '@anthropic-ai/mcpb@2.1.2';
const BIN = 'node_modules/@anthropic-ai/mcpb/dist/cli/cli.js';

const { name, version, description, license, engines, bin } = JSON.parse(
  readFileSync(at('packages/cli/package.json'), 'utf8'),
);
const { toolTable } = await import(at('packages/server/dist/mcp/tools/index.js'));
const { resolveSettings } = await import(at('packages/server/dist/server/resolve-settings.js'));
const { PROMPTS } = await import(at('packages/server/dist/mcp/prompts.js'));

const entryPoint = `node_modules/${name}/${bin[name]}`;

const firstSentence = (text) => /^.*?[.;](?=\s|$)/s.exec(text)?.[0] ?? text;

const manifest = {
  manifest_version: '0.3',
  name,
  display_name: 'LLM WASM Sandbox',
  version,
  description,
  author: { name: 'LLM WASM Sandbox contributors' },
  license,
  server: {
    type: 'node',
    entry_point: entryPoint,
    mcp_config: {
      command: 'node',
      args: [`\${__dirname}/${entryPoint}`, 'mcp'],
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the client replaces these
      env: { LLM_WASM_SANDBOX_EXTERNAL_FILES: '${user_config.external_files}' },
    },
  },
  user_config: {
    external_files: {
      type: 'directory',
      title: 'Readable folder',
      description:
        'A folder that programs can read under /external. They cannot read any other files on this computer.',
      required: false,
      default: '',
    },
  },
  tools: toolTable(resolveSettings({})).map((tool) => ({
    name: tool.name,
    description: firstSentence(tool.description),
  })),
  prompts: PROMPTS.map((prompt) => {
    const names = Object.keys(prompt.args.shape);
    const placeholders = Object.fromEntries(names.map((one) => [one, `\${arguments.${one}}`]));
    const { name: promptName, description: promptDescription } = prompt;
    return {
      name: promptName,
      description: promptDescription,
      arguments: names,
      text: prompt.text(placeholders),
    };
  }),
  compatibility: { platforms: ['darwin', 'win32', 'linux'], runtimes: { node: engines.node } },
};

const packer = join(installPinned('mcpb', [PACKER]), BIN);
const folder = mkdtempSync(join(tmpdir(), 'mcpb-'));
const mcpb = (...args) => execFileSync(process.execPath, [packer, ...args], { encoding: 'utf8' });
try {
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify(manifest, null, 2));
  process.stdout.write(mcpb('validate', join(folder, 'manifest.json')));
  if (!process.argv.includes('--check')) {
    // The parts are optional dependencies, which the registry may not have. The extension includes them.
    const packed = Object.values(packAll(join(folder, 'packed'))).map(({ path }) => path);
    const install = ['install', '--omit=dev', '--ignore-scripts', '--no-package-lock', ...packed];
    execFileSync('npm', [...install, '--prefix', folder], { stdio: 'ignore' });
    rmSync(join(folder, 'packed'), { recursive: true });
    mkdirSync(at('build'), { recursive: true });
    process.stdout.write(mcpb('pack', folder, at(`build/${name}-${version}.mcpb`)));
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
