/**
 * Bundles the library, the command line and the workers in dist/, because loading hundreds of files takes longer than running
 * a short program. The package contains only the bundles. They lie one folder below dist/, so every path that a module derives
 * from `import.meta.url` is rewritten to start from there.
 */
import { readdir, readFile, rm } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const dist = fileURLToPath(new URL('../dist/', import.meta.url));
/** Packages that are bundled. Others are loaded from node_modules when they are needed. */
const BUNDLED = ['zod', 'commander', '@modelcontextprotocol/server', '@modelcontextprotocol/core'];
/** Files without side effects, which are left out where none of their exports is used. */
const PURE = join(dist, 'schema');

const keepPaths = {
  name: 'keep paths',
  setup({ onLoad, onResolve, resolve }) {
    onLoad({ filter: /\.js$/ }, async ({ path }) => {
      if (!path.startsWith(dist)) return undefined;
      const text = await readFile(path, 'utf8');
      const own = JSON.stringify(`../${relative(dist, path).replaceAll(sep, '/')}`);
      const contents = withoutBuiltinImports(text)
        .replaceAll('import.meta.url', `new URL(${own}, import.meta.url).href`)
        // esbuild includes only the parts of a namespace import that are used.
        .replaceAll("import { z } from 'zod'", "import * as z from 'zod'");
      return { contents, loader: 'js' };
    });
    onResolve({ filter: /^\./ }, async ({ path, pluginData, ...options }) => {
      if (pluginData === keepPaths || !join(options.resolveDir, path).startsWith(PURE)) return undefined;
      const found = await resolve(path, { ...options, pluginData: keepPaths });
      return { path: found.path, sideEffects: false };
    });
    onResolve({ filter: /^[^./]/ }, ({ path }) => {
      const isBundled = BUNDLED.some((name) => path === name || path.startsWith(`${name}/`));
      return isBundled ? undefined : { path, external: true };
    });
  },
};

/**
 * Loads Node.js modules without `import`, which reads every export of a module, and thereby loads many others that the
 * module loads on demand.
 */
function withoutBuiltinImports(text) {
  return text.replaceAll(
    /^import (?:\{([^}]*)\}|(?:\* as )?(\w+)) from '(node:[\w/]+)';/gm,
    (_, names, name, module) =>
      `const ${name ?? `{${names.replaceAll(' as ', ': ')}}`} = process.getBuiltinModule('${module}');`,
  );
}

/** The same for packages that are CommonJS. */
const builtinsOfPackages = {
  name: 'builtins of packages',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^(node:)?[a-z_/]+$/ }, ({ path, kind }) =>
      isBuiltin(path) && kind === 'require-call'
        ? { path: path.replace(/^node:/, ''), namespace: 'builtin' }
        : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => {
      const found = `process.getBuiltinModule('node:${path}')`;
      // Commander needs it for commands that are executables, which this program does not have.
      const late = `{ get spawn() { return ${found}.spawn; } }`;
      return { contents: `module.exports = ${path === 'child_process' ? late : found};`, loader: 'js' };
    });
  },
};

const OPTIONS = {
  absWorkingDir: dist,
  outbase: dist,
  outdir: dist,
  allowOverwrite: true,
  bundle: true,
  platform: 'node',
  target: 'node20',
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'none',
  // Paths of modules appear in the output and must not depend on where a linked node_modules lies.
  preserveSymlinks: true,
  logLevel: 'warning',
  plugins: [builtinsOfPackages, keepPaths],
};

const MODULE = { ...OPTIONS, format: 'esm' };
/** One file for each entry and for each set of modules that several of them share. */
const MODULES = { ...MODULE, splitting: true, chunkNames: 'chunks/[name]-[hash]' };

/** A CommonJS script, which a thread loads faster than a module. */
const SCRIPT = {
  ...OPTIONS,
  format: 'cjs',
  outExtension: { '.js': '.cjs' },
  define: { 'import.meta.url': '_url' },
  banner: { js: "const _url = require('node:url').pathToFileURL(__filename).href;" },
};

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

/** Bundles the part that removes types, with the parser that it uses. */
async function bundleTypeScript() {
  const folder = join(dist, 'runtimes/javascript/typescript');
  await build({ ...SCRIPT, entryPoints: [join(folder, 'strip-types.js')], banner: {}, plugins: [] });
  for (const name of await readdir(folder)) if (name.endsWith('.js')) await rm(join(folder, name));
}

/** The files that applications load, and those that processes start from. The files of a set share code, which takes more files. */
const LIBRARY = {
  'lib/index': 'index.js',
  'lib/mcp': 'serve.js',
  'lib/adapters': 'adapters/index.js',
};
const PROCESSES = {
  'cli/main': 'cli/main.js',
  'worker/isolation-entry': 'worker/isolation/isolation-entry.js',
  'redteam/run-pip': 'packages/run-pip.js',
};

/** `run` and the thread are bundled separately: they start faster from one file than from those that others share. */
export async function bundle() {
  const alone = (name, plugins) => ({ entryPoints: [name], plugins: [...plugins, ...OPTIONS.plugins] });
  await build({ ...MODULES, entryPoints: LIBRARY });
  await build({
    ...MODULES,
    entryPoints: PROCESSES,
    plugins: [external(/^\.\/(early-start|run-command-entry)\.js$/), ...OPTIONS.plugins],
  });
  await build({ ...MODULE, ...alone('cli/early-start.js', [onlyBuiltins]) });
  await build({
    ...MODULE,
    ...alone('cli/run-command-entry.js', [onlyBuiltins, external(/^\.\/commands\/(?!run\.js)/)]),
  });
  const thread = { in: 'worker/thread/thread-entry.js', out: 'worker/thread-entry' };
  await build({ ...SCRIPT, ...alone(thread, [onlyBuiltins]) });
  await bundleTypeScript();
  await build({
    ...OPTIONS,
    entryPoints: [fileURLToPath(new URL('../src/runtimes/parsers.cjs', import.meta.url))],
    outbase: fileURLToPath(new URL('../src/', import.meta.url)),
    format: 'cjs',
    outExtension: { '.js': '.cjs' },
    plugins: [],
  });
}
