import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { LISTED_NAMES, SOURCES } from '../support/sources.ts';

const root = new URL('../..', import.meta.url).pathname;

const filesIn = (folder: string) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.m?ts$|\.mjs$/.test(path))
    .map((path) => ({ path: `${folder}/${path}`, text: readFileSync(join(root, folder, path), 'utf8') }));

const source = SOURCES.map(({ file, text }) => ({ path: file, text }));

interface Export {
  readonly name: string;
  readonly path: string;
  readonly isValue: boolean;
}

const exported: Export[] = source.flatMap(({ path, text }) =>
  [
    ...text.matchAll(/^export (?:abstract |async )*(interface|type|class|function\*?|const|enum) ([\w$]+)/gm),
  ].map(([, kind, name]) => ({ name: name!, path, isValue: kind !== 'interface' && kind !== 'type' })),
);

/** Runtimes, and stores, implement the same parts, so a name may occur once in each of their folders. */
const implementation = (path: string) => /^packages\/core\/src\/(runtimes|stores)\/[^/]+\//.exec(path)?.[0];

function isOnePerImplementation(paths: readonly string[]): boolean {
  const folders = paths.map(implementation);
  return new Set(folders).size === paths.length && !folders.includes(undefined);
}

test('the pattern finds the exports of a file', () => {
  expect(
    exported.filter(({ path }) => path === 'packages/core/src/errors.ts').map(({ name }) => name),
  ).toEqual(expect.arrayContaining(['ERROR_CODES', 'SandboxError']));
});

/** Types that a file declares, exported or not. */
const typesOf = (text: string) => [
  ...new Set(
    [...text.matchAll(/^(?:export )?(?:abstract )?(?:interface|type|class|enum) ([\w$]+)/gm)].map(
      ([, name]) => name!,
    ),
  ),
];

test('the name of a type is declared in one file, or in one file of each runtime or store', () => {
  const pathsOf = new Map<string, string[]>();
  for (const { path, text } of source)
    for (const name of typesOf(text)) pathsOf.set(name, [...(pathsOf.get(name) ?? []), path]);
  expect(pathsOf.get('SandboxError')).toEqual(['packages/core/src/errors.ts']);
  const repeated = [...pathsOf]
    .filter(([, paths]) => paths.length > 1 && !isOnePerImplementation(paths))
    .map(([name, paths]) => `${name}: ${paths.join(', ')}`);
  expect(repeated).toEqual([]);
});

test('an exported name is declared in one file, or in one file of each runtime or store', () => {
  const pathsOf = new Map<string, Set<string>>();
  for (const { name, path } of exported) pathsOf.set(name, (pathsOf.get(name) ?? new Set()).add(path));
  const repeated = [...pathsOf]
    .filter(([, paths]) => paths.size > 1 && !isOnePerImplementation([...paths]))
    .map(([name, paths]) => `${name}: ${[...paths].join(', ')}`);
  expect(repeated).toEqual([]);
});

/** `npm run docs:api` finds the schema of a type by its name. */
const isSchema = (path: string) => path.startsWith('packages/core/src/schema/');

test('every exported value outside packages/core/src/schema is used in another file', () => {
  const words = [...source, ...['test', 'scripts', 'tools/bench'].flatMap(filesIn)].map(({ path, text }) => ({
    path,
    words: new Set(text.match(/[\w$]+/g)),
  }));
  const unused = exported
    .filter(({ isValue, path }) => isValue && !isSchema(path))
    .filter(({ name, path }) => !words.some((other) => other.path !== path && other.words.has(name)));
  expect(unused.map(({ name, path }) => `${path}: ${name}`)).toEqual([]);
});

test('every name that a package lists for the others is used by one of them', () => {
  for (const [list, names] of LISTED_NAMES) {
    const users = SOURCES.filter(({ text }) => text.includes(`'${list}'`)).map(({ text }) => text);
    const words = new Set(users.join(' ').match(/[\w$]+/g));
    expect([...names].filter((name) => !words.has(name))).toEqual([]);
  }
});
