/**
 * The software bill of materials names everything that is part of the package.
 *
 * @module-tag full
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import importCosts from '../../packages/core/src/packages/import-costs.json' with { type: 'json' };
import lock from '../../packages/core/src/packages/lock.json' with { type: 'json' };
import { build as javascript } from '../../packages/core/src/runtimes/javascript/build/index.ts';
import { build as python } from '../../packages/core/src/runtimes/python/build/index.ts';
import { folderOfFile } from '../support/folders.ts';

interface Component {
  readonly name: string;
  readonly version?: string;
  readonly hashes?: readonly { readonly content: string }[];
  readonly properties?: readonly { readonly value: string }[];
}

const folder = folderOfFile();

function write(name: string): string {
  const path = join(folder, name);
  execFileSync(process.execPath, ['scripts/sbom.mjs', path]);
  return readFileSync(path, 'utf8');
}

describe('software bill of materials', () => {
  const text = write('one.json');
  const bom = JSON.parse(text) as { bomFormat: string; components: readonly Component[] };
  const find = (name: string, version: string) =>
    bom.components.find((component) => component.name === name && component.version === version);

  test('is the same for the same sources', () => {
    expect(bom.bomFormat).toBe('CycloneDX');
    expect(write('other.json')).toBe(text);
  });

  test('lists the dependencies of the package', () => {
    for (const part of ['core', 'server', 'cli', 'adapters']) {
      const { dependencies } = JSON.parse(readFileSync(`packages/${part}/package.json`, 'utf8')) as {
        dependencies: Record<string, string>;
      };
      for (const [name, version] of Object.entries(dependencies))
        if (!name.startsWith('@llm-wasm-sandbox/')) expect(find(name, version), name).toBeDefined();
    }
  });

  test('lists every vendored package, Python packages with their digest in the lock', () => {
    for (const { name, version } of importCosts.packages) expect(find(name, version), name).toBeDefined();
    for (const { name, version, sha256 } of lock.python)
      expect(find(name, version)?.properties?.map(({ value }) => value)).toContain(sha256);
  });

  test('lists the packages of the chart renderer', () => {
    const { devDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      devDependencies: Record<string, string>;
    };
    for (const name of ['vega', 'vega-lite', '@resvg/resvg-wasm', 'dejavu-fonts-ttf'])
      expect(find(name, devDependencies[name]!), name).toBeDefined();
  });

  test('lists the interpreter binaries with their digests', () => {
    const digests = bom.components.flatMap(({ hashes = [] }) => hashes.map(({ content }) => content));
    for (const { binary } of [python, javascript]) expect(digests).toContain(binary.sha256);
  });
});
