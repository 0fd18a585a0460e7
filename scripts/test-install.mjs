/**
 * Installs the packed package in new projects, with its optional parts and without, and uses it as its users do: the command
 * line, the library, its types with several versions of TypeScript, and bundlers. Requires a build. `--keep` leaves the projects in place.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installPinned } from './install-pinned-packages.mjs';
import { packAll } from './parts.mjs';

const root = fileURLToPath(new URL('../', import.meta.url));
/** Versions of TypeScript, and how each resolves modules. */
const TYPESCRIPT = { '5.4.5': ['nodenext'], '5.9.3': ['nodenext', 'bundler'], '7.0.2': ['bundler'] };
const TYPES_NODE = '@types/node@24.19.2';
const RUNTIMES = ['bun@1.4.4', 'deno@2.9.6'];
/** A newest version that the registry can install completely, for each peer dependency. */
const NEWEST_PEERS = [
  '@langchain/core@1.2.13',
  '@mastra/core@1.71.0',
  '@modelcontextprotocol/server@2.4.0',
  '@openai/agents@0.20.0',
  '@opentelemetry/api@1.10.0',
  'ai@7.0.170',
  'pg@8.23.1',
  'pg-boss@12.30.0',
];
const ESBUILD = 'esbuild@0.28.2';
/** The types of an option of the server. */
const MCP_TYPES = '@modelcontextprotocol/server@2.4.0';
const MAX_CORE_BYTES = 25_000_000;

const folder = mkdtempSync(join(tmpdir(), 'install test '));
const project = join(folder, 'project');
let failures = 0;

function check(name, run) {
  const started = performance.now();
  let reason;
  try {
    reason = run();
  } catch (cause) {
    reason = cause.message;
  }
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${reason === undefined ? 'ok    ' : 'FAILED'} ${name} (${seconds} s)`);
  if (reason === undefined) return;
  failures++;
  console.log(`       ${String(reason).trim().split('\n').join('\n       ')}`);
}

/** Returns undefined if the output of a program is as expected, otherwise what differs. */
function expectOutput(command, args, expected, options = {}) {
  const { stdout, stderr, status, error } = spawnSync(command, args, {
    cwd: project,
    encoding: 'utf8',
    timeout: 120_000,
    ...options,
  });
  const isExpected = expected instanceof RegExp ? expected.test(stdout + stderr) : stdout === expected;
  return status === 0 && isExpected
    ? undefined
    : (error?.message ?? `exit code ${status}\n${stdout}${stderr}`);
}

const write = (path, text) => {
  mkdirSync(dirname(join(project, path)), { recursive: true });
  writeFileSync(join(project, path), text);
};

// ---- installation ----

const { charts, packages, programs, ...code } = packAll(folder);
const parts = [charts, packages, programs];
const all = [...Object.values(code), ...parts];
const paths = (packs) => packs.map(({ path }) => path);
const { version } = code.core;
const INSTALL = ['install', '--no-audit', '--no-fund', '--loglevel=error'];
const install = (cwd, flags, packages) => {
  mkdirSync(cwd, { recursive: true });
  writeFileSync(join(cwd, 'package.json'), '{"private":true,"type":"module"}');
  execFileSync('npm', [...INSTALL, ...flags, ...packages], { cwd, stdio: ['ignore', 'ignore', 'inherit'] });
};
install(project, [], [...paths(all), MCP_TYPES, TYPES_NODE, ESBUILD]);
const cli = join(project, 'node_modules/llm-wasm-sandbox/dist/cli/main.js');

// ---- sizes and parts ----

check('the packages contain every built file once, and the main package is small', () => {
  const packed = [code.core, ...parts].flatMap(({ files }) =>
    files.map(({ path }) => path.replace(/^dist\//, '')),
  );
  const built = readdirSync(join(root, 'packages/core/dist/guests'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(root, 'packages/core/dist/').length))
    .filter((path) => !path.startsWith('guests/bash/'));
  const wrong = built.filter((path) => packed.filter((one) => one === path).length !== 1);
  if (wrong.length > 0) return `not in exactly one package: ${wrong.join(', ')}`;
  const guide = readFileSync(join(root, 'docs/GETTING_STARTED.md'), 'utf8');
  for (const { name, size } of [code.core, ...parts]) {
    const [, documented] = new RegExp(`^\\| \`${name}\` \\| ([\\d.]+) MB`, 'm').exec(guide) ?? [];
    if (!(Math.abs(size / 1e6 - Number(documented)) <= size / 1e7))
      return `${name} has ${(size / 1e6).toFixed(1)} MB, and docs/GETTING_STARTED.md says ${documented}`;
  }
  return code.core.size > MAX_CORE_BYTES ? `the library has ${code.core.size} bytes` : undefined;
});

const filesBelow = (path) =>
  readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => statSync(join(entry.parentPath, entry.name)).size);

/** What the library installs besides the packages of this repository. */
const MAX_OTHER_PACKAGES = 5;
const MAX_OTHER_BYTES = 6_000_000;

check('the library alone brings few other packages, and works without Zod', () => {
  const library = join(folder, 'library');
  install(library, ['--omit=optional'], [code.core.path]);
  const { packages: installed } = JSON.parse(readFileSync(join(library, 'package-lock.json'), 'utf8'));
  const others = Object.keys(installed).filter(
    (path) => existsSync(join(library, path)) && /node_modules\/(?!@llm-wasm-sandbox\/)/.test(path),
  );
  const bytes = others
    .flatMap((path) => filesBelow(join(library, path)))
    .reduce((sum, size) => sum + size, 0);
  console.log(`       ${others.length} packages, ${(bytes / 1e6).toFixed(1)} MB: ${others.join(', ')}`);
  if (others.length > MAX_OTHER_PACKAGES || bytes > MAX_OTHER_BYTES)
    return `${others.length} packages, ${bytes} bytes`;
  const program = `import { createSandbox } from '@llm-wasm-sandbox/core';
import { postgresStore } from '@llm-wasm-sandbox/core/stores/postgres';
const sandbox = await createSandbox({ runtime: 'python' });
console.log((await sandbox.execute('6 * 7')).metadata.result, typeof postgresStore);
`;
  writeFileSync(join(library, 'use.mjs'), program);
  return expectOutput(process.execPath, ['use.mjs'], '42 function\n', { cwd: library });
});

/** Programs that use a part, and what they print with it. */
const PART_PROGRAMS = [
  { part: 'packages', code: 'import yaml\nprint(yaml.safe_load("[1]"))', present: /^\[1\]$/m },
  {
    part: 'packages',
    code: "import _ from 'lodash';\nconsole.log(_.chunk([1, 2, 3], 2).length)",
    flags: ['--language', 'javascript'],
    present: /^2$/m,
  },
  { part: 'charts', code: 'import chart\nchart.bar({"a": 1})', flags: ['--json'], present: /"png":/ },
  {
    part: 'programs',
    code: 'import subprocess\nprint(subprocess.run(["seq", "2"], capture_output=True, text=True))',
    present: /stdout='1\\n2\\n'/,
  },
];
const runPart = (command, { code, flags = [] }) => {
  const args = [command, 'run', '--guidance', ...flags, '-c', code];
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: project, encoding: 'utf8' });
  return stdout + stderr;
};
for (const program of PART_PROGRAMS) {
  check(`with the part ${program.part}: ${program.code.split('\n')[0]}`, () => {
    const text = runPart(cli, program);
    return program.present.test(text) ? undefined : text;
  });
}

const small = join(folder, 'small');
const smallCli = join(small, 'node_modules/llm-wasm-sandbox/dist/cli/main.js');
check('install with --omit=optional', () => {
  install(small, ['--omit=optional'], paths(Object.values(code)));
  return (
    expectOutput(process.execPath, [smallCli, 'run', '-c', 'import json, re\nprint(6 * 7)'], '42\n') ??
    expectOutput(
      process.execPath,
      [smallCli, 'run', '--language', 'javascript', '-c', 'console.log([3, 1].sort())'],
      '[ 1, 3 ]\n',
    ) ??
    expectOutput(process.execPath, [smallCli, 'doctor'], /^Everything works\.$/m) ??
    expectOutput(process.execPath, [smallCli, 'packages', 'list'], /npm install @llm-wasm-sandbox\/packages@/)
  );
});
for (const program of PART_PROGRAMS) {
  check(`without the part ${program.part}, a program names it: ${program.code.split('\n')[0]}`, () => {
    const text = runPart(smallCli, program);
    const command = `npm install @llm-wasm-sandbox/${program.part}@${version}`;
    return !program.present.test(text) && text.includes(command) ? undefined : text;
  });
}
check('a part of another version or with a damaged file is refused', () => {
  const part = join(small, 'node_modules/@llm-wasm-sandbox/packages');
  execFileSync('npm', [...INSTALL, '--no-save', packages.path], { cwd: small, stdio: 'ignore' });
  const manifest = join(part, 'manifest.json');
  const text = readFileSync(manifest, 'utf8');
  writeFileSync(manifest, text.replace(version, '9.9.9'));
  const old = runPart(smallCli, PART_PROGRAMS[0]);
  if (!old.includes('is for version 9.9.9 of llm-wasm-sandbox')) return old;
  writeFileSync(manifest, text);
  const pack = join(part, 'guests/python/layer-1.pack');
  const bytes = readFileSync(pack);
  bytes.fill(0, bytes.length >> 3);
  writeFileSync(pack, bytes);
  const damaged = runPart(smallCli, PART_PROGRAMS[0]);
  if (!damaged.includes('layer-1.pack is damaged')) return damaged;
  const { stdout } = spawnSync(process.execPath, [smallCli, 'doctor'], { encoding: 'utf8' });
  return stdout.includes('of @llm-wasm-sandbox/packages is damaged') ? undefined : stdout;
});

// ---- peer dependencies ----

check('installs next to the newest version of every peer dependency', () => {
  const peersOf = (name) =>
    Object.keys(
      JSON.parse(readFileSync(join(root, `packages/${name}/package.json`), 'utf8')).peerDependencies,
    );
  const wanted = ['core', 'server', 'adapters', 'cli'].flatMap(peersOf);
  const own = '@llm-wasm-sandbox/bash';
  const names = NEWEST_PEERS.map((spec) => spec.slice(0, spec.lastIndexOf('@')));
  const missing = wanted.filter((name) => name !== own && !names.includes(name));
  if (missing.length > 0) return `no version is given for ${missing.join(', ')}`;
  const peers = join(folder, 'peers');
  mkdirSync(peers);
  writeFileSync(join(peers, 'package.json'), '{"private":true}');
  // npm resolves the whole tree and fails on conflicts, but downloads only descriptions of packages.
  const flags = ['--package-lock-only', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status, stderr } = spawnSync(
    'npm',
    ['install', ...flags, ...paths(Object.values(code)), ...NEWEST_PEERS],
    {
      cwd: peers,
      encoding: 'utf8',
    },
  );
  return status === 0 ? undefined : stderr;
});

// ---- command line ----

write('app/main.py', 'import helper, sys\nprint(helper.double(21), sys.argv[1:], sys.stdin.read())');
write('app/helper.py', 'def double(n):\n    return n * 2');
write('app/main.ts', 'const n: number = 42;\nconsole.log(n, process.argv.slice(2));');

check('run with modules, arguments and input', () =>
  expectOutput(process.execPath, [cli, 'run', 'app/main.py', '--', '-x'], "42 ['-x'] in\n", { input: 'in' }),
);
check('run with TypeScript', () =>
  expectOutput(process.execPath, [cli, 'run', 'app/main.ts', '--', '-x'], "42 [ '-x' ]\n"),
);
check('run without Python or anything else on PATH', () => {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  symlinkSync(process.execPath, join(bin, 'node'));
  return expectOutput(
    process.execPath,
    [cli, 'run', '-c', 'import yaml\nprint(yaml.safe_load("[1]"))'],
    '[1]\n',
    {
      env: { PATH: bin, HOME: folder },
    },
  );
});
check('doctor', () => expectOutput(process.execPath, [cli, 'doctor'], /^Everything works\.$/m));

// ---- library ----

write(
  'use.mjs',
  `import { createSandbox } from 'llm-wasm-sandbox';
const sandbox = await createSandbox({ runtime: 'python' });
console.log((await sandbox.execute('6 * 7')).metadata.result);
`,
);
const esbuild = join(project, 'node_modules/.bin/esbuild');
const bundle = (...flags) =>
  execFileSync(esbuild, ['use.mjs', '--bundle', '--platform=node', '--format=esm', ...flags], {
    cwd: project,
    stdio: ['ignore', 'ignore', 'pipe'],
  });

check('library', () => expectOutput(process.execPath, ['use.mjs'], '42\n'));

// ---- other runtimes of JavaScript ----

write(
  'session.mjs',
  `import { createSandbox, diskStore } from 'llm-wasm-sandbox';
const store = diskStore('sessions');
const sandbox = await createSandbox({ runtime: 'javascript', session_id: 'a', store });
await sandbox.execute('globalThis.n = (globalThis.n ?? 0) + 21');
console.log((await sandbox.execute('n')).metadata.result);
await sandbox.close();
`,
);
const runtimes = join(installPinned('javascript-runtimes', RUNTIMES), 'node_modules');
check('library and command line with Bun', () => {
  // The package of the platform: the command of the package bun needs an install script, which is not run.
  const bun = join(runtimes, '@oven', readdirSync(join(runtimes, '@oven'))[0], 'bin/bun');
  return (
    expectOutput(bun, ['use.mjs'], '42\n') ??
    expectOutput(bun, ['session.mjs'], '21\n') ??
    expectOutput(bun, ['session.mjs'], '42\n') ??
    expectOutput(bun, [cli, 'run', 'app/main.py', '--', '-x'], "42 ['-x'] in\n", { input: 'in' })
  );
});
// The executable is an optional dependency, which a registry may not have for this machine.
if (!existsSync(join(runtimes, '@deno')))
  console.log('skip   Deno is refused: it has no executable for this machine');
else
  check('Deno is refused', () => {
    const { stdout, stderr, status } = spawnSync(join(runtimes, '.bin/deno'), ['run', '-A', 'use.mjs'], {
      cwd: project,
      encoding: 'utf8',
      timeout: 120_000,
    });
    return status === 1 && stderr.includes('Deno cannot run the worker threads')
      ? undefined
      : stdout + stderr;
  });

// ---- bundlers ----

check('bundle by esbuild, with the package external', () => {
  bundle('--packages=external', '--outfile=out/external.mjs');
  return expectOutput(process.execPath, ['out/external.mjs'], '42\n');
});

check('bundle by esbuild that includes the package, without its files and with them', () => {
  bundle('--outfile=out/included.mjs');
  const { stderr } = spawnSync(process.execPath, ['out/included.mjs'], { cwd: project, encoding: 'utf8' });
  if (!stderr.includes('declare it as external')) return stderr;
  const env = { ...process.env, LLM_WASM_SANDBOX_ASSETS: 'node_modules/@llm-wasm-sandbox/core/dist' };
  return expectOutput(process.execPath, ['out/included.mjs'], '42\n', { env });
});

// ---- types ----

const CONSUMER = `
import { createPool, createSandbox, type ExecuteOptions, type SandboxResult } from 'llm-wasm-sandbox';
import { serveHttp } from 'llm-wasm-sandbox/mcp';
export async function use(): Promise<SandboxResult> {
  const sandbox = await createSandbox({ runtime: 'python', pool: createPool({ maxWorkers: 2 }) });
  const bytes = await sandbox.readFile('a.bin');
  const blob = new Blob([bytes]);
  const options: ExecuteOptions = { files: { 'b.bin': bytes, 'c.txt': 'x' }, stdin: bytes, args: [String(blob.size)] };
  const result = await sandbox.execute('1', options);
  if (!result.success) console.log(result.metadata.error_guidance?.actionable_guidance, serveHttp);
  return result;
}
`;
write('types/consumer.ts', CONSUMER);
for (const [version, modules] of Object.entries(TYPESCRIPT)) {
  const compiler = join(
    installPinned(`typescript-${version}`, [`typescript@${version}`]),
    'node_modules/typescript/bin/tsc',
  );
  for (const module of modules) {
    check(`types with TypeScript ${version}, ${module}`, () => {
      const compilerOptions = {
        ...(module === 'nodenext' ? { module } : { module: 'esnext', moduleResolution: module }),
        strict: true,
        skipLibCheck: false,
        exactOptionalPropertyTypes: true,
        noEmit: true,
        target: 'es2022',
        lib: ['es2023', 'esnext.disposable', 'dom'],
        types: ['node'],
      };
      write('types/tsconfig.json', JSON.stringify({ compilerOptions, files: ['consumer.ts'] }));
      return expectOutput(process.execPath, [compiler, '-p', 'types'], '');
    });
  }
}

// ---- the TypeScript example of the guide that comes with the package ----

const guide = readFileSync(join(project, 'node_modules/@llm-wasm-sandbox/core/docs/LIBRARY.md'), 'utf8');
const [, streaming] = /<!-- example: streaming -->\n```ts\n([\s\S]*?)```/.exec(guide);
const [, streamed] = /<!-- output: streaming -->\n```text\n([\s\S]*?)```/.exec(guide);
check('the streaming example of docs/LIBRARY.md, compiled by TypeScript', () => {
  write('streaming/main.ts', streaming);
  const compilerOptions = {
    module: 'nodenext',
    target: 'es2022',
    lib: ['es2023', 'esnext.disposable', 'dom'],
    types: ['node'],
    strict: true,
    outDir: 'out',
  };
  write('streaming/tsconfig.json', JSON.stringify({ compilerOptions, files: ['main.ts'] }));
  const compiler = join(
    installPinned('typescript-5.9.3', ['typescript@5.9.3']),
    'node_modules/typescript/bin/tsc',
  );
  return (
    expectOutput(process.execPath, [compiler, '-p', 'streaming'], '') ??
    expectOutput(process.execPath, ['streaming/out/main.js'], streamed)
  );
});

if (!process.argv.includes('--keep')) rmSync(folder, { recursive: true });
else console.log(`The projects are in ${folder}.`);
console.log(failures === 0 ? 'All checks passed.' : `Failed checks: ${failures}.`);
process.exitCode = failures === 0 ? 0 : 1;
