/** CONTRIBUTING.md and docs/architecture.md agree with the architecture tests and with package.json. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { IMPORT_ORDER } from '../architecture/import-order.ts';
import { importsOf, SOURCES } from '../support/sources.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const contributing = read('CONTRIBUTING.md');
const architecture = read('docs/architecture.md');

describe('CONTRIBUTING.md', () => {
  test('states the import order that the architecture tests enforce', () => {
    const order = IMPORT_ORDER.map((names) =>
      names.length === 1 ? names[0] : `{ ${names.join(', ')} }`,
    ).join(' → ');
    expect(contributing.replaceAll(/\s+/g, ' ')).toContain(`\`${order}\``);
  });

  test('lists every npm script', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const listed = [...contributing.matchAll(/^\| `npm (?:run )?([\w:-]+)`/gm)].map(([, name]) => name);
    // npm runs `prepare` itself, as part of `npm ci`.
    expect(listed.sort()).toEqual(
      Object.keys(scripts)
        .filter((name) => name !== 'prepare')
        .sort(),
    );
  });
});

describe('docs/architecture.md', () => {
  test('lists every module', () => {
    const modules = [
      ...new Set(SOURCES.map(({ path }) => (path.includes('/') ? `${path.split('/')[0]}/` : path))),
    ];
    const listed = [...architecture.matchAll(/^\| (`[^|]+`) \|/gm)].flatMap(([, cell]) =>
      [...cell!.matchAll(/`([\w./-]+)`/g)].map(([, name]) => name!),
    );
    expect(modules.filter((name) => !listed.includes(name))).toEqual([]);
  });

  test('draws the imports between modules without those that follow from others', () => {
    const [, diagram] = /```mermaid\n([\s\S]*?)```/.exec(architecture)!;
    const arrows = [...diagram!.matchAll(/^\s*([\w-]+) --> ([\w &-]+)$/gm)].flatMap(([, from, to]) =>
      to!.split(' & ').map((target) => `${from} --> ${target}`),
    );
    expect(arrows.sort()).toEqual(reducedImports().sort());
  });

  test('describes the path of a call in steps that name existing files', () => {
    const [, path] = /^## The path of one call\n([\s\S]*?)^## /m.exec(architecture)!;
    const files = [...path!.matchAll(/`((?:[\w-]+\/)+[\w-]+\.ts)`/g)].map(([, file]) => file!);
    const existing = new Set(SOURCES.map(({ path: one }) => one));
    expect(files.filter((file) => !existing.has(file))).toEqual([]);
  });
});

/** The imports between modules that do not follow from a chain of other imports. */
function reducedImports(): string[] {
  const imports = new Map<string, Set<string>>();
  const moduleOf = (path: string) => path.split('/')[0]!.replace(/\.ts$/, '');
  for (const source of SOURCES) {
    const own = imports.get(moduleOf(source.path)) ?? new Set();
    imports.set(moduleOf(source.path), own);
    for (const { target } of importsOf(source))
      if (target.endsWith('.ts') && moduleOf(target) !== moduleOf(source.path)) own.add(moduleOf(target));
  }
  const reached = (from: string): string[] =>
    [...(imports.get(from) ?? [])].flatMap((next) => [next, ...reached(next)]);
  return [...imports].flatMap(([from, direct]) => {
    const indirect = new Set([...direct].flatMap((next) => reached(next)));
    return [...direct].filter((to) => !indirect.has(to)).map((to) => `${from} --> ${to}`);
  });
}
