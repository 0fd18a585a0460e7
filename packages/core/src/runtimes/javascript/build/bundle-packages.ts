/**
 * Bundles the vendored JavaScript packages into self-contained ES modules, at build time, from the pinned
 * development dependencies that npm installed. Each module exports all names of its package, and the package itself as
 * default.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { builtinModules, createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';
import {
  JAVASCRIPT_PACKAGES,
  type MissingPackage,
  type VendoredPackage,
} from '../../../packages/vendored-package-table.ts';

export interface ModuleSource {
  /** The name that programs import. */
  readonly name: string;
  /** Other names of the same module. */
  readonly aliases: readonly string[];
  readonly source: string;
}

const requireHere = createRequire(import.meta.url);
const FIRST_PARTY = fileURLToPath(new URL('../../../packages/first-party/javascript/', import.meta.url));

/** The folder of an installed package. Not every package allows its package.json to be resolved, so search for it. */
function installedFolder(name: string): string {
  const candidates = requireHere.resolve.paths(name)?.map((folder) => `${folder}/${name}`);
  const folder = candidates?.find((one) => existsSync(`${one}/package.json`));
  if (folder === undefined) throw new Error(`${name} is not installed`);
  return folder;
}

/** The version that package.json pins, of the package itself or of the one that it is an alias of. */
export function pinnedVersion({ name }: VendoredPackage): string {
  const { devDependencies } = JSON.parse(
    readFileSync(new URL('../../../../../../package.json', import.meta.url), 'utf8'),
  );
  return devDependencies[name].replace(/^npm:.*@/, '');
}

/**
 * The source of a module that exports the package as default and every name that its ES or CommonJS form has. Unless
 * `default_export` says otherwise, the default export is that of the package.
 */
async function reexportSource(
  specifier: string,
  { default_export, setup = '' }: Pick<VendoredPackage, 'default_export' | 'setup'> = {},
): Promise<string> {
  const namespace = (await import(specifier)) as Record<string, unknown>;
  const useNamespace = default_export === 'namespace' || namespace['default'] === undefined;
  const whole = useNamespace ? namespace : (namespace['default'] as object);
  const names = [...new Set([...Object.keys(namespace), ...Object.keys(whole)])].filter(
    (name) => !['default', 'module.exports', '__esModule'].includes(name),
  );
  const picked = names.map((name, i) => {
    const from = name in whole ? 'whole' : 'all';
    return `const _${i} = ${from}[${JSON.stringify(name)}];`;
  });
  const exported = names.map((name, i) => `_${i} as ${JSON.stringify(name)}`);
  return `import * as all from ${JSON.stringify(specifier)};
const whole = ${useNamespace ? 'all' : 'all.default'};
${picked.join('\n')}
${setup}
export { ${[...exported, 'whole as default'].join(', ')} };`;
}

/** The source of a module for `lazy_instance`. Constants are exported by value. */
async function lazySource(
  name: string,
  { imports, instance }: NonNullable<VendoredPackage['lazy_instance']>,
): Promise<string> {
  const namespace = (await import(name)) as Record<string, unknown>;
  const evaluate = new Function(...imports, `return ${instance};`);
  const whole = evaluate(...imports.map((one) => namespace[one])) as Record<string, unknown>;
  const names = Object.keys(namespace).filter((one) => one in whole && !imports.includes(one));
  const values = names.map((one, i) => {
    const value = namespace[one];
    const isLazy = typeof value === 'function' || (typeof value === 'object' && value !== null);
    const lazy = `lazyExport(() => whole[${JSON.stringify(one)}], ${typeof value === 'function'})`;
    return `const _${i} = ${isLazy ? lazy : typeof value === 'string' ? JSON.stringify(value) : String(value)};`;
  });
  const exported = names.map((one, i) => `_${i} as ${JSON.stringify(one)}`);
  return `import { ${imports.join(', ')} } from ${JSON.stringify(name)};
import { lazyExport } from ${JSON.stringify(`${FIRST_PARTY}lazy-export.js`)};
const whole = ${instance};
${values.join('\n')}
export { ${[...imports, ...exported, 'whole as default'].join(', ')} };`;
}

/** Replaces imports of Node.js modules by the modules of the guest. */
const NODE_MODULES: Plugin = {
  name: 'node-modules',
  setup(build) {
    const names = new Set(builtinModules);
    build.onResolve({ filter: /^(node:)?[a-z_]+(\/[a-z]+)?$/ }, ({ path }) =>
      names.has(path.replace(/^node:/, '')) ? { path, namespace: 'node-modules' } : undefined,
    );
    build.onLoad({ filter: /./, namespace: 'node-modules' }, ({ path }) => ({
      contents: `module.exports = globalThis.process.getBuiltinModule(${JSON.stringify(path)});`,
    }));
  },
};

/** Replaces imports of the modules in `files` by first-party files, which can load the modules that they replace. */
function replacedModules(files: Readonly<Record<string, string>>, resolveDir: string): Plugin {
  const namespace = 'replaced-modules';
  return {
    name: namespace,
    setup(build) {
      build.onResolve({ filter: /./ }, ({ path, namespace: from }) =>
        from !== namespace && Object.hasOwn(files, path) ? { path, namespace } : undefined,
      );
      build.onLoad({ filter: /./, namespace }, ({ path }) => ({
        contents: readFileSync(FIRST_PARTY + files[path]!, 'utf8'),
        resolveDir,
      }));
    },
  };
}

async function bundle(
  name: string,
  contents: string,
  resolveDir: string,
  plugins: Plugin[] = [],
): Promise<ModuleSource> {
  const result = await build({
    stdin: { contents, resolveDir, sourcefile: name },
    bundle: true,
    write: false,
    format: 'esm',
    // The browser builds of packages import no Node.js modules, and check for browser features before using them.
    platform: plugins.length > 0 ? 'node' : 'browser',
    plugins,
    define: { 'process.env.NODE_ENV': '"production"' },
    external: ['std', 'os'],
    loader: { '.icc': 'binary' },
    target: 'es2024',
    legalComments: 'none',
    // Identifiers are not minified, because they appear in stack traces.
    minifySyntax: true,
    logLevel: 'silent',
  });
  return { name, aliases: [], source: result.outputFiles[0]!.text };
}

function replaceTexts({ source }: ModuleSource, { name, replaced_texts = {} }: VendoredPackage): string {
  let text = source;
  for (const [from, to] of Object.entries(replaced_texts)) {
    if (!text.includes(from)) throw new Error(`the bundle of ${name} does not contain ${from}`);
    text = text.replaceAll(from, to);
  }
  return text;
}

/** The modules of a package: the package itself and its submodules. */
async function modulesOf(row: VendoredPackage): Promise<ModuleSource[]> {
  const { name, import_names, lazy_instance, submodules } = row;
  const folder = installedFolder(name);
  const aliases = import_names.filter((one) => one !== name);
  const source =
    lazy_instance === undefined ? await reexportSource(name, row) : await lazySource(name, lazy_instance);
  const plugins = [
    ...(row.replaced_modules === undefined ? [] : [replacedModules(row.replaced_modules, folder)]),
    ...(row.uses_node_modules === true ? [NODE_MODULES] : []),
  ];
  const main = await bundle(name, source, folder, plugins);
  const modules: ModuleSource[] = [{ ...main, aliases, source: replaceTexts(main, row) }];
  for (const subpath of row.subpaths ?? []) {
    const specifier = `${name}/${subpath}`;
    modules.push(await bundle(specifier, await reexportSource(specifier), folder, plugins));
  }
  if (submodules === undefined) return modules;
  for (const file of readdirSync(`${folder}/${submodules.folder}`)
    .filter((one) => one.endsWith('.js'))
    .sort()) {
    const submodule = `${name}/${submodules.folder}/${file.slice(0, -3)}`;
    if (submodules.excluded.includes(submodule)) continue;
    const source = await reexportSource(`${name}/${submodules.folder}/${file}`);
    modules.push(await bundle(submodule, source, folder));
  }
  return modules;
}

/** Bundles all packages. `warn` receives those that cannot be bundled. */
export async function packageModules(warn: (missing: MissingPackage) => void): Promise<ModuleSource[]> {
  const modules: ModuleSource[] = [];
  for (const row of JAVASCRIPT_PACKAGES) {
    try {
      modules.push(...(await modulesOf(row)));
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message.split('\n', 1)[0]! : String(cause);
      warn({ name: row.name, version: pinnedVersion(row), reason });
    }
  }
  return modules;
}
