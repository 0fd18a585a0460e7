/** The sources of the packages. A file is named by its module: `mcp/http.ts` is packages/server/src/mcp/http.ts. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** The folders with sources, and the module of the files that are in no folder. */
const FOLDERS = {
  'packages/core/src': '',
  'packages/server/src': '',
  'packages/cli/src': '',
  'packages/adapters/src': 'adapters/',
  'tools/redteam/src': 'redteam/',
} as const;
/** Lists of what one package uses of another. They belong to no module. */
const LISTS = [
  'packages/core/src/basics.ts',
  'packages/core/src/internal.ts',
  'packages/server/src/internal.ts',
];
const FACADE = /^packages\/cli\/src\/[^/]+$/;

/** The files behind the names of packages. */
const ENTRIES: Readonly<Record<string, string>> = {
  '@llm-wasm-sandbox/core': 'index.ts',
  '@llm-wasm-sandbox/server/mcp': 'serve.ts',
  '@llm-wasm-sandbox/server/jobs': 'jobs/index.ts',
  '@llm-wasm-sandbox/adapters': 'adapters/index.ts',
  '@llm-wasm-sandbox/redteam': 'redteam/index.ts',
  '@llm-wasm-sandbox/redteam/attack': 'redteam/attack.ts',
};

export interface SourceFile {
  /** By its module. */
  readonly path: string;
  /** In the repository. */
  readonly file: string;
  readonly text: string;
}

function moduleOf(file: string): string {
  const [folder, prefix] = Object.entries(FOLDERS).find(([one]) => file.startsWith(`${one}/`))!;
  const path = file.slice(folder.length + 1);
  return FACADE.test(file) ? `facade/${path}` : prefix + path;
}

export const SOURCES: readonly SourceFile[] = Object.keys(FOLDERS).flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .map((path) => `${folder}/${path.replaceAll('\\', '/')}`)
    .filter((file) => file.endsWith('.ts') && !LISTS.includes(file))
    .map((file) => ({ path: moduleOf(file), file, text: readFileSync(join(ROOT, file), 'utf8') })),
);

/** Where each name of a list comes from. */
const listed = new Map(
  LISTS.map((list) => {
    const names = new Map<string, string>();
    const text = readFileSync(join(ROOT, list), 'utf8');
    for (const [, block, from] of text.matchAll(/^export (?:type )?\{([^}]*)\} from '([^']+)';/gm))
      for (const name of namesIn(block!)) names.set(name, moduleOf(relative('.', join(list, '..', from!))));
    const specifier = list.replace(/^packages\/(\w+)\/src\/(\w+)\.ts$/, '@llm-wasm-sandbox/$1/$2');
    return [specifier, names] as const;
  }),
);

/** The names that a package lists for the others. */
export const LISTED_NAMES: ReadonlyMap<string, readonly string[]> = new Map(
  [...listed].map(([specifier, names]) => [specifier, [...names.keys()]]),
);

function namesIn(block: string): string[] {
  const parts = block.split(',').map((part) => part.trim().replace(/^type /, ''));
  return parts.filter((part) => part !== '').map((part) => part.split(/ as |: /)[0]!);
}

export interface Import {
  /** A file by its module, or the name of a package. */
  readonly target: string;
  readonly isType: boolean;
  readonly isDynamic: boolean;
}

/** What a file imports. An import from another package of this repository is one of the files that declare the names. */
export function importsOf({ file, text }: Pick<SourceFile, 'file' | 'text'>): Import[] {
  const found = text.matchAll(
    /(?:^|\n)(?:import|export)\s+(type\s)?([^;]*?)from\s+'([^']+)'|(?:\{([^{};]*)\}\s*=\s*)?(?:await )?\bimport\('([^']+)'\)/g,
  );
  return [...found].flatMap(([, type, what, from, names, dynamic]) => {
    const specifier = from ?? dynamic!;
    const facts = { isType: type !== undefined, isDynamic: from === undefined };
    const list = listed.get(specifier);
    if (list === undefined) return [{ target: resolved(file, specifier), ...facts }];
    const block = (what ?? names ?? '').replaceAll(/[{}]/g, '');
    return block
      .split(',')
      .filter((name) => name.trim() !== '')
      .map((name) => ({
        target: list.get(namesIn(name)[0]!) ?? `${specifier}: ${name.trim()}`,
        isType: facts.isType || name.trim().startsWith('type '),
        isDynamic: facts.isDynamic,
      }));
  });
}

function resolved(file: string, specifier: string): string {
  if (!specifier.startsWith('.')) return ENTRIES[specifier] ?? specifier;
  const target = relative('.', join(file, '..', specifier));
  return Object.keys(FOLDERS).some((folder) => target.startsWith(`${folder}/`)) ? moduleOf(target) : target;
}
