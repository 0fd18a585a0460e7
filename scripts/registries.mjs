/**
 * Writes the registries in packages/core/src/runtimes: for each part of a language, a table with the part of every language. The parts are
 * separate, because the main thread and worker threads load different ones. `npm run build` writes them.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const runtimes = new URL('../packages/core/src/runtimes/', import.meta.url);

/** By the name of the registry: its table, the file of each language, what the file exports, and the type of the part. */
const PARTS = {
  'extension-registry': [
    'FILE_EXTENSIONS',
    'file-extensions',
    (name) => `${name}Extensions`,
    'FileExtensions',
    'language',
  ],
  'language-registry': ['LANGUAGES', 'language', (name) => `${name}Language`, 'Language', 'language'],
  'runtime-registry': ['RUNTIMES', 'index', (name) => name, 'Runtime', 'runtime'],
};

/** The text of each registry by its path. */
export function registries() {
  const names = readFileSync(new URL('../schema/runtime-names.ts', runtimes), 'utf8');
  const runtimeNames = [.../RUNTIME_NAMES = \[(.*)\] as const/.exec(names)[1].matchAll(/'(\w+)'/g)].map(
    ([, name]) => name,
  );
  return Object.entries(PARTS).map(([registry, [table, file, exported, type, typeFile]]) => {
    const imports = [
      [`../${typeFile}.ts`, `type { ${type} }`],
      ...runtimeNames.map((name) => [`../${name}/${file}.ts`, `{ ${exported(name)} }`]),
    ].sort(([a], [b]) => (a < b ? -1 : 1));
    const rows = runtimeNames.map((name) =>
      name === exported(name) ? `  ${name},` : `  ${name}: ${exported(name)},`,
    );
    const text = [
      '/** Written by scripts/registries.mjs. */',
      "import type { RuntimeName } from '../../schema/runtime-names.ts';",
      ...imports.map(([from, what]) => `import ${what} from '${from}';`),
      '',
      `export const ${table}: Readonly<Record<RuntimeName, ${type}>> = {`,
      ...rows,
      '};\n',
    ].join('\n');
    return [fileURLToPath(new URL(`registry/${registry}.ts`, runtimes)), text];
  });
}

export function writeRegistries() {
  for (const [path, text] of registries()) writeFileSync(path, text);
}
