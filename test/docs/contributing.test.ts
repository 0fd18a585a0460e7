/** CONTRIBUTING.md and docs/architecture.md agree with the architecture tests and with package.json. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { IMPORT_ORDER } from '../architecture/import-order.ts';

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
  test('lists every module of src/', () => {
    const modules = readdirSync(new URL('../../src/', import.meta.url), { withFileTypes: true }).map(
      (entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name),
    );
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
    expect(files.filter((file) => !existsSync(new URL(`../../src/${file}`, import.meta.url)))).toEqual([]);
  });
});

/** The imports between modules of src/ that do not follow from a chain of other imports. */
function reducedImports(): string[] {
  const src = fileURLToPath(new URL('../../src/', import.meta.url));
  const imports = new Map<string, Set<string>>();
  const moduleOf = (path: string) => path.split('/')[0]!.replace(/\.ts$/, '');
  for (const path of readdirSync(src, { recursive: true, encoding: 'utf8' })) {
    if (!path.endsWith('.ts')) continue;
    const own = imports.get(moduleOf(path)) ?? new Set();
    imports.set(moduleOf(path), own);
    for (const [, target] of readFileSync(join(src, path), 'utf8').matchAll(
      /(?:from |import\()'(\.[^']+)'/g,
    )) {
      const module = moduleOf(relative(src, join(src, path, '..', target!)));
      if (module !== moduleOf(path)) own.add(module);
    }
  }
  const reached = (from: string): string[] =>
    [...(imports.get(from) ?? [])].flatMap((next) => [next, ...reached(next)]);
  return [...imports].flatMap(([from, direct]) => {
    const indirect = new Set([...direct].flatMap((next) => reached(next)));
    return [...direct].filter((to) => !indirect.has(to)).map((to) => `${from} --> ${to}`);
  });
}
