/** Parts of the installation in packages of their own, in a copy of the layout that npm creates. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { sha256Hex } from '../../packages/core/src/framing/digest.ts';
import type * as Parts from '../../packages/core/src/host/parts.ts';
import { folderOfTest } from '../support/folders.ts';

const IMAGE = 'guests/charts/vega.image';
const PART = 'node_modules/@llm-wasm-sandbox/charts';
const VERSION = '1.2.3';

let folder: string;
let parts: typeof Parts;

function write(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

function writePart(version = VERSION): void {
  write(`${PART}/package.json`, '{}');
  write(`${PART}/${IMAGE}`, 'image');
  const files = { [IMAGE]: { sha256: sha256Hex('image') } };
  write(`${PART}/manifest.json`, JSON.stringify({ sandbox: version, files }));
}

beforeEach(async () => {
  folder = folderOfTest();
  write('node_modules/@llm-wasm-sandbox/core/package.json', JSON.stringify({ version: VERSION }));
  write('node_modules/@llm-wasm-sandbox/core/dist/packages/import-costs.json', '{}');
  vi.stubEnv('LLM_WASM_SANDBOX_ASSETS', join(folder, 'node_modules/@llm-wasm-sandbox/core/dist'));
  // The module remembers the parts that it has found.
  vi.resetModules();
  parts = await import('../../packages/core/src/host/parts.ts');
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.resetModules();
});

describe('a part of the installation', () => {
  test('has the files that the main package does not have', () => {
    writePart();
    expect(parts.findFile(IMAGE)).toBe(join(folder, PART, IMAGE));
    expect(parts.findFile('guests/charts/charts.json')).toBe(
      join(folder, 'node_modules/@llm-wasm-sandbox/core/dist/guests/charts/charts.json'),
    );
    expect(parts.partProblem('charts')).toBeUndefined();
    expect(parts.installedParts()).toEqual(['@llm-wasm-sandbox/charts']);
    parts.verifyPart('charts');
  });

  test('is not needed if the files are next to the code, as in a checkout', () => {
    write(`node_modules/@llm-wasm-sandbox/core/dist/${IMAGE}`, 'image');
    expect(parts.findFile(IMAGE)).toBe(join(folder, 'node_modules/@llm-wasm-sandbox/core/dist', IMAGE));
    expect(parts.partProblem('charts')).toBeUndefined();
    expect(parts.installedParts()).toEqual([]);
  });

  test('names itself and the command that installs it', () => {
    const message =
      'The renderer of charts and images is in the optional package @llm-wasm-sandbox/charts, which is not installed: ' +
      'npm install @llm-wasm-sandbox/charts@1.2.3';
    expect(parts.partProblem('charts')).toBe(message);
    expect(() => parts.findFile(IMAGE)).toThrow(message);
  });

  test('is refused if it is for another version or damaged', () => {
    writePart('1.2.4');
    expect(parts.partProblem('charts')).toMatch(
      /^@llm-wasm-sandbox\/charts is for version 1\.2\.4 of .* version 1\.2\.3\. Install the same version: npm install/,
    );
    writePart();
    write(`${PART}/${IMAGE}`, 'other');
    expect(() => parts.verifyPart('charts')).toThrow(/vega\.image of @llm-wasm-sandbox\/charts is damaged/);
  });
});

test('every part is an optional dependency, a workspace, and has the version of the main package', () => {
  const read = (path: string) =>
    JSON.parse(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')) as Record<string, unknown>;
  const { version, optionalDependencies } = read('packages/core/package.json');
  const { workspaces } = read('package.json');
  const names = [...parts.PART_NAMES].sort();
  expect(workspaces).toEqual(expect.arrayContaining(names.map((name) => `packages/${name}`)));
  expect(optionalDependencies).toEqual(
    Object.fromEntries(names.map((name) => [parts.partPackage(name), version])),
  );
  for (const name of names)
    expect(read(`packages/${name}/package.json`)).toMatchObject({ name: parts.partPackage(name), version });
});
