/** CONTRIBUTING.md and docs/architecture.md agree with the architecture tests and with package.json. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { IMPORT_ORDER } from '../architecture/import-order.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const contributing = read('CONTRIBUTING.md');
const architecture = read('docs/architecture.md');

const rowOf = new Map(IMPORT_ORDER.flatMap((names, row) => names.map((name) => [name, row] as const)));

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

  test('draws only imports that point downwards', () => {
    const [, diagram] = /```mermaid\n([\s\S]*?)```/.exec(architecture)!;
    const arrows = [...diagram!.matchAll(/^\s*([\w &]+?) --> ([\w &]+)$/gm)];
    expect(arrows.length).toBeGreaterThan(5);
    const upwards = arrows.flatMap(([line, from, to]) =>
      from!
        .split(' & ')
        .flatMap((one) => to!.split(' & ').map((other) => [rowOf.get(one), rowOf.get(other)]))
        .filter(([above, below]) => above === undefined || below === undefined || above > below)
        .map(() => line.trim()),
    );
    expect(upwards).toEqual([]);
  });
});
