/**
 * The JavaScript packages of the catalogue as self-contained ES modules, made at build time from what npm installed as
 * pinned development dependencies. Each has a default export, the package as a whole, and all its names beside it.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { CATALOG, type CatalogRow } from './catalog.ts';
import type { MissingPackage } from './fetch-python.ts';

export interface ModuleSource {
  /** As programs import it. */
  readonly name: string;
  /** Other names for the very same module. */
  readonly aliases: readonly string[];
  readonly source: string;
}

const ROWS = CATALOG.filter(({ language }) => language === 'javascript');
const requireHere = createRequire(import.meta.url);
const OWN = fileURLToPath(new URL('./first-party/javascript/', import.meta.url));

/** The folder of an installed package; not all of them let its package.json be resolved. */
function folderOf(name: string): string {
  const found = requireHere.resolve.paths(name)?.map((folder) => `${folder}/${name}`);
  const folder = found?.find((one) => existsSync(`${one}/package.json`));
  if (folder === undefined) throw new Error(`${name} is not installed`);
  return folder;
}

/** The exact version that package.json asks for; ours for what is written here. */
export function pinnedVersion({ name, own }: CatalogRow): string {
  const { version, dependencies, devDependencies } = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  );
  return own === undefined ? (devDependencies[name] ?? dependencies[name]) : version;
}

/** A module that exports everything an installed one has, under the names that its CommonJS form has as well. */
async function wholeSource(specifier: string, hasNamespace: boolean): Promise<string> {
  const all = (await import(specifier)) as Record<string, unknown>;
  const isWhole = hasNamespace || all['default'] === undefined;
  const whole = isWhole ? all : (all['default'] as object);
  const names = [...new Set([...Object.keys(all), ...Object.keys(whole)])].filter(
    (name) => !['default', 'module.exports', '__esModule'].includes(name),
  );
  const picked = names.map((name, i) => `const _${i} = whole[${JSON.stringify(name)}];`);
  const exported = names.map((name, i) => `_${i} as ${JSON.stringify(name)}`);
  return `import * as all from ${JSON.stringify(specifier)};
const whole = ${isWhole ? 'all' : 'all.default'};
${picked.join('\n')}
export { ${[...exported, 'whole as default'].join(', ')} };`;
}

async function bundle(name: string, contents: string, resolveDir: string): Promise<ModuleSource> {
  const { build } = await import('esbuild');
  const result = await build({
    stdin: { contents, resolveDir, sourcefile: name },
    bundle: true,
    write: false,
    format: 'esm',
    // What packages have for browsers needs none of Node's modules; what it needs of a browser, it looks for first.
    platform: 'browser',
    define: { 'process.env.NODE_ENV': '"production"' },
    external: ['std', 'os'],
    target: 'es2024',
    legalComments: 'none',
    // Names are kept: they are what a stack trace of compiled code has to offer.
    minifySyntax: true,
    logLevel: 'silent',
  });
  return { name, aliases: [], source: result.outputFiles[0]!.text };
}

/** The modules of one row: the package and its parts. */
async function modulesOf(row: CatalogRow): Promise<ModuleSource[]> {
  const { name, import_names, own, whole, parts } = row;
  if (own !== undefined) return [await bundle(name, readFileSync(`${OWN}${name}.js`, 'utf8'), OWN)];
  const folder = folderOf(name);
  const aliases = import_names.filter((one) => one !== name);
  const main = await bundle(name, await wholeSource(name, whole === 'namespace'), folder);
  const modules: ModuleSource[] = [{ ...main, aliases }];
  if (parts === undefined) return modules;
  for (const file of readdirSync(`${folder}/${parts.folder}`)
    .filter((one) => one.endsWith('.js'))
    .sort()) {
    const part = `${name}/${parts.folder}/${file.slice(0, -3)}`;
    if (parts.without.includes(part)) continue;
    modules.push(await bundle(part, await wholeSource(`${name}/${parts.folder}/${file}`, false), folder));
  }
  return modules;
}

/** All modules that could be made; the boot script brings along what has no file. */
export async function packageModules(warn: (missing: MissingPackage) => void): Promise<ModuleSource[]> {
  const modules: ModuleSource[] = [];
  for (const row of ROWS.filter(({ in_boot }) => in_boot !== true)) {
    try {
      modules.push(...(await modulesOf(row)));
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message.split('\n', 1)[0]! : String(cause);
      warn({ name: row.name, version: pinnedVersion(row), reason });
    }
  }
  return modules;
}
