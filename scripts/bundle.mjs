/**
 * Bundles the compiled modules of each package, because loading hundreds of files takes longer than running a short program.
 * What a package.json lists as a dependency is loaded from node_modules; every other package is part of the bundle, so
 * nothing is bundled and installed at once.
 */
import { readdir, readFile, rm } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, context } from 'esbuild';

const root = fileURLToPath(new URL('../', import.meta.url));

/**
 * Loads Node.js modules without `import`, which reads every export of a module, and thereby loads many others that the
 * module loads on demand. Each file has its own copy of what it imports, because a file for all copies takes longer to load. A
 * call of `import()` is left as it is.
 */
const builtins = {
  name: 'builtins',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^(node:)?[a-z\d_/]+$/ }, ({ path: name, kind, importer }) => {
      if (!isBuiltin(name) || kind === 'dynamic-import') return undefined;
      const path = name.replace(/^node:/, '');
      if (kind === 'require-call') return { path, namespace: 'required' };
      // The output depends on the order of these names, so it must not depend on the folder of the checkout.
      return { path, namespace: 'imported', suffix: `?${relative(root, importer)}`, sideEffects: false };
    });
    onLoad({ filter: /.*/, namespace: 'required' }, ({ path }) => ({
      // Commander needs it for commands that are executables, which this program does not have.
      contents: `module.exports = ${path === 'child_process' ? `{ get spawn() { return ${builtin(path)}.spawn; } }` : builtin(path)};`,
    }));
    onLoad({ filter: /.*/, namespace: 'imported' }, ({ path }) => ({
      contents: [
        `const builtin = ${builtin(path)};\nexport default builtin;`,
        // Without the names that a file does not import.
        ...Object.keys(process.getBuiltinModule(path))
          .sort()
          .filter((name) => name !== 'default')
          .map((name) => `export const ${name} = /* @__PURE__ */ (() => builtin.${name})();`),
      ].join('\n'),
    }));
  },
};

const builtin = (path) => `process.getBuiltinModule('node:${path}')`;

/** Leaves the dynamic imports of these files to Node.js. */
const external = (files) => ({
  name: 'external',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\// }, ({ path, kind }) =>
      kind === 'dynamic-import' && files.test(path) ? { path, external: true } : undefined,
    );
  },
});

/** Refuses packages that every start of a bundle would load. A dynamic import in a module that is part of the bundle is fine. */
const onlyBuiltins = {
  name: 'only builtins',
  setup({ onEnd, initialOptions }) {
    initialOptions.metafile = true;
    onEnd(({ metafile }) => {
      for (const [file, { imports }] of Object.entries(metafile?.outputs ?? {}))
        for (const { path, kind, external } of imports)
          if (external && kind !== 'dynamic-import' && /^[^./]/.test(path) && !isBuiltin(path))
            throw new Error(`${file} imports ${path} at every start. Import it where it is used.`);
    });
  },
};

const OPTIONS = {
  bundle: true,
  platform: 'node',
  target: 'node20',
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'none',
  // Paths of modules appear in the output and must not depend on where a linked node_modules lies.
  preserveSymlinks: true,
  allowOverwrite: true,
  logLevel: 'warning',
  plugins: [builtins],
};

/** A CommonJS script, which a thread loads faster than a module. */
const SCRIPT = {
  format: 'cjs',
  outExtension: { '.js': '.cjs' },
  define: { 'import.meta.url': '_url' },
  banner: { js: "const _url = require('node:url').pathToFileURL(__filename).href;" },
};

/** An optional peer dependency that only the types of an option of the server refer to. Its code is part of the bundle. */
const TYPES_ONLY = '@modelcontextprotocol/server';

/** Options for the entries of a package, which are relative to its dist/. */
async function optionsOf(name) {
  const manifest = JSON.parse(await readFile(join(root, name, 'package.json'), 'utf8'));
  const { dependencies, optionalDependencies, peerDependencies } = manifest;
  const dist = join(root, name, 'dist');
  return {
    ...OPTIONS,
    absWorkingDir: dist,
    outbase: dist,
    outdir: dist,
    format: 'esm',
    external: Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies }).filter(
      (one) => one !== TYPES_ONLY,
    ),
  };
}

/** One file for each entry and for each set of modules that several of them share. */
async function modules(name, entryPoints, plugins = []) {
  const options = await optionsOf(name);
  await build({
    ...options,
    entryPoints,
    splitting: true,
    chunkNames: 'chunks/[name]-[hash]',
    plugins: [...plugins, builtins],
  });
}

/** Options of one file for an entry, which starts faster than files that share code. */
const optionsOfFile = async (name, entryPoint, others = {}) => ({
  ...(await optionsOf(name)),
  ...others,
  entryPoints: [entryPoint],
  plugins: [...(others.plugins ?? []), builtins],
});

const alone = async (...file) => build(await optionsOfFile(...file));

/** What threads and isolated processes load. */
const THREADS = [
  [
    { in: 'worker/thread/thread-entry', out: 'worker/thread-entry' },
    { ...SCRIPT, plugins: [onlyBuiltins] },
  ],
  [{ in: 'worker/isolation/isolation-entry', out: 'worker/isolation-entry' }, { plugins: [onlyBuiltins] }],
];

/** Bundles what threads load from the sources, now and whenever one of them changes. */
export async function watchThreads() {
  for (const [{ in: path, out }, others] of THREADS) {
    const source = { in: join(root, `packages/core/src/${path}.ts`), out };
    const watched = await context(await optionsOfFile('packages/core', source, others));
    await watched.rebuild();
    await watched.watch();
  }
}

export async function bundleCore() {
  await modules('packages/core', {
    'lib/index': 'index.js',
    'lib/basics': 'basics.js',
    'lib/internal': 'internal.js',
    'lib/postgres': 'stores/postgres/index.js',
  });
  for (const [{ in: path, out }, others] of THREADS)
    await alone('packages/core', { in: `${path}.js`, out }, others);
  await bundleTypeScript();
  const source = join(root, 'packages/core/src');
  const parsers = join(source, 'runtimes/parsers.cjs');
  await alone('packages/core', parsers, { ...SCRIPT, banner: {}, outbase: source });
}

/** Bundles the part that removes types, with the parser that it uses. */
async function bundleTypeScript() {
  const folder = join(root, 'packages/core/dist/runtimes/javascript/typescript');
  await alone('packages/core', join(folder, 'strip-types.js'), { ...SCRIPT, banner: {} });
  for (const name of await readdir(folder)) if (name.endsWith('.js')) await rm(join(folder, name));
}

/** `run` contains what it uses of the library and starts from three files. Other commands load the library's bundle, and `--help` only its entry `basics`. */
export async function bundleCommandLine() {
  const name = 'packages/cli';
  const { external: dependencies } = await optionsOf(name);
  const withLibrary = {
    alias: {
      '@llm-wasm-sandbox/core/basics': join(root, 'packages/core/dist/basics.js'),
      '@llm-wasm-sandbox/core/internal': join(root, 'packages/core/dist/internal.js'),
    },
    external: [
      ...dependencies.filter((one) => one !== '@llm-wasm-sandbox/core'),
      ...(await optionsOf('packages/core')).external,
    ],
  };
  const starts = /^\.\/(early-start|run-command-entry|dispatch-command)\.js$/;
  // Before their modules are replaced by the bundles of other commands.
  await alone(name, 'cli/early-start.js', { ...withLibrary, plugins: [onlyBuiltins] });
  const others = external(/^\.\/commands\/(?!run\.js)/);
  await alone(name, 'cli/run-command-entry.js', { ...withLibrary, plugins: [onlyBuiltins, others] });
  await alone(name, 'cli/main.js', { ...withLibrary, plugins: [onlyBuiltins, external(starts)] });
  await modules(name, {
    'lib/index': 'index.js',
    'lib/mcp': 'mcp.js',
    'lib/adapters': 'adapters.js',
    'cli/dispatch-command': 'cli/dispatch-command.js',
  });
}

export async function bundle() {
  await bundleCore();
  await modules('packages/server', {
    'lib/internal': 'internal.js',
    'lib/jobs': 'jobs/index.js',
    'lib/mcp': 'serve.js',
  });
  await modules('packages/adapters', { 'lib/index': 'index.js' });
  await modules('tools/redteam', { 'lib/attack': 'attack.js', 'lib/index': 'index.js' });
  await bundleCommandLine();
}
